//! Phases against earlier ones on the same stack (aged against fresh), as a chart with its numbers.
//!
//! Takes the changes, puts their table below the verdicts. Prevents: a reader who divides two medians in the head, and takes the
//! quotient for a finding.

use super::Source;
use super::forest::{Forest, Interval};
use super::markup::Markup;
use super::ratios::{Row, interval, row};
use crate::changes::Change;

/// Tells its chart from those of the phases, which are numbered from 0.
const NUMBER: usize = 1_000_001;

pub(super) fn chart(body: &mut Markup, source: &Source<'_>) {
    let analysis = source.analysis;
    if analysis.changes.is_empty() {
        return;
    }
    let intervals: Vec<Interval> = analysis
        .changes
        .iter()
        .filter_map(|one| Row::from(one).interval)
        .collect();
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
            row(body, source, &forest, &one.into());
        }
        body.raw("</tbody>");
    }
    body.raw("</table></div>");
}

impl<'a> From<&'a Change> for Row<'a> {
    fn from(one: &'a Change) -> Row<'a> {
        Row {
            stack: &one.stack,
            interval: interval(one.ratio, one.low, one.high),
            n: one.n,
            verdict: one.verdict,
        }
    }
}
