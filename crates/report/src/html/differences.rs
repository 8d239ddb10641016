//! What differs between the stacks: a row a fact, a column a stack.
//!
//! Takes the analysis, gives the section that stands before any number. Prevents: a comparison read without its
//! configuration.

use super::figure_cells::stack_name;
use super::markup::Markup;
use super::{Section, Source};
use crate::analysis::Difference;
use crate::contrast::{is_implied, same, title};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let mut body = Markup::new();
    let all = &analysis.differences;
    let rows: Vec<_> = all.iter().filter(|one| !is_implied(one, all)).collect();
    let (short, rest): (Vec<&Difference>, Vec<&Difference>) =
        rows.iter().partition(|one| is_shared(one) && is_short(one));
    if short.is_empty() {
        let ran = analysis.stacks.iter().filter(|stack| stack.skipped_reason.is_none());
        if ran.count() > 1 {
            body.raw("<p>Nothing that was recorded of more than one stack.</p>");
        }
    } else {
        table(&mut body, source, &short, "What differs between the stacks");
    }
    if !rest.is_empty() {
        body.open("details", &[]);
        body.element(
            "summary",
            &[],
            &format!("{} more: long ones, and those of a single stack", rest.len()),
        );
        table(&mut body, source, &rest, "Long facts, and facts of single stacks");
        body.raw("</details>");
    }
    if let Some(line) = same(analysis) {
        body.element("p", &[("class", "quiet")], &line);
    }
    skipped(&mut body, source);
    Section::new("differences", "What differs", body)
}

/// Longer values are read one by one.
const SHORT_MAX: usize = 64;

fn is_short(one: &Difference) -> bool {
    let mut values = one.values.iter().filter_map(|of| of.value.as_deref());
    values.all(|value| value.chars().count() <= SHORT_MAX && !value.contains("\\n"))
}

/// True when more than one stack has it.
fn is_shared(one: &Difference) -> bool {
    one.values.iter().filter(|of| of.value.is_some()).count() > 1
}

fn table(body: &mut Markup, source: &Source<'_>, rows: &[&Difference], caption: &'static str) {
    let Some(first) = rows.first() else { return };
    body.open(
        "div",
        &[
            ("class", "wide"),
            ("tabindex", "0"),
            ("role", "region"),
            ("aria-label", caption),
        ],
    );
    body.raw("<table class=facts>");
    body.element("caption", &[("class", "sr")], caption);
    body.raw("<thead><tr><td></td>");
    for of in &first.values {
        body.raw("<th scope=col>");
        stack_name(body, &source.mark(&of.stack), &of.stack);
    }
    body.raw("</thead><tbody>");
    for row in rows {
        body.raw("<tr>");
        body.element("th", &[("scope", "row")], &title(row, &source.analysis.differences));
        for of in &row.values {
            match of.value.as_deref() {
                Some(value) => body.element("td", &[], value.trim_matches('"')),
                None => body.raw("<td class=none>-</td>"),
            }
        }
    }
    body.raw("</tbody></table></div>");
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
