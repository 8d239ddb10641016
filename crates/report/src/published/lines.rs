//! A publication beside what was measured, as lines of text for the terminal and for Markdown.
//!
//! Takes a [`Published`], gives lines. Prevents: a published number without the word that it is another machine's.

use super::compare::{Published, PublishedRatio};
use crate::format::ratio;

/// Lines in order: what was published, then each ratio with what may be said of it.
pub(crate) fn lines(published: &Published) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} ({}, {}): {}",
            published.title, published.source, published.year, published.about
        ),
        "Another machine and another size: printed to be read beside, not to be met.".into(),
    ];
    let mut phases: Vec<&str> = Vec::new();
    for figure in &published.figures {
        if !phases.contains(&figure.phase.as_str()) {
            phases.push(&figure.phase);
        }
    }
    for phase in phases {
        let of = published.figures.iter().filter(|figure| figure.phase == phase);
        let said: Vec<String> = of
            .map(|figure| {
                let values: Vec<String> = figure.values.iter().map(f64::to_string).collect();
                format!("{} {} {}", figure.stack, values.join(", "), figure.quantity)
            })
            .collect();
        lines.push(format!("published, {phase}: {}", said.join("; ")));
    }
    lines.extend(published.ratios.iter().map(line));
    lines
}

fn line(one: &PublishedRatio) -> String {
    let theirs = if one.low == one.high {
        ratio(one.low)
    } else {
        format!("{} to {}", ratio(one.low), ratio(one.high))
    };
    let words = one.words.as_ref().map_or(String::new(), |words| format!(" ({words})"));
    let ours = match (&one.ours, &one.measured) {
        (Some(ours), Some(m)) => {
            let doubt = if m.tested { "" } else { ", not tested" };
            format!(
                "; {ours}: {} ({} to {}{doubt})",
                ratio(m.ratio),
                ratio(m.low),
                ratio(m.high)
            )
        }
        (Some(ours), None) => format!("; {ours}"),
        (None, _) => String::new(),
    };
    format!("{}: {theirs}{words}{ours}: {}", one.theirs, one.says)
}
