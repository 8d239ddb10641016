//! Which blocks do not count, in which phases, and why.
//!
//! A phase that does not count on one stack drops its block for all stacks, in that phase and in what is held against
//! it. Where it writes, it shapes what comes after it, so later phases of the block are dropped too. Judged on status
//! and on what the study says of its phases, before any ratio. Prevents: one invalid phase that takes every verdict
//! with it, and a block that is dropped because of its result.

use super::pairs::Pair;
use crate::cells::ran_out;
use crate::history::{Book, PhaseHead, Seen};
use crate::phase_kind::kind_row;
use crate::ranking::refusals;
use ledger::{PhaseStatus, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A block whose ratios do not count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DroppedBlock {
    /// From 0.
    pub block: u32,
    /// The phase in which it does not count, on no stack; `null` for all phases.
    pub phase: Option<String>,
    /// Why.
    pub reason: String,
}

/// Blocks and phases that do not count.
#[derive(Debug)]
pub(crate) struct Drops {
    /// By block and phase, in the order of both; `None` for all phases.
    reasons: BTreeMap<(u32, Option<usize>), String>,
    phases: Vec<String>,
}

impl Drops {
    pub(crate) fn new(book: &Book) -> Drops {
        Drops {
            reasons: BTreeMap::new(),
            phases: book.phases.iter().map(|head| head.name.clone()).collect(),
        }
    }

    /// The first reason stays.
    pub(crate) fn add(&mut self, block: u32, phase: Option<&str>, reason: &str) {
        let place = phase.and_then(|phase| self.phases.iter().position(|name| name == phase));
        self.reasons.entry((block, place)).or_insert_with(|| reason.to_string());
    }

    /// Whether a block counts for a comparison.
    pub(crate) fn counts(&self, block: u32, pair: &Pair) -> bool {
        let named = |head: &PhaseHead| self.phases.iter().position(|name| *name == head.name);
        let needed = [Some(&pair.phase), pair.before.as_ref()];
        let mut all = needed.into_iter().flatten().map(named).chain([None]);
        !all.any(|place| self.reasons.contains_key(&(block, place)))
    }

    pub(crate) fn listed(self) -> Vec<DroppedBlock> {
        let phases = self.phases;
        let one = |((block, place), reason): ((u32, Option<usize>), String)| DroppedBlock {
            block,
            phase: place.map(|place| phases[place].clone()),
            reason,
        };
        self.reasons.into_iter().map(one).collect()
    }
}

/// Whether a block counts for a phase.
pub(crate) fn counts(dropped: &[DroppedBlock], block: u32, phase: &str) -> bool {
    let hits = |one: &DroppedBlock| one.block == block && one.phase.as_deref().is_none_or(|name| name == phase);
    !dropped.iter().any(hits)
}

/// Blocks of which something was dropped.
pub(crate) fn blocks(dropped: &[DroppedBlock]) -> usize {
    dropped.iter().map(|one| one.block).collect::<BTreeSet<_>>().len()
}

/// Adds what does not count of a block; false where one of the stacks has not run in it yet.
pub(crate) fn of_block(book: &Book, block: u32, pairs: &[Pair], drops: &mut Drops) -> bool {
    let members: BTreeSet<&str> = pairs
        .iter()
        .flat_map(|pair| [pair.stack.as_str(), pair.base.as_str()])
        .collect();
    if members.iter().any(|stack| book.ran(block, stack).is_none()) {
        return false;
    }
    let needed = phases_of(pairs.iter());
    for stack in members {
        let of_stack = |pair: &&Pair| pair.stack == stack || pair.base == stack;
        let compared = phases_of(pairs.iter().filter(of_stack));
        let Some(ran) = book.ran(block, stack) else { continue };
        if let TrialStatus::Failed(reason) = &ran.trial.status {
            drops.add(block, None, &format!("{stack} failed: {reason}"));
            continue;
        }
        for (place, head) in book.phases.iter().enumerate() {
            let name = head.name.as_str();
            let reason = match ran.phases.get(name) {
                // A result of the stack, for which it is not ranked from there on; no reason to drop the others'.
                Some(seen) if ran_out::is_full(seen) => None,
                // What is not ranked (ageing, say) still shapes what comes after it.
                Some(seen) if seen.run.ranked && !compared.contains(name) => None,
                Some(seen) => objection(seen, stack),
                None if compared.contains(name) => Some(format!("{name} was not run on {stack}")),
                None => None,
            };
            let Some(reason) = reason else { continue };
            let later = book.phases.iter().skip(place + 1).filter(|_| may_write(book, head));
            let hit = [head]
                .into_iter()
                .chain(later)
                .filter(|head| needed.contains(head.name.as_str()));
            hit.for_each(|head| drops.add(block, Some(&head.name), &reason));
        }
    }
    true
}

/// Phases that comparisons need.
fn phases_of<'p>(pairs: impl Iterator<Item = &'p Pair>) -> BTreeSet<&'p str> {
    let needed = pairs.flat_map(|pair| [Some(&pair.phase), pair.before.as_ref()]);
    needed.flatten().map(|phase| phase.name.as_str()).collect()
}

/// Why a run cannot count: it is not valid, or was mostly another's.
fn objection(seen: &Seen, stack: &str) -> Option<String> {
    let name = &seen.run.name;
    match &seen.run.status {
        PhaseStatus::Valid => {
            let reason = refusals::of_run(seen)?;
            Some(format!("{name} on {stack} does not count: {reason}"))
        }
        PhaseStatus::Invalid(reason) => Some(format!("{name} on {stack} is invalid: {reason}")),
        PhaseStatus::Failed(reason) => Some(format!("{name} on {stack} failed: {reason}")),
    }
}

/// Whether a phase may leave the data otherwise than it found them, as the study says; where it does not say, it may.
fn may_write(book: &Book, head: &PhaseHead) -> bool {
    let kind = kind_row(head.kind);
    let updates = || book.setting(&format!("phase.{}.update_pct", head.name));
    kind.may_write && (!kind.is_random || updates().is_none_or(|share| share.trim() != "0"))
}
