//! The primary metric of a phase: what it counts, which direction of it is good, and its value in a run.
//!
//! Gives a [`Metric`]; `phase_kind` says which kind of phase has which. All rates are from phase totals, drain
//! included. Prevents: two places that take the same phase by two metrics.

use super::latency::response_p99;
use super::questions;
use crate::figures::over;
use crate::history::Seen;
use ledger::LedgerError;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Orientation;

/// The primary metric of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Operations per second, from totals including drain. Closed random phases.
    OperationsPerSecond,
    /// Bytes scanned per second, from totals including drain. Scans.
    BytesPerSecond,
    /// New orders committed per minute, from totals including drain. Order entry.
    NewOrdersPerMinute,
    /// Operations per second at the limit of response, between two points of a ramp. File serving.
    OperationsPerSecondAtLimit,
    /// 99th percentile of response in nanoseconds. Open phases; of order entry that of new orders.
    ResponseNsP99,
    /// Geometric mean of the times of all questions, seconds. Decision support of one user.
    GeometricMeanSeconds,
    /// Seconds from begin to idle devices. All others.
    ElapsedSeconds,
}

impl Metric {
    pub(crate) fn orientation(self) -> Orientation {
        match self {
            Metric::OperationsPerSecond
            | Metric::OperationsPerSecondAtLimit
            | Metric::BytesPerSecond
            | Metric::NewOrdersPerMinute => Orientation::HigherIsBetter,
            Metric::ResponseNsP99 | Metric::GeometricMeanSeconds | Metric::ElapsedSeconds => Orientation::LowerIsBetter,
        }
    }

    /// What a ratio of it is a ratio of, in words.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Metric::OperationsPerSecond | Metric::BytesPerSecond | Metric::NewOrdersPerMinute => "rate",
            Metric::OperationsPerSecondAtLimit => "rate at the limit of response",
            Metric::ResponseNsP99 => "speed at p99 of response",
            Metric::GeometricMeanSeconds => "speed of its questions",
            Metric::ElapsedSeconds => "speed",
        }
    }

    /// Value of one run.
    pub(crate) fn value(self, seen: &Seen) -> Result<Option<f64>, LedgerError> {
        let per_second = |amount: Option<f64>| over(amount, Some(seen.total_s()));
        Ok(match self {
            Metric::OperationsPerSecond => per_second(seen.operations()),
            Metric::BytesPerSecond => per_second(seen.scanned_bytes()),
            Metric::NewOrdersPerMinute => per_second(seen.new_orders()).map(|rate| rate * 60.0),
            Metric::OperationsPerSecondAtLimit => seen.rate_at_limit()?,
            Metric::ResponseNsP99 => response_p99(seen)?,
            Metric::GeometricMeanSeconds => seen.questions.as_ref().and_then(questions::geometric_mean_s),
            Metric::ElapsedSeconds => Some(seen.total_s()),
        })
    }
}
