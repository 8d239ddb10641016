//! Which stacks are compared with which, in which phases, and why the others are not.
//!
//! Takes the gathered file, gives pairs and what is not ranked. All of it is judged on provenance, layers and status
//! alone, before any ratio is computed. Prevents: a stack left out because its number was unwelcome.

use crate::cells::latency::unsent_objection;
use crate::cells::metric::Metric;
use crate::cells::provenance::{MayServe, Provenance, cached_counts, unseen};
use crate::cells::ran_out;
use crate::history::{Book, PhaseHead, Seen};
use crate::looked::looked;
use crate::ranking::refusals;
use ledger::{Group, Stack, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A stack against its base in a phase, or in its change from an earlier phase.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub stack: String,
    pub base: String,
    pub phase: PhaseHead,
    /// The earlier phase, where the changes since then are compared.
    pub before: Option<PhaseHead>,
}

/// Measured, and not ranked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Unranked {
    /// The stack.
    pub stack: String,
    /// The phase; `null` for all of them.
    pub phase: Option<String>,
    /// Why.
    pub reason: String,
}

/// The base of a stack: the first stack of its group that could be run; `None` for the base itself and for stacks that
/// take no part.
pub(crate) fn base_of<'a>(book: &'a Book, stack: &Stack) -> Option<&'a str> {
    looked(1);
    let bases = book.bases.get_or_init(|| bases(book));
    bases.get(&stack.name).map(String::as_str)
}

fn bases(book: &Book) -> BTreeMap<String, String> {
    let mut first: HashMap<Group, &str> = HashMap::new();
    for stack in taking_part(book) {
        first.entry(stack.group()).or_insert(&stack.name);
    }
    let base = |stack: &Stack| {
        let base = first.get(&stack.group()).filter(|base| **base != stack.name)?;
        Some((stack.name.clone(), base.to_string()))
    };
    looked(book.stacks.len());
    book.stacks.iter().filter_map(base).collect()
}

/// `Err` with the reason for a stack that was skipped or that never came through a trial.
pub(crate) fn takes_part(book: &Book, stack: &Stack) -> Result<(), String> {
    looked(1);
    let all = || (book.stacks.iter()).filter_map(|stack| Some((stack.name.clone(), unfitness(book, stack)?)));
    let unfit = book.unfit.get_or_init(|| all().collect());
    unfit.get(&stack.name).map_or(Ok(()), |reason| Err(reason.clone()))
}

fn unfitness(book: &Book, stack: &Stack) -> Option<String> {
    if let Some(skipped) = &stack.skipped {
        return Some(format!("skipped: {}", skipped.reason));
    }
    let mut failure = None;
    for (_, ran) in book.runs(&stack.name) {
        match &ran.trial.status {
            TrialStatus::Failed(reason) => failure = Some(format!("every trial failed: {reason}")),
            _ => return None,
        }
    }
    failure
}

/// The stacks that took part, in the order of the study.
pub(crate) fn taking_part(book: &Book) -> impl Iterator<Item = &Stack> {
    book.stacks.iter().filter(|stack| takes_part(book, stack).is_ok())
}

/// Stacks and their base in each ranked phase.
pub(crate) fn pairs(book: &Book) -> (Vec<Pair>, Vec<Unranked>) {
    let mut pairs = Vec::new();
    let mut unranked = Vec::new();
    let first = taking_part(book).next();
    for stack in &book.stacks {
        if let Err(reason) = takes_part(book, stack) {
            // Skipped stacks have a list of their own.
            if stack.skipped.is_none() {
                unranked.push(unfit(stack, None, reason));
            }
            continue;
        }
        if let Some(first) = first.filter(|first| first.group() != stack.group()) {
            unranked.push(unfit(stack, None, apart(stack, first)));
        }
        let base = base_of(book, stack);
        for phase in book.phases.iter().filter(|phase| phase.ranked) {
            let own = objection_of(book, &stack.name, phase);
            let Some(base) = base else {
                // A base has nothing to be compared with, but what it is must be said.
                unranked.extend(own.map(|reason| unfit(stack, Some(phase), reason)));
                continue;
            };
            match own.or_else(|| base_objection(book, base, phase)) {
                Some(reason) => unranked.push(unfit(stack, Some(phase), reason)),
                None => pairs.push(Pair {
                    stack: stack.name.clone(),
                    base: base.into(),
                    phase: phase.clone(),
                    before: None,
                }),
            }
        }
    }
    (pairs, unranked)
}

/// What tells the groups of two stacks apart: the database, modelled devices, the number of layers.
fn apart(stack: &Stack, first: &Stack) -> String {
    let (own, its) = (stack.group(), first.group());
    let engine = |of: &Group| of.database.clone().unwrap_or_else(|| "the page engine".into());
    let mut said = Vec::new();
    if own.database != its.database {
        said.push(format!(
            "another database ({}) than {} ({})",
            engine(&own),
            first.name,
            engine(&its)
        ));
    }
    match (own.models, its.models) {
        (Some(_), None) => said.push(format!("on a modelled device, and {} on a real one", first.name)),
        (None, Some(_)) => said.push(format!("on a real device, and {} on a modelled one", first.name)),
        (Some(one), Some(other)) if one != other => said.push(format!(
            "on LUNs {}, and {} on LUNs {}: only one of them has times of its own",
            one.as_str(),
            first.name,
            other.as_str()
        )),
        _ => {}
    }
    if said.is_empty() || own.layers != its.layers {
        said.push(format!(
            "another number of layers than {} ({})",
            first.name, first.layers
        ));
    }
    said.join("; ")
}

pub(crate) fn unfit(stack: &Stack, phase: Option<&PhaseHead>, reason: String) -> Unranked {
    Unranked {
        stack: stack.name.clone(),
        phase: phase.map(|phase| phase.name.clone()),
        reason,
    }
}

pub(crate) fn base_objection(book: &Book, base: &str, phase: &PhaseHead) -> Option<String> {
    let objection = objection_of(book, base, phase)?;
    Some(format!("its base {base} cannot be ranked: {objection}"))
}

/// Why a stack cannot be ranked in a phase: it had no space left by then, its database broke a condition or was busy
/// with other things than storage, or a cache answered.
pub(crate) fn objection_of(book: &Book, stack: &str, phase: &PhaseHead) -> Option<String> {
    if let Some((place, ran_out)) = ran_out::first(book, stack) {
        let at = &book.phases[place].name;
        if *at == phase.name {
            return Some(ran_out.words);
        }
        if book.place(&phase.name) > Some(place) {
            return Some(format!("it ran out of space in {at}"));
        }
    }
    if let Some(lost) = refusals::of_phase(book, stack, &phase.name) {
        return Some(lost);
    }
    if let Some(late) = refusals::past_limit(book, stack, phase) {
        return Some(late);
    }
    let seen = book.valid(stack, &phase.name);
    let of_p99 = Metric::of(phase.kind) == Metric::ResponseNsP99;
    if let Some(unsent) = unsent_objection(&seen).filter(|_| of_p99) {
        return Some(unsent);
    }
    if let Some(nothing) = nothing_done(phase, &seen) {
        return Some(nothing);
    }
    // A distribution that can't be read fails the report where its cell is made.
    let all: Vec<_> = book.seen(stack, &phase.name).collect();
    let of_orders = crate::cells::orders::objection(&seen, &all).ok().flatten();
    // A phase not yet seen has no objection: the provenance of nothing would say that nothing was asked.
    // What files are served with is storage and memory together.
    let may = MayServe::of(phase.kind, cached_counts(book, &seen));
    let of_provenance = || Provenance::of(&seen, unseen(book, stack, &seen)).objection(may);
    let of_serving = crate::cells::serving::objection(&seen, &all).ok().flatten();
    of_serving
        .or(of_orders)
        .or_else(|| (!seen.is_empty()).then(of_provenance).flatten())
}

/// A run that did nothing has no ratio. To drop its block would leave out the worst of the stack's runs.
fn nothing_done(phase: &PhaseHead, seen: &[&Seen]) -> Option<String> {
    let metric = Metric::of(phase.kind);
    let is_nothing = |run: &&&Seen| metric.value(run).ok().flatten() == Some(0.0);
    let blocks = seen.iter().filter(is_nothing).count();
    let of = seen.len();
    (blocks > 0).then(|| format!("it did nothing in {blocks} of {of} blocks: there is no ratio to that"))
}
