//! Ratios of what is not tested: what an operation costs in processor time and device traffic, and its slow end.
//!
//! Takes the pairs that are ranked and the blocks that count, gives ratios with plain 95 % intervals. Prevents: a rate that
//! looks like the whole truth, and intervals of a dozen metrics read as a dozen verdicts.

use crate::analysis::DroppedBlock;
use crate::cells::latency::service_p99;
use crate::cells::provenance::{READS_ASKED, WRITES_ASKED};
use crate::cells::{Metric, operations};
use crate::figures::over;
use crate::history::{Book, Seen};
use crate::ranking::rank::Pair;
use ledger::{LedgerError, Measure, Stamp};
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
    /// Of what: "CPU per operation", "device bytes per operation", "p99 of select" ...
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

const CONFIDENCE: f64 = 0.95;

/// In the order of the pairs.
pub(crate) fn not_tested(book: &Book, pairs: &[Pair], dropped: &[DroppedBlock]) -> Result<Vec<NotTested>, LedgerError> {
    let mut found = Vec::new();
    for pair in pairs {
        let phase = pair.phase.name.as_str();
        let of = |block: u32, stack: &str| book.ran(block, stack).and_then(|ran| ran.phases.get(phase));
        let both: Vec<(&Seen, &Seen)> = (0..book.blocks())
            .filter(|block| !dropped.iter().any(|one| one.block == *block))
            .filter_map(|block| Some((of(block, &pair.stack)?, of(block, &pair.base)?)))
            .collect();
        for what in quantities(&both, Metric::of(pair.phase.kind)) {
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
}

/// Those that mean something for a phase of this metric.
fn quantities(both: &[(&Seen, &Seen)], metric: Metric) -> Vec<Quantity> {
    let mut found = match metric {
        Metric::OperationsPerSecond | Metric::NewOrdersPerMinute | Metric::ResponseNsP99 => {
            vec![Quantity::CpuPerOperation, Quantity::MovedPerOperation]
        }
        Metric::BytesPerSecond | Metric::ElapsedSeconds => vec![Quantity::CpuPerByteAsked, Quantity::MovedPerByteAsked],
    };
    let classes: BTreeSet<&str> = both
        .iter()
        .flat_map(|(stack, _)| &stack.histograms)
        .filter(|row| row.stamp == Stamp::Service)
        .map(|row| row.class.as_str())
        .collect();
    found.extend(classes.into_iter().map(|class| Quantity::ServiceP99(class.into())));
    found
}

impl Quantity {
    fn words(&self) -> String {
        match self {
            Quantity::CpuPerOperation => "CPU per operation".into(),
            Quantity::CpuPerByteAsked => "CPU per byte".into(),
            Quantity::MovedPerOperation => "device bytes per operation".into(),
            Quantity::MovedPerByteAsked => "device bytes per byte".into(),
            Quantity::ServiceP99(class) => format!("p99 of {class}"),
        }
    }

    fn value(&self, seen: &Seen) -> Result<Option<f64>, LedgerError> {
        let moved = seen.sum(&[Measure::LowReadBytes, Measure::LowWriteBytes]);
        let asked = seen.sum(&[&READS_ASKED[..], &WRITES_ASKED[..]].concat());
        let busy = seen.get(Measure::CpuBusyNs);
        Ok(match self {
            Quantity::CpuPerOperation => over(busy, operations(seen)),
            Quantity::CpuPerByteAsked => over(busy, asked),
            Quantity::MovedPerOperation => over(moved, operations(seen)),
            Quantity::MovedPerByteAsked => over(moved, asked),
            Quantity::ServiceP99(class) => service_p99(seen, class)?,
        })
    }
}
