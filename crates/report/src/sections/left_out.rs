//! What is in no verdict: measured and not ranked, skipped, dropped.
//!
//! Takes it from the analysis, gives a section. Prevents: a stack that vanished from the comparison unsaid.

use super::{Source, list};
use crate::document::{Block, Fold, Forms, Part, Placed, Section, Stands};
use crate::ranking::rank::Unranked;

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let skipped = analysis.stacks.iter().filter_map(|stack| {
        let reason = stack.skipped_reason.as_deref()?;
        let cure = stack.skipped_cure.as_deref().unwrap_or_default();
        Some(format!("{}: {reason}: {cure}", stack.name))
    });
    let dropped = analysis
        .dropped
        .iter()
        .map(|one| format!("block {}: {}", one.block, one.reason));
    let parts = [
        ("Measured, not ranked", not_ranked(&analysis.unranked)),
        ("Skipped", skipped.collect()),
        ("Dropped blocks", dropped.collect()),
    ];
    let blocks: Vec<Placed> = parts
        .into_iter()
        .filter_map(|(title, lines)| part(title, lines))
        .collect();
    super::section("left-out", "Left out", "", blocks).map(|section| section.standing(Stands::Concludes))
}

fn part(title: &str, lines: Vec<String>) -> Option<Placed> {
    let part = Part {
        title: title.into(),
        about: String::new(),
        fold: Fold::Never,
        blocks: vec![(Forms::ALL, list(lines.clone()))],
    };
    (!lines.is_empty()).then_some((Forms::ALL, Block::Part(part)))
}

/// Stacks with one and the same reason stand in one line.
fn not_ranked(all: &[Unranked]) -> Vec<String> {
    let mut lines: Vec<(Vec<&str>, &Unranked)> = Vec::new();
    for one in all {
        let same = |(_, other): &&mut (Vec<&str>, &Unranked)| other.phase == one.phase && other.reason == one.reason;
        match lines.iter_mut().find(same) {
            Some((stacks, _)) => stacks.push(&one.stack),
            None => lines.push((vec![&one.stack], one)),
        }
    }
    let line = |(stacks, one): (Vec<&str>, &Unranked)| {
        let place = one.phase.as_ref().map_or(String::new(), |phase| format!(" in {phase}"));
        format!("{}{place}: {}", stacks.join(", "), one.reason)
    };
    lines.into_iter().map(line).collect()
}
