//! The verdicts: each stack against its base in each ranked phase, as a chart with its numbers.
//!
//! Takes the comparisons, gives the section; what was measured and is not ranked, and the blocks that were dropped, stand
//! below. Prevents: a ratio without its interval, and a stack that vanished from the comparison unsaid.

use super::figure_cells::stack_name;
use super::forest::{Forest, Interval};
use super::markup::Markup;
use super::{Section, Source};
use crate::analysis::{Comparison, Unranked, Verdict};
use crate::format::{percent, ratio};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let mut body = Markup::new();
    if !analysis.comparisons.is_empty() {
        chart(&mut body, source);
        about(&mut body, source, "Stack over base");
    }
    super::changes::chart(&mut body, source);
    if analysis.comparisons.is_empty() && !analysis.changes.is_empty() {
        about(&mut body, source, "Phase over the earlier one");
    }
    left_out(&mut body, source);
    Section::new("ratios", "Verdicts", body)
}

/// How the chart is to be read, and how sure it is.
fn about(body: &mut Markup, source: &Source<'_>, what: &str) {
    let study = &source.analysis.study;
    body.element(
        "p",
        &[("class", "quiet")],
        &format!(
            "{what}, from the totals of each block with the drain; above 1 is better for the database. Dot: geometric mean of \
             the blocks; line: interval. The chance that any verdict here is false is at most {}, all comparisons and looks together. \
             Shaded: differences inside {} count as equal.",
            percent(study.alpha),
            percent(study.margin)
        ),
    );
}

/// A ratio that was judged, as a row of a chart.
pub(super) struct Row<'a> {
    pub(super) stack: &'a str,
    pub(super) interval: Option<Interval>,
    pub(super) n: Option<u32>,
    pub(super) verdict: Verdict,
}

/// `None` before the first look.
pub(super) fn interval(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Interval> {
    Some(Interval {
        ratio: ratio?,
        low,
        high,
    })
}

impl<'a> From<&'a Comparison> for Row<'a> {
    fn from(one: &'a Comparison) -> Row<'a> {
        Row {
            stack: &one.stack,
            interval: interval(one.ratio, one.low, one.high),
            n: one.n,
            verdict: one.verdict,
        }
    }
}

fn chart(body: &mut Markup, source: &Source<'_>) {
    let analysis = source.analysis;
    let intervals: Vec<Interval> = analysis
        .comparisons
        .iter()
        .filter_map(|one| Row::from(one).interval)
        .collect();
    let forest = Forest::over(&intervals, analysis.study.margin, 0);
    body.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Ratios to the base\"><table class=\"forests\" data-chart=\"ratios\"><caption class=\"sr\">Ratios to the base</caption><thead><tr><th scope=\"col\">Phase, stack</th><th scope=\"col\" class=\"chart\"><span class=\"sr\">Chart</span>");
    body.add(&forest.axis());
    body.raw("</th><th scope=\"col\">Ratio, interval</th><th scope=\"col\" class=\"few\">Blocks</th><th scope=\"col\">Verdict</th></tr></thead>");
    for phase in &analysis.phases {
        let rows: Vec<&Comparison> = analysis
            .comparisons
            .iter()
            .filter(|one| one.phase == phase.name)
            .collect();
        let Some(first) = rows.first() else { continue };
        body.raw("<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"5\">");
        body.text(&phase.name);
        let bases: Vec<&str> = rows.iter().fold(Vec::new(), |mut bases, row| {
            if !bases.contains(&row.base.as_str()) {
                bases.push(&row.base);
            }
            bases
        });
        body.element(
            "span",
            &[("class", "aside")],
            &format!("{}, of {}", first.metric.noun(), bases.join(" and ")),
        );
        body.raw("</th></tr>");
        for one in rows {
            row(body, source, &forest, &one.into());
        }
        body.raw("</tbody>");
    }
    body.raw("</table></div>");
}

pub(super) fn row(body: &mut Markup, source: &Source<'_>, forest: &Forest, one: &Row<'_>) {
    body.raw("<tr><th scope=row>");
    stack_name(body, &source.mark(one.stack), one.stack);
    match &one.interval {
        Some(interval) => {
            body.raw("<td class=chart>");
            body.add(&forest.row(interval, verdict_class(one.verdict)));
            body.raw("<td>");
            body.text(&ratio(interval.ratio));
            body.element("i", &[], &interval.words());
            body.raw("<td class=few>");
            body.text(&one.n.map_or("-".into(), |n| n.to_string()));
        }
        None => body.raw("<td class=chart><td>-<td class=few>-"),
    }
    // The sign before the word is put by the style.
    body.open("td", &[("class", &format!("verdict {}", verdict_class(one.verdict)))]);
    body.text(one.verdict.words());
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equal",
        Verdict::NotEnoughData => "open",
    }
}

fn left_out(body: &mut Markup, source: &Source<'_>) {
    let analysis = source.analysis;
    if !analysis.unranked.is_empty() {
        body.raw("<h3>Measured, not ranked</h3><ul>");
        // Stacks with one and the same reason stand in one line.
        let mut lines: Vec<(Vec<&str>, &Unranked)> = Vec::new();
        for one in &analysis.unranked {
            let alike =
                |(_, other): &&mut (Vec<&str>, &Unranked)| other.phase == one.phase && other.reason == one.reason;
            match lines.iter_mut().find(alike) {
                Some((stacks, _)) => stacks.push(&one.stack),
                None => lines.push((vec![&one.stack], one)),
            }
        }
        for (stacks, one) in lines {
            let place = one.phase.as_ref().map_or(String::new(), |phase| format!(" in {phase}"));
            body.element("li", &[], &format!("{}{place}: {}", stacks.join(", "), one.reason));
        }
        body.raw("</ul>");
    }
    if !analysis.dropped.is_empty() {
        body.raw("<h3>Dropped blocks</h3><ul>");
        for one in &analysis.dropped {
            body.element("li", &[], &format!("block {}: {}", one.block, one.reason));
        }
        body.raw("</ul>");
    }
}
