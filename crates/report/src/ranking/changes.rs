//! A later phase against an earlier one on one stack: a figure with an interval, from which no verdict is drawn.
//!
//! Takes the gathered file and the blocks that do not count, gives [`Change`]s. The later phase always runs after the
//! earlier one, so the figure holds whatever slows a trial down as it goes on. Prevents: that slowdown called ageing.

use super::contrasts::{held_against, objection};
use super::drops::Dropped;
use super::rank::taking_part;
use super::refusals;
use crate::cells::metric::Metric;
use crate::figures::finite;
use crate::format::ratio;
use crate::history::{Book, PhaseHead, Seen};
use ledger::LedgerError;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Phases;

const CONFIDENCE: f64 = 0.95;

/// A later phase against an earlier one, on one stack: shown, not tested. It includes any slowdown within a trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The stack.
    pub stack: String,
    /// The later phase.
    pub phase: String,
    /// The earlier phase that it is held against.
    pub against: String,
    /// The metric compared.
    pub metric: Metric,
    /// Ratio of later to earlier, oriented so that above 1 is better than before.
    pub ratio: f64,
    /// Lower end of the plain 95 % interval; `null` below two blocks.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: u32,
    /// In words.
    pub words: String,
}

/// Of each stack that took part, in the order of the stacks and of the phases.
pub(crate) fn changes(book: &Book, dropped: &Dropped<'_>) -> Result<Vec<Change>, LedgerError> {
    let mut found = Vec::new();
    if refusals::of_file(book).is_some() {
        return Ok(found);
    }
    for stack in taking_part(book) {
        for (phase, before) in held_against(book) {
            if objection(book, &stack.name, phase, before).is_none() {
                found.extend(change(book, &stack.name, [phase, before], dropped)?);
            }
        }
    }
    Ok(found)
}

fn change(
    book: &Book,
    stack: &str,
    [phase, before]: [&PhaseHead; 2],
    dropped: &Dropped<'_>,
) -> Result<Option<Change>, LedgerError> {
    let metric = Metric::of(phase.kind);
    let counts = |seen: &&Seen| seen.counts();
    let value = |block: u32, of: &PhaseHead| match book.at(block, stack, &of.name).filter(counts) {
        Some(seen) => metric.value(seen),
        None => Ok(None),
    };
    let mut ys = Vec::new();
    for block in (0..book.blocks()).filter(|block| dropped.is_whole(*block)) {
        if let (Some(earlier), Some(later)) = (value(block, before)?, value(block, phase)?) {
            ys.extend(Phases { earlier, later }.change(metric.orientation()));
        }
    }
    if ys.is_empty() {
        return Ok(None);
    }
    let interval = stats::ratio_interval(&ys, CONFIDENCE);
    let mut change = Change {
        stack: stack.into(),
        phase: phase.name.clone(),
        against: before.name.clone(),
        metric,
        ratio: stats::mean(&ys).exp(),
        low: finite(interval.map(|found| found.low)),
        high: finite(interval.map(|found| found.high)),
        n: ys.len() as u32,
        words: String::new(),
    };
    change.words = format!(
        "{} of {}, over {} blocks: not tested, and includes any slowdown within a trial",
        change.with_interval(),
        change.against,
        change.n
    );
    Ok(Some(change))
}

impl Change {
    /// "0.50 (0.48 to 0.52)".
    pub(crate) fn with_interval(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} ({} to {})", ratio(self.ratio), ratio(low), ratio(high)),
            _ => ratio(self.ratio),
        }
    }
}
