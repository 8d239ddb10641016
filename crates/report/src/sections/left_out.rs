//! What is in no verdict: measured and not ranked, ranked apart from the first stacks, skipped, dropped.
//!
//! Takes it from the analysis, gives a section. Prevents: a stack that vanished from the comparison unsaid.

use super::source::Source;

use crate::document::{Block, Fold, Forms, Placed, Section, Stands};
use crate::grouped::grouped;
use crate::ranking::rank::Unranked;

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let skipped = analysis.stacks.iter().filter_map(|stack| {
        let reason = stack.skipped_reason.as_deref()?;
        let cure = stack.skipped_cure.as_deref().unwrap_or_default();
        Some(format!("{}: {reason}: {cure}", stack.name))
    });
    let alike = (analysis.dropped.iter()).map(|one| ((one.block, &one.reason), one.phase.as_deref()));
    let dropped = grouped(alike).into_iter().map(|((block, reason), phases)| {
        let phases: Vec<&str> = phases.into_iter().flatten().collect();
        match phases.is_empty() {
            true => format!("block {block}: {reason}"),
            false => format!("block {block}, in {}: {reason}", phases.join(", ")),
        }
    });
    let parts = [
        ("Measured, not ranked", not_ranked(analysis.left_out())),
        ("Ranked apart", not_ranked(analysis.ranked_apart())),
        ("Skipped", skipped.collect()),
        ("Dropped blocks", dropped.collect()),
    ];
    let blocks: Vec<Placed> = parts
        .into_iter()
        .filter_map(|(title, lines)| part(title, lines))
        .collect();
    Section::of("left-out", "Left out", "", blocks).map(|section| section.standing(Stands::Concludes))
}

fn part(title: &str, lines: Vec<String>) -> Option<Placed> {
    let block = |lines| Block::part(title, Fold::Never, vec![(Forms::ALL, Block::list(lines))]);
    (!lines.is_empty()).then(|| (Forms::ALL, block(lines)))
}

/// Stacks with one and the same reason stand in one line.
fn not_ranked<'a>(all: impl Iterator<Item = &'a Unranked>) -> Vec<String> {
    let alike = all.map(|one| ((&one.phase, &one.reason), one.stack.as_str()));
    let line = |((phase, reason), stacks): ((&Option<String>, &String), Vec<&str>)| {
        let place = phase.as_ref().map_or(String::new(), |phase| format!(" in {phase}"));
        format!("{}{place}: {reason}", stacks.join(", "))
    };
    grouped(alike).into_iter().map(line).collect()
}
