//! Who is compared with whom, and what the verdict's procedure says.
//!
//! Takes the gathered file, gives comparisons, what is not ranked and why, and the blocks dropped. Everything that
//! shuts out a stack or a block is judged on provenance, layers and status alone, before any ratio is computed.
//! Prevents: a stack or a block left out because its number was unwelcome.

use crate::cells::metric::Metric;
use crate::cells::provenance::{Provenance, cached_counts};
use crate::cells::ran_out;
use crate::history::{Book, PhaseHead};
pub use crate::ranking::drops::DroppedBlock;
use crate::ranking::drops::{self, Drops};
pub(crate) use crate::ranking::pair::Pair;
use crate::ranking::refusals;
use ledger::{Group, LedgerError, Stack, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{DecidedApart, Design, History};

/// Measured, and not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unranked {
    /// The stack.
    pub stack: String,
    /// The phase; `null` for all of them.
    pub phase: Option<String>,
    /// Why.
    pub reason: String,
}

/// The outcome.
#[derive(Debug)]
pub(crate) struct Ranking {
    pub pairs: Vec<Pair>,
    pub unranked: Vec<Unranked>,
    pub dropped: Vec<DroppedBlock>,
    pub decision: DecidedApart,
    /// What was decided on, in the order of the pairs.
    pub histories: Vec<History>,
}

/// The base of a stack: the first stack of its group that could be run; `None` for the base itself and for stacks that
/// take no part.
pub(crate) fn base_of<'a>(book: &'a Book, stack: &Stack) -> Option<&'a str> {
    let base = taking_part(book).find(|other| other.group() == stack.group())?;
    (base.name != stack.name).then_some(base.name.as_str())
}

/// `Err` with the reason for a stack that was skipped or that never came through a trial.
pub(crate) fn takes_part(book: &Book, stack: &Stack) -> Result<(), String> {
    if let Some(skipped) = &stack.skipped {
        return Err(format!("skipped: {}", skipped.reason));
    }
    let mut failure = None;
    for (_, ran) in book.runs(&stack.name) {
        match &ran.trial.status {
            TrialStatus::Failed(reason) => failure = Some(format!("every trial failed: {reason}")),
            _ => return Ok(()),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// The stacks that took part, in the order of the study.
pub(crate) fn taking_part(book: &Book) -> impl Iterator<Item = &Stack> {
    book.stacks.iter().filter(|stack| takes_part(book, stack).is_ok())
}

/// Judges the file.
pub(crate) fn rank(book: &Book) -> Result<Ranking, LedgerError> {
    let (mut pairs, mut unranked) = pairs(book);
    pairs.extend(changes(book, &mut unranked));
    if let Some(reason) = refusals::of_file(book) {
        pairs.clear();
        unranked.extend(taking_part(book).map(|stack| unfit(stack, None, reason.clone())));
    }
    let mut histories: Vec<History> = pairs
        .iter()
        .map(|pair| History {
            stack: pair.stack.clone(),
            phase: pair.phase.name.clone(),
            ys: Vec::new(),
        })
        .collect();
    let mut drops = Drops::new(book);
    for block in 0..book.blocks() {
        if !drops::of_block(book, block, &pairs, &mut drops) {
            break;
        }
        let mut ys = Vec::new();
        for pair in &pairs {
            let y = match drops.counts(block, pair) {
                true => log_ratio(book, block, pair)?,
                false => None,
            };
            if y.is_none() && drops.counts(block, pair) {
                let reason = format!("{} has no measured value on {}", pair.phase.name, pair.stack);
                drops.add(block, Some(&pair.phase.name), &reason);
            }
            ys.push(y);
        }
        for ((history, pair), y) in histories.iter_mut().zip(&pairs).zip(ys) {
            history.ys.push(y.filter(|_| drops.counts(block, pair)));
        }
    }
    let decision = stats::decide_apart(&design(book, &pairs), &histories, &groups(&pairs));
    Ok(Ranking {
        pairs,
        unranked,
        dropped: drops.listed(),
        decision,
        histories,
    })
}

/// By pair: a number that is the same for pairs whose blocks are dropped together.
fn groups(pairs: &[Pair]) -> Vec<usize> {
    let key = |pair: &Pair| {
        let before = pair.before.as_ref().map(|before| before.name.clone());
        (pair.phase.name.clone(), before)
    };
    let mut known: Vec<(String, Option<String>)> = Vec::new();
    let number = |pair: &Pair| {
        let key = key(pair);
        known.iter().position(|one| *one == key).unwrap_or_else(|| {
            known.push(key);
            known.len() - 1
        })
    };
    pairs.iter().map(number).collect()
}

/// What was fixed beforehand.
pub(crate) fn design(book: &Book, pairs: &[Pair]) -> Design {
    Design {
        blocks: book.study.blocks_planned,
        comparisons: book.study.comparisons.max(pairs.len() as u32),
        margin: book.study.margin,
        alpha: book.study.alpha,
    }
}

fn pairs(book: &Book) -> (Vec<Pair>, Vec<Unranked>) {
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

fn unfit(stack: &Stack, phase: Option<&PhaseHead>, reason: String) -> Unranked {
    Unranked {
        stack: stack.name.clone(),
        phase: phase.map(|phase| phase.name.clone()),
        reason,
    }
}

fn base_objection(book: &Book, base: &str, phase: &PhaseHead) -> Option<String> {
    let objection = objection_of(book, base, phase)?;
    Some(format!("its base {base} cannot be ranked: {objection}"))
}

/// Why a stack cannot be ranked in a phase: it had no space left by then, its database broke a condition or was busy
/// with other things than storage, or a cache answered.
fn objection_of(book: &Book, stack: &str, phase: &PhaseHead) -> Option<String> {
    if let Some((place, ran_out)) = ran_out::first(book, stack) {
        let at = &book.phases[place].name;
        if *at == phase.name {
            return Some(ran_out.words);
        }
        if book.phases.iter().position(|head| head.name == phase.name) > Some(place) {
            return Some(format!("it ran out of space in {at}"));
        }
    }
    if let Some(lost) = refusals::of_phase(book, stack, &phase.name) {
        return Some(lost);
    }
    let seen = book.valid(stack, &phase.name);
    // A distribution that can't be read fails the report where its cell is made.
    let all: Vec<_> = book.seen(stack, &phase.name).collect();
    let of_orders = crate::cells::orders::objection(&seen, &all).ok().flatten();
    // A phase not yet seen has no objection: the provenance of nothing would say that nothing was asked.
    let of_provenance = || Provenance::of(&seen).objection(cached_counts(book, &seen));
    of_orders.or_else(|| (!seen.is_empty()).then(of_provenance).flatten())
}

/// Phases that are held against an earlier one, on each stack that took part.
fn changes(book: &Book, unranked: &mut Vec<Unranked>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for stack in taking_part(book) {
        for phase in &book.phases {
            let Some(before) = book.against(&phase.name) else {
                continue;
            };
            let objection = |of: &PhaseHead| objection_of(book, &stack.name, of);
            let of_before = || Some(format!("{} cannot be ranked: {}", before.name, objection(before)?));
            match objection(phase).or_else(of_before) {
                Some(reason) => {
                    let said = unfit(stack, Some(phase), reason);
                    if !unranked.contains(&said) {
                        unranked.push(said);
                    }
                }
                None => pairs.push(Pair {
                    stack: stack.name.clone(),
                    base: stack.name.clone(),
                    phase: phase.clone(),
                    before: Some(before.clone()),
                }),
            }
        }
    }
    pairs
}

fn log_ratio(book: &Book, block: u32, pair: &Pair) -> Result<Option<f64>, LedgerError> {
    let metric = Metric::of(pair.phase.kind);
    let value = |stack: &str, phase: &PhaseHead| {
        (book.at(block, stack, &phase.name)).map_or(Ok(None), |seen| metric.value(seen))
    };
    let of_base = pair.before.as_ref().unwrap_or(&pair.phase);
    Ok(match (value(&pair.stack, &pair.phase)?, value(&pair.base, of_base)?) {
        (Some(x), Some(base)) => stats::log_ratio(x, base, metric.orientation()),
        _ => None,
    })
}
