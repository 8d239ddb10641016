//! What the verdict's procedure says of the pairs.
//!
//! Takes the gathered file, gives the decision, its histories and the blocks dropped. Everything that shuts out a
//! block is judged on provenance, layers and status alone, before any ratio is computed.
//! Prevents: a stack or a block left out because its number was unwelcome.

use crate::cells::metric::Metric;
use crate::history::{Book, PhaseHead};
pub use crate::ranking::drops::DroppedBlock;
use crate::ranking::drops::{self, Drops, Members};
use crate::ranking::pairs::{self, unfit};
use crate::ranking::{contrasts, refusals};
use ledger::LedgerError;
use stats::{DecidedApart, Design, History, Phases};
use std::collections::BTreeMap;

pub(crate) use crate::ranking::pairs::{Pair, Unranked, base_of, takes_part, taking_part};

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
    let (mut drops, members) = (Drops::new(book), Members::of(&pairs));
    for block in 0..book.blocks() {
        if !drops::of_block(book, block, &members, &mut drops) {
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
fn key(pair: &Pair) -> (&str, Option<&str>) {
    let before = pair.before.as_ref().map(|before| before.name.as_str());
    (pair.phase.name.as_str(), before)
}

fn groups(pairs: &[Pair]) -> Vec<usize> {
    let mut known: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    let mut numbers = Vec::new();
    for pair in pairs {
        let next = known.len();
        numbers.push(*known.entry(key(pair)).or_insert(next));
    }
    numbers
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
