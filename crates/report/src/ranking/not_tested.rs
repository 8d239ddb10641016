//! Ratios of what is not tested: what an operation costs in processor time and device traffic, and its slow end.
//!
//! Takes the pairs that are ranked and the blocks that count, gives ratios with plain 95 % intervals. Prevents: a
//! rate that looks like the whole truth, and intervals of a dozen metrics read as a dozen verdicts.

use super::drops::Dropped;
use super::rank::{Pair, base_of};
use crate::cells::bulk::{of_rows, seconds};
use crate::cells::latency::{response_p99_of, service_p99};
use crate::cells::metric::Metric;
use crate::figures::{finite, over};
use crate::history::{Book, Seen};
use crate::phase_kind::kind_row;
use ledger::{LedgerError, PhaseKind, Stamp};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Orientation;
use std::collections::BTreeSet;

/// A ratio to the base that no verdict is drawn from: its 95 % interval is its own and allows for no other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NotTested {
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// Of what: "CPU per operation", "device bytes per operation", "p99 of service of select" ...
    pub what: String,
    /// Stack over base: above 1 is more of it.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Blocks in it.
    pub n: u32,
}

impl NotTested {
    /// True when the whole interval lies outside the margin around 1.
    pub(crate) fn is_clear(&self, margin: f64) -> bool {
        self.low > 1.0 + margin || self.high < 1.0 / (1.0 + margin)
    }
}

pub(super) const CONFIDENCE: f64 = 0.95;

/// A stack against its base at one row count: shown, not tested.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BulkRatio {
    /// The phase.
    pub phase: String,
    /// Rows.
    pub rows: u64,
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// Speed relative to the base: the base's time over its own; above 1 is faster.
    pub ratio: f64,
    /// Lower end of the plain 95 % interval; `null` below two blocks.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: u32,
}

/// The runs of two stacks in a phase, in the blocks that count.
pub(super) fn both<'b>(
    book: &'b Book,
    stacks: [&str; 2],
    phase: &str,
    dropped: &Dropped<'_>,
) -> Vec<(&'b Seen, &'b Seen)> {
    let counts = |block: &u32| dropped.counts(*block, phase);
    // A block in which the study was stopped is judged nowhere else.
    let fit = |seen: &&Seen| seen.counts();
    let one = |block, stack| book.at(block, stack, phase).filter(fit);
    let two = |block| Some((one(block, stacks[0])?, one(block, stacks[1])?));
    (0..book.blocks()).filter(counts).filter_map(two).collect()
}

/// Of two stacks, in the order of the pairs.
pub(crate) fn not_tested(book: &Book, pairs: &[Pair], dropped: &Dropped<'_>) -> Result<Vec<NotTested>, LedgerError> {
    let mut found = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.before.is_none()) {
        let phase = pair.phase.name.as_str();
        let both = both(book, [&pair.stack, &pair.base], phase, dropped);
        for what in quantities(&both, pair.phase.kind) {
            let mut ys = Vec::new();
            for (stack, base) in &both {
                if let (Some(x), Some(base)) = (what.value(stack)?, what.value(base)?) {
                    ys.extend(stats::log_ratio(x, base, Orientation::HigherIsBetter));
                }
            }
            let Some(interval) = stats::ratio_interval(&ys, CONFIDENCE) else {
                continue;
            };
            if [interval.middle, interval.low, interval.high]
                .iter()
                .all(|value| value.is_finite())
            {
                found.push(NotTested {
                    stack: pair.stack.clone(),
                    base: pair.base.clone(),
                    phase: phase.into(),
                    what: what.words(),
                    ratio: interval.middle,
                    low: interval.low,
                    high: interval.high,
                    n: ys.len() as u32,
                });
            }
        }
    }
    Ok(found)
}

enum Quantity {
    CpuPerOperation,
    CpuPerByteAsked,
    MovedPerOperation,
    MovedPerByteAsked,
    ServiceP99(String),
    ResponseP99(String),
}

/// Those that mean something for a phase of this kind.
fn quantities(both: &[(&Seen, &Seen)], kind: PhaseKind) -> Vec<Quantity> {
    let mut found = match Metric::of(kind) {
        // A faster stack has more and higher points: the totals of two ramps are not of one work.
        Metric::OperationsPerSecondAtLimit => return Vec::new(),
        Metric::OperationsPerSecond
        | Metric::NewOrdersPerMinute
        | Metric::ResponseNsP99
        | Metric::GeometricMeanSeconds => {
            vec![Quantity::CpuPerOperation, Quantity::MovedPerOperation]
        }
        Metric::BytesPerSecond | Metric::ElapsedSeconds => vec![Quantity::CpuPerByteAsked, Quantity::MovedPerByteAsked],
    };
    found.extend(classes(both, Stamp::Service).into_iter().map(Quantity::ServiceP99));
    if kind_row(kind).stamp == Stamp::Response {
        let classes = classes(both, Stamp::Response);
        // Of the only class it is what the verdict is on.
        let is_tested = Metric::of(kind) == Metric::ResponseNsP99 && classes.len() < 2;
        let untested = classes.into_iter().filter(|_| !is_tested);
        found.extend(untested.map(Quantity::ResponseP99));
    }
    found
}

fn classes(both: &[(&Seen, &Seen)], stamp: Stamp) -> BTreeSet<String> {
    let rows = both.iter().flat_map(|(stack, _)| stack.of_stamp(stamp));
    rows.map(|row| row.class.clone()).collect()
}

impl Quantity {
    fn words(&self) -> String {
        match self {
            Quantity::CpuPerOperation => "CPU per operation".into(),
            Quantity::CpuPerByteAsked => "CPU per byte".into(),
            Quantity::MovedPerOperation => "device bytes per operation".into(),
            Quantity::MovedPerByteAsked => "device bytes per byte".into(),
            Quantity::ServiceP99(class) => format!("p99 of service of {class}"),
            Quantity::ResponseP99(class) => format!("p99 of response of {class}"),
        }
    }

    fn value(&self, seen: &Seen) -> Result<Option<f64>, LedgerError> {
        let (moved, asked) = (seen.moved_bytes(), seen.all_asked_bytes());
        let busy = seen.busy_ns();
        Ok(match self {
            Quantity::CpuPerOperation => over(busy, seen.operations()),
            Quantity::CpuPerByteAsked => over(busy, asked),
            Quantity::MovedPerOperation => over(moved, seen.operations()),
            Quantity::MovedPerByteAsked => over(moved, asked),
            Quantity::ServiceP99(class) => service_p99(seen, class)?,
            Quantity::ResponseP99(class) => response_p99_of(seen, class)?,
        })
    }
}

/// Ratios per row count, phase by phase, stack by stack, smallest count first.
pub(crate) fn bulk_ratios(book: &Book, dropped: &Dropped<'_>) -> Vec<BulkRatio> {
    let mut found = Vec::new();
    for phase in &book.phases {
        for stack in &book.stacks {
            let Some(base) = base_of(book, stack) else { continue };
            let mut both = both(book, [&stack.name, base], &phase.name, dropped);
            both.retain(|(own, base)| own.counts() && base.counts());
            let counts: BTreeSet<u64> = both
                .iter()
                .flat_map(|(own, _)| &own.bulk)
                .map(|load| load.rows)
                .collect();
            for rows in counts {
                let ys: Vec<f64> = both
                    .iter()
                    .filter_map(|(own, base)| {
                        let (own, base) = (of_rows(own, rows)?, of_rows(base, rows)?);
                        stats::log_ratio(seconds(own), seconds(base), Orientation::LowerIsBetter)
                    })
                    .collect();
                if ys.is_empty() {
                    continue;
                }
                let interval = stats::ratio_interval(&ys, CONFIDENCE);
                found.push(BulkRatio {
                    phase: phase.name.clone(),
                    rows,
                    stack: stack.name.clone(),
                    base: base.into(),
                    ratio: stats::mean(&ys).exp(),
                    low: finite(interval.map(|found| found.low)),
                    high: finite(interval.map(|found| found.high)),
                    n: ys.len() as u32,
                });
            }
        }
    }
    found
}
