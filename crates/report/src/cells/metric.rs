//! The primary metric of a phase: what it counts, and which direction of it is good.
//!
//! Gives a [`Metric`]; `phase_kind` says which kind of phase has which, `value` what it is in a run. All rates are from
//! phase totals, drain included. Prevents: two places that take the same phase by two metrics.

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
}
