//! Phases against earlier ones on the same stack (aged against fresh), as a chart with its numbers.
//!
//! Takes the changes, puts their table below the verdicts. Prevents: a reader who divides two medians in the head, and takes the
//! quotient for a finding.

use super::Source;
use super::figure_cells::stack_name;
use super::forest::{Forest, Interval};
use super::markup::Markup;
use super::ratios::verdict_class;
use crate::changes::Change;
use crate::format::ratio;

/// Tells its chart from those of the phases, which are numbered from 0.
const NUMBER: usize = 1_000_001;

pub(super) fn chart(body: &mut Markup, source: &Source<'_>) {
    let analysis = source.analysis;
    if analysis.changes.is_empty() {
        return;
    }
    let intervals: Vec<Interval> = analysis.changes.iter().filter_map(interval).collect();
    let forest = Forest::over(&intervals, analysis.study.margin, NUMBER);
    body.raw("<h3 id=changes>What changed from phase to phase, on the same stack</h3><div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Ratios to an earlier phase\"><table class=\"forests\" data-chart=\"changes\"><caption class=\"sr\">Ratios to an earlier phase of the same stack</caption><thead><tr><th scope=\"col\">Phases, stack</th><th scope=\"col\" class=\"chart\"><span class=\"sr\">Chart</span>");
    body.add(&forest.axis());
    body.raw("</th><th scope=\"col\">Ratio, interval</th><th scope=\"col\" class=\"few\">Blocks</th><th scope=\"col\">Verdict</th></tr></thead>");
    let mut phases: Vec<&str> = Vec::new();
    for one in &analysis.changes {
        if !phases.contains(&one.phase.as_str()) {
            phases.push(&one.phase);
        }
    }
    for phase in phases {
        let mut rows = analysis.changes.iter().filter(|one| one.phase == phase).peekable();
        let Some(first) = rows.peek() else { continue };
        body.raw("<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"5\">");
        body.text(&format!("{phase} against {}", first.against));
        body.element("span", &[("class", "aside")], first.metric.noun());
        body.raw("</th></tr>");
        for one in rows {
            row(body, source, &forest, one);
        }
        body.raw("</tbody>");
    }
    body.raw("</table></div>");
}

fn interval(one: &Change) -> Option<Interval> {
    Some(Interval {
        ratio: one.ratio?,
        low: one.low,
        high: one.high,
    })
}

fn row(body: &mut Markup, source: &Source<'_>, forest: &Forest, one: &Change) {
    body.raw("<tr><th scope=row>");
    stack_name(body, &source.mark(&one.stack), &one.stack);
    match interval(one) {
        Some(interval) => {
            body.raw("<td class=chart>");
            body.add(&forest.row(&interval, verdict_class(one.verdict)));
            body.raw("<td>");
            body.text(&ratio(interval.ratio));
            body.element("i", &[], &interval.words());
            body.raw("<td class=few>");
            body.text(&one.n.map_or("-".into(), |n| n.to_string()));
        }
        None => body.raw("<td class=chart><td>-<td class=few>-"),
    }
    body.open("td", &[("class", &format!("verdict {}", verdict_class(one.verdict)))]);
    body.text(one.verdict.words());
}
