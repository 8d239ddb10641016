//! Which blocks do not count, in which phases, and why.
//!
//! A phase that does not count on one stack drops its block for all stacks, in that phase and in what is held against
//! it. Where it writes, it shapes what comes after it, so later phases of the block are dropped too. Judged on status
//! and on what the study says of its phases, before any ratio. Prevents: one invalid phase that takes every verdict
//! with it, and a block that is dropped because of its result.

use super::pairs::Pair;
use crate::cells::ran_out;
use crate::history::{Book, PhaseHead, Seen};
use crate::looked::looked;
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
    places: BTreeMap<String, usize>,
}

impl Drops {
    pub(crate) fn new(book: &Book) -> Drops {
        let places = |head: &PhaseHead| Some((head.name.clone(), book.place(&head.name)?));
        Drops {
            reasons: BTreeMap::new(),
            phases: book.phases.iter().map(|head| head.name.clone()).collect(),
            places: book.phases.iter().filter_map(places).collect(),
        }
    }

    /// The first reason stays.
    pub(crate) fn add(&mut self, block: u32, phase: Option<&str>, reason: &str) {
        looked(1);
        let place = phase.and_then(|phase| self.places.get(phase).copied());
        self.reasons.entry((block, place)).or_insert_with(|| reason.to_string());
    }

    /// Whether a block counts for a comparison.
    pub(crate) fn counts(&self, block: u32, pair: &Pair) -> bool {
        looked(1);
        let named = |head: &PhaseHead| self.places.get(&head.name).copied();
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

/// What was dropped, by what is asked: for each block in each phase of each stack.
#[derive(Debug, Default)]
pub(crate) struct Dropped<'d> {
    in_all: BTreeSet<u32>,
    in_phase: BTreeSet<(u32, &'d str)>,
    somewhere: BTreeSet<u32>,
}

impl<'d> Dropped<'d> {
    pub(crate) fn of(dropped: &'d [DroppedBlock]) -> Dropped<'d> {
        looked(dropped.len());
        let mut found = Dropped::default();
        for one in dropped {
            found.somewhere.insert(one.block);
            match &one.phase {
                None => found.in_all.insert(one.block),
                Some(phase) => found.in_phase.insert((one.block, phase)),
            };
        }
        found
    }

    /// Whether a block counts in a phase.
    pub(crate) fn counts(&self, block: u32, phase: &str) -> bool {
        looked(1);
        !self.in_all.contains(&block) && !self.in_phase.contains(&(block, phase))
    }

    /// Whether a block counts in all phases.
    pub(crate) fn is_whole(&self, block: u32) -> bool {
        looked(1);
        !self.somewhere.contains(&block)
    }
}

/// Blocks of which something was dropped.
pub(crate) fn blocks(dropped: &[DroppedBlock]) -> usize {
    dropped.iter().map(|one| one.block).collect::<BTreeSet<_>>().len()
}

/// The stacks that are compared, each with the phases in which it is: the same in all blocks.
#[derive(Debug)]
pub(crate) struct Members<'p> {
    of_stack: BTreeMap<&'p str, BTreeSet<&'p str>>,
    /// Phases in which any is compared.
    phases: BTreeSet<&'p str>,
}

impl<'p> Members<'p> {
    pub(crate) fn of(pairs: &'p [Pair]) -> Members<'p> {
        looked(pairs.len());
        let (mut of_stack, mut phases) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
        for pair in pairs {
            for phase in [Some(&pair.phase), pair.before.as_ref()].into_iter().flatten() {
                for stack in [&pair.stack, &pair.base] {
                    of_stack.entry(stack.as_str()).or_default().insert(phase.name.as_str());
                }
                phases.insert(phase.name.as_str());
            }
        }
        Members { of_stack, phases }
    }

    /// Whether a stack is compared in a phase.
    pub(crate) fn has(&self, stack: &str, phase: &str) -> bool {
        looked(1);
        self.of_stack.get(stack).is_some_and(|phases| phases.contains(phase))
    }
}

/// Adds what does not count of a block; false where one of the stacks has not run in it yet.
pub(crate) fn of_block(book: &Book, block: u32, members: &Members<'_>, drops: &mut Drops) -> bool {
    if members.of_stack.keys().any(|stack| book.ran(block, stack).is_none()) {
        return false;
    }
    // What may write spoils all that comes later in the block: from there on everything is dropped already.
    let mut spoilt_from = book.phases.len();
    for (stack, compared) in &members.of_stack {
        let Some(ran) = book.ran(block, stack) else { continue };
        if let TrialStatus::Failed(reason) = &ran.trial.status {
            drops.add(block, None, &format!("{stack} failed: {reason}"));
            continue;
        }
        for (place, head) in book.phases.iter().enumerate().take(spoilt_from) {
            looked(1);
            let name = head.name.as_str();
            let reason = match ran.phases.get(name) {
                // A result of the stack, for which it is not ranked from there on; no reason to drop the others'.
                Some(seen) if ran_out::is_full(seen) || refusals::is_past_limit(seen) => None,
                // What is not ranked (ageing, say) still shapes what comes after it.
                Some(seen) if seen.run.ranked && !compared.contains(name) => None,
                Some(seen) => objection(seen, stack),
                None if compared.contains(name) => Some(format!("{name} was not run on {stack}")),
                None => None,
            };
            let Some(reason) = reason else { continue };
            let spoils = refusals::may_write(book, head);
            let hit = &book.phases[place..if spoils { spoilt_from } else { place + 1 }];
            for head in hit.iter().filter(|head| members.phases.contains(head.name.as_str())) {
                drops.add(block, Some(&head.name), &reason);
            }
            if spoils {
                spoilt_from = place;
                break;
            }
        }
    }
    true
}

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
