//! Stacks that ran out of space: a result of theirs in that phase, and the end of what they can be compared in.
//!
//! Takes the gathered file, gives what ran out where. Prevents: a full stack that is taken for a broken one, and a block of all
//! stacks thrown away because one of them could not hold what it was given.

use crate::figures::Figure;
use crate::history::{Book, Seen};
use ledger::{Measure, PhaseStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// A stack that had no space left in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RanOut {
    /// The stack.
    pub stack: String,
    /// Blocks in which it did.
    pub blocks: u32,
    /// Blocks in which the phase was begun.
    pub of_blocks: u32,
    /// Share of the pages that had been overwritten by then, where the phase overwrites.
    pub overwritten_share: Option<Figure>,
    /// In words.
    pub words: String,
}

/// Whether this run ended for want of space.
pub(crate) fn is_full(seen: &Seen) -> bool {
    matches!(seen.run.status, PhaseStatus::Failed(_)) && seen.get(Measure::OutOfSpace).is_some_and(|code| code > 0.0)
}

/// Share of the pages that a run overwrote.
pub(crate) fn overwritten_share(seen: &Seen) -> Option<f64> {
    crate::figures::over(seen.get(Measure::EngineOverwrittenBytes), seen.get(Measure::DataBytes))
}

/// The stack in this phase, if it ran out of space there in any block.
pub(crate) fn in_phase(book: &Book, stack: &str, phase: &str) -> Option<RanOut> {
    let all: Vec<&Seen> = book.seen(stack, phase).map(|(_, seen)| seen).collect();
    let full: Vec<&Seen> = all.iter().copied().filter(|seen| is_full(seen)).collect();
    if full.is_empty() {
        return None;
    }
    let share = Figure::of(full.iter().map(|seen| overwritten_share(seen)));
    let (blocks, of_blocks) = (full.len() as u32, all.len() as u32);
    let mut words = "ran out of space".to_string();
    if let Some(share) = share {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        let (low, high) = (percent(share.low), percent(share.high));
        words.push_str(&match low == high {
            true => format!(" after {low} % of the pages had been overwritten"),
            false => format!(" after {low} to {high} % of the pages had been overwritten"),
        });
    }
    if of_blocks > 1 {
        words.push_str(&format!(", in {blocks} of {of_blocks} blocks"));
    }
    Some(RanOut {
        stack: stack.into(),
        blocks,
        of_blocks,
        overwritten_share: share,
        words,
    })
}

/// The first phase (by its place in a trial) in which the stack ran out of space, with the result.
pub(crate) fn first(book: &Book, stack: &str) -> Option<(usize, RanOut)> {
    if let Some(known) = book.ran_out.borrow().get(stack) {
        return known.clone();
    }
    let found = |(place, head): (usize, &crate::history::PhaseHead)| Some((place, in_phase(book, stack, &head.name)?));
    let found = book.phases.iter().enumerate().find_map(found);
    book.ran_out.borrow_mut().insert(stack.into(), found.clone());
    found
}
