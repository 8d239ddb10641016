//! Which stack changes more from an earlier phase to a later one: the comparison that ranks ageing.
//!
//! Takes the gathered file, gives the pairs to be judged with all others.
//! The later phase runs after the earlier one in every trial, so a slowdown within trials is in each stack's own
//! change; it is in the base's change too, and leaves their ratio. Prevents: a slowdown that reads as ageing.

use super::pairs::{Pair, Unranked, base_objection, base_of, objection_of, taking_part, unfit};
use crate::history::{Book, PhaseHead};
use std::collections::BTreeSet;

/// Phases that are held against an earlier one, with that one.
pub(crate) fn held_against<'b>(book: &'b Book) -> impl Iterator<Item = (&'b PhaseHead, &'b PhaseHead)> {
    let of = move |phase: &'b PhaseHead| Some((phase, book.against(&phase.name)?));
    book.phases.iter().filter_map(of)
}

/// Why a change of a stack is not judged: it cannot be ranked in one of the phases.
pub(crate) fn objection(book: &Book, stack: &str, phase: &PhaseHead, before: &PhaseHead) -> Option<String> {
    let of_before = || {
        let reason = objection_of(book, stack, before)?;
        Some(format!("{} cannot be ranked: {reason}", before.name))
    };
    objection_of(book, stack, phase).or_else(of_before)
}

/// Each stack and its base in each of these phases. What has no base keeps its own reasons, if any.
pub(crate) fn pairs(book: &Book, unranked: &mut Vec<Unranked>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    if held_against(book).next().is_none() {
        return pairs;
    }
    let mut known: BTreeSet<Unranked> = unranked.iter().cloned().collect();
    for stack in taking_part(book) {
        for (phase, before) in held_against(book) {
            let base = base_of(book, stack);
            let of_base = || base_objection(book, base?, phase).or_else(|| base_objection(book, base?, before));
            let reason = objection(book, &stack.name, phase, before).or_else(of_base);
            if let Some(reason) = reason {
                let said = unfit(stack, Some(phase), reason);
                if known.insert(said.clone()) {
                    unranked.push(said);
                }
            } else if let Some(base) = base {
                pairs.push(Pair {
                    stack: stack.name.clone(),
                    base: base.into(),
                    phase: phase.clone(),
                    before: Some(before.clone()),
                });
            }
        }
    }
    pairs
}
