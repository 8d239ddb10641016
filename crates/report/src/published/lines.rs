//! A publication beside what was measured, as lines of text for the terminal and for Markdown.
//!
//! Takes a [`Published`], gives lines. Prevents: a published number without the word that it is another machine's.

use super::compare::{Published, PublishedFigure, PublishedRatio};
use crate::grouped::grouped;

/// Lines in order: what was published, then each ratio with what may be said of it.
pub(crate) fn lines(published: &Published) -> Vec<String> {
    let mut lines = vec![
        published.head(),
        "Another machine and another size: printed to be read beside, not to be met.".into(),
    ];
    let said = |figure: &PublishedFigure| format!("{} {} {}", figure.stack, figure.values(), figure.quantity);
    for (phase, said) in grouped(published.figures.iter().map(|one| (&one.phase, said(one)))) {
        lines.push(format!("published, {phase}: {}", said.join("; ")));
    }
    lines.extend(published.ratios.iter().map(line));
    lines
}

fn line(one: &PublishedRatio) -> String {
    let ours = match (&one.ours, &one.measured) {
        (Some(ours), Some(measured)) => format!("; {ours}: {}", measured.words()),
        (Some(ours), None) => format!("; {ours}"),
        (None, _) => String::new(),
    };
    format!("{}: {}{ours}: {}", one.theirs, one.published(), one.says)
}
