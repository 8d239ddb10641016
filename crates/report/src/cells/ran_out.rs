//! Stacks that ran out of space: a result of theirs in that phase, and the end of what they can be compared in.
//!
//! Takes the gathered file, gives what ran out where. Prevents: a full stack that is taken for a broken one, and a
//! block of all stacks thrown away because one of them could not hold what it was given.

use crate::figures::Figure;
use crate::history::{Book, PhaseHead, Runs, Seen};
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

/// The stack in this phase, if it ran out of space there in any block.
pub(crate) fn in_phase(book: &Book, stack: &str, phase: &str) -> Option<RanOut> {
    let full: Vec<&Seen> = book.seen(stack, phase).filter(|seen| is_full(seen)).collect();
    if full.is_empty() {
        return None;
    }
    let share = full.figure(Seen::overwritten_share);
    let (blocks, of_blocks) = (full.len() as u32, book.seen(stack, phase).count() as u32);
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
    let full = |head: &PhaseHead| book.seen(stack, &head.name).any(is_full);
    let look = || book.phases.iter().position(full);
    let place = *(book.first_full.borrow_mut().entry(stack.into())).or_insert_with(look);
    Some((place?, in_phase(book, stack, &book.phases[place?].name)?))
}
