//! What differs between the stacks: a row a fact, a column a stack.
//!
//! Takes the analysis, gives the section that stands before any number. Prevents: a comparison read without its
//! configuration.

use super::figure_cells::stack_name;
use super::markup::Markup;
use super::{Section, Source};
use crate::contrast::{is_implied, same, title};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let mut body = Markup::new();
    let all = &analysis.differences;
    let rows: Vec<_> = all.iter().filter(|one| !is_implied(one, all)).collect();
    let Some(first) = rows.first() else {
        let ran = analysis
            .stacks
            .iter()
            .filter(|stack| stack.skipped_reason.is_none())
            .count();
        if ran > 1 {
            body.raw("<p>Nothing that was recorded.</p>");
        }
        skipped(&mut body, source);
        return Section::new("differences", "What differs", body);
    };
    body.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"What differs between the stacks\"><table class=\"facts\"><caption>What differs between the stacks</caption><thead><tr><td></td>");
    for of in &first.values {
        body.raw("<th scope=\"col\">");
        stack_name(&mut body, &source.mark(&of.stack), &of.stack);
        body.raw("</th>");
    }
    body.raw("</tr></thead><tbody>");
    for row in &rows {
        body.raw("<tr>");
        body.element("th", &[("scope", "row")], &title(row, all));
        for of in &row.values {
            match of.value.as_deref() {
                Some(value) => body.element("td", &[], value.trim_matches('"')),
                None => body.raw("<td class=\"none\">-</td>"),
            }
        }
        body.raw("</tr>");
    }
    body.raw("</tbody></table></div>");
    if let Some(line) = same(analysis) {
        body.element("p", &[("class", "quiet")], &line);
    }
    skipped(&mut body, source);
    Section::new("differences", "What differs", body)
}

fn skipped(body: &mut Markup, source: &Source<'_>) {
    let stacks = source.analysis.stacks.iter();
    let skipped: Vec<_> = stacks.filter(|stack| stack.skipped_reason.is_some()).collect();
    if skipped.is_empty() {
        return;
    }
    body.raw("<h3>Skipped</h3><ul>");
    for stack in skipped {
        body.raw("<li><strong>");
        body.text(&stack.name);
        body.raw("</strong>: ");
        body.text(stack.skipped_reason.as_deref().unwrap_or_default());
        body.raw(": ");
        body.text(stack.skipped_cure.as_deref().unwrap_or_default());
        body.raw("</li>");
    }
    body.raw("</ul>");
}
