//! What the verdict's procedure says of the pairs.
//!
//! Takes the gathered file, gives the decision, its histories and the blocks dropped. Everything that shuts out a
//! block is judged on provenance, layers and status alone, before any ratio is computed.
//! Prevents: a stack or a block left out because its number was unwelcome.

use crate::cells::metric::Metric;
use crate::cells::ran_out;
use crate::history::{Book, PhaseHead, Ran};
use crate::ranking::pairs::{self, unfit};
use crate::ranking::{contrasts, refusals};
use ledger::{LedgerError, PhaseStatus, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Decision, Design, History, Phases};
use std::collections::BTreeSet;

pub(crate) use crate::ranking::pairs::{Pair, Unranked, base_of, takes_part, taking_part};

/// A block whose ratios do not count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DroppedBlock {
    /// From 0.
    pub block: u32,
    /// Why.
    pub reason: String,
}

/// The outcome.
#[derive(Debug)]
pub(crate) struct Ranking {
    pub pairs: Vec<Pair>,
    pub unranked: Vec<Unranked>,
    pub dropped: Vec<DroppedBlock>,
    pub decision: Decision,
    /// What was decided on, in the order of the pairs.
    pub histories: Vec<History>,
}

/// Judges the file.
pub(crate) fn rank(book: &Book) -> Result<Ranking, LedgerError> {
    let (mut pairs, mut unranked) = pairs::pairs(book);
    pairs.extend(contrasts::pairs(book, &mut unranked));
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
    let mut dropped = Vec::new();
    'blocks: for block in 0..book.blocks() {
        let mut reason = None;
        for stack in members(&pairs) {
            let Some(ran) = book.ran(block, stack) else {
                break 'blocks;
            };
            reason = reason.or_else(|| objection(ran, stack, &pairs));
        }
        let mut ys = Vec::new();
        for pair in &pairs {
            ys.push(if reason.is_none() {
                log_ratio(book, block, pair)?
            } else {
                None
            });
        }
        if reason.is_none() && ys.iter().any(Option::is_none) {
            reason = Some("a phase has no measured value".to_string());
        }
        for (history, y) in histories.iter_mut().zip(ys) {
            history.ys.push(if reason.is_none() { y } else { None });
        }
        dropped.extend(reason.map(|reason| DroppedBlock { block, reason }));
    }
    let decision = stats::decide(&design(book, &pairs), &histories);
    Ok(Ranking {
        pairs,
        unranked,
        dropped,
        decision,
        histories,
    })
}

/// What was fixed beforehand.
pub(crate) fn design(book: &Book, pairs: &[Pair]) -> Design {
    Design {
        blocks: book.study.blocks_planned,
        comparisons: book.study.comparisons.max(pairs.len() as u32),
        margin: book.study.margin,
        alpha: book.study.alpha,
        reserved: book.study.alpha_reserved,
        extensions: book.extensions.len() as u32,
    }
}

fn members(pairs: &[Pair]) -> BTreeSet<&str> {
    pairs
        .iter()
        .flat_map(|pair| [pair.stack.as_str(), pair.base.as_str()])
        .collect()
}

/// Why a trial cannot count: it failed, or a phase that matters is not valid or not there.
fn objection(ran: &Ran, stack: &str, pairs: &[Pair]) -> Option<String> {
    if let TrialStatus::Failed(reason) = &ran.trial.status {
        return Some(format!("{stack} failed: {reason}"));
    }
    let compared: BTreeSet<&str> = pairs
        .iter()
        .filter(|pair| pair.stack == stack || pair.base == stack)
        .flat_map(|pair| [Some(&pair.phase), pair.before.as_ref()])
        .flatten()
        .map(|phase| phase.name.as_str())
        .collect();
    for (name, seen) in &ran.phases {
        // A result of the stack, for which it is not ranked from there on; no reason to drop the others' block.
        if ran_out::is_full(seen) {
            continue;
        }
        // What is not ranked (ageing, say) still shapes what comes after it.
        if seen.run.ranked && !compared.contains(name.as_str()) {
            continue;
        }
        match &seen.run.status {
            PhaseStatus::Valid => {
                if let Some(reason) = refusals::of_run(seen) {
                    return Some(format!("{name} on {stack} does not count: {reason}"));
                }
            }
            PhaseStatus::Invalid(reason) => return Some(format!("{name} on {stack} is invalid: {reason}")),
            PhaseStatus::Failed(reason) => return Some(format!("{name} on {stack} failed: {reason}")),
        }
    }
    let missing = compared.into_iter().find(|name| !ran.phases.contains_key(*name))?;
    Some(format!("{missing} was not run on {stack}"))
}

fn log_ratio(book: &Book, block: u32, pair: &Pair) -> Result<Option<f64>, LedgerError> {
    let metric = Metric::of(pair.phase.kind);
    let value = |stack: &str, phase: &PhaseHead| {
        (book.at(block, stack, &phase.name)).map_or(Ok(None), |seen| metric.value(seen))
    };
    if let Some(before) = &pair.before {
        let both = |stack: &str| {
            let (earlier, later) = (value(stack, before)?, value(stack, &pair.phase)?);
            let both = earlier.zip(later);
            Ok::<_, LedgerError>(both.map(|(earlier, later)| Phases { earlier, later }))
        };
        let two = both(&pair.stack)?.zip(both(&pair.base)?);
        return Ok(two.and_then(|(stack, base)| stats::contrast(stack, base, metric.orientation())));
    }
    Ok(
        match (value(&pair.stack, &pair.phase)?, value(&pair.base, &pair.phase)?) {
            (Some(x), Some(base)) => stats::log_ratio(x, base, metric.orientation()),
            _ => None,
        },
    )
}
