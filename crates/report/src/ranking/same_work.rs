//! The same work at the same rate: the bytes that devices moved for it, on a stack and on its base.
//!
//! Takes the ramps of both in the blocks that count; gives a ratio with a plain 95 % interval. Prevents: bytes of an
//! overloaded point held against those of a calm one, as the totals of two ramps would be.

use super::drops::Dropped;
use super::not_tested::{CONFIDENCE, both};
use super::rank::base_of;
use crate::cells::metric::Metric;
use crate::cells::ramp::PointOfRun;
use crate::figures::{finite, over};
use crate::history::{Book, PhaseHead, Seen};
use ledger::{LedgerError, Measure};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Orientation;
use std::collections::BTreeMap;

/// A stack and its base at the highest load that both held: shown, not tested and not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SameWork {
    /// The phase.
    pub phase: String,
    /// Operations a second that were asked of both. Both held them within the limit in half of their blocks or more.
    pub asked_per_s: f64,
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// Bytes that the lowest visible devices moved per operation, both directions: the stack's over the base's.
    pub bytes_ratio: f64,
    /// Lower end of the plain 95 % interval; `null` below two blocks.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: u32,
}

/// Phase by phase, stack by stack.
pub(crate) fn same_work(book: &Book, dropped: &Dropped<'_>) -> Result<Vec<SameWork>, LedgerError> {
    let mut found = Vec::new();
    let is_ramp = |phase: &&PhaseHead| Metric::of(phase.kind) == Metric::OperationsPerSecondAtLimit;
    for phase in book.phases.iter().filter(is_ramp) {
        for stack in &book.stacks {
            let Some(base) = base_of(book, stack) else { continue };
            let runs = both(book, [&stack.name, base], &phase.name, dropped);
            let Some((asked_per_s, ys)) = at_highest(&runs)? else {
                continue;
            };
            let interval = stats::ratio_interval(&ys, CONFIDENCE);
            found.push(SameWork {
                phase: phase.name.clone(),
                asked_per_s,
                stack: stack.name.clone(),
                base: base.into(),
                bytes_ratio: stats::mean(&ys).exp(),
                low: finite(interval.map(|found| found.low)),
                high: finite(interval.map(|found| found.high)),
                n: ys.len() as u32,
            });
        }
    }
    found.retain(|one| one.bytes_ratio.is_finite());
    Ok(found)
}

/// The highest load that both held in half of the blocks or more, and the logarithms of the ratios there.
fn at_highest(runs: &[(&Seen, &Seen)]) -> Result<Option<(f64, Vec<f64>)>, LedgerError> {
    let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (own, base) in runs {
        let (own, base) = (held(own)?, held(base)?);
        for (rate, bytes) in own {
            let other = base.get(&rate).copied();
            let ratio = other.and_then(|other| stats::log_ratio(bytes, other, Orientation::HigherIsBetter));
            at.entry(rate).or_default().extend(ratio);
        }
    }
    let is_usual = |ys: &[f64]| !ys.is_empty() && 2 * ys.len() >= runs.len();
    let highest = at.into_iter().rev().find(|(_, ys)| is_usual(ys));
    Ok(highest.map(|(rate, ys)| (f64::from_bits(rate), ys)))
}

/// Bytes of an operation by the load that was held, as bits (they sort as positive numbers do). A run with wrong
/// answers has none: it did other work.
fn held(run: &Seen) -> Result<BTreeMap<u64, f64>, LedgerError> {
    let (Some(serving), Some(ramp)) = (&run.serving, run.ramp()?) else {
        return Ok(BTreeMap::new());
    };
    if run.get(Measure::FilesWrong).is_some_and(|wrong| wrong > 0.0) {
        return Ok(BTreeMap::new());
    }
    let bytes = |point: &PointOfRun| {
        let mut stored = serving.points.iter();
        let stored = stored.find(|stored| stored.asked_per_s == point.asked_per_s)?;
        let moved = stored.get(Measure::LowReadBytes)? + stored.get(Measure::LowWriteBytes)?;
        Some((point.asked_per_s.to_bits(), over(Some(moved), Some(point.operations))?))
    };
    Ok(ramp
        .points
        .iter()
        .filter(|point| point.inside)
        .filter_map(bytes)
        .collect())
}
