//! What a kind of phase is to a report: one row each.
//!
//! Takes the committed kind of a phase, gives its [`KindRow`]. Prevents: a kind of phase that one part of the report
//! takes for another kind than the next part does, and one that a part forgot.

use crate::cells::counts::NEW_ORDER;
use crate::cells::metric::Metric;
use ledger::{PhaseKind, Stamp};
use serde::Serializer;

/// What the report has to know of a kind.
#[derive(Clone, Copy)]
pub(crate) struct KindRow {
    /// Its primary metric.
    pub(crate) metric: Metric,
    /// The latency that matters: response where work falls due on a schedule, service where the next operation waits
    /// for the last.
    pub(crate) stamp: Stamp,
    /// The class whose latency that is, where it is not that of all classes together.
    pub(crate) of_class: Option<&'static str>,
    /// SLOB's random work.
    pub(crate) is_random: bool,
    /// Its work falls due on a schedule, however the device is.
    pub(crate) is_open: bool,
    /// It has a rate that a device, and no schedule, decides: on a schedule as much ends as fell due, until the device
    /// cannot keep up; then *open arrival* says so.
    pub(crate) has_own_rate: bool,
    /// Its pages are written by checkpoints, of which it must have seen some.
    pub(crate) has_checkpoints: bool,
    /// It touches pages that a cache could hold.
    pub(crate) has_working_set: bool,
    /// Its work has windows of unlike speed on purpose.
    pub(crate) has_windows: bool,
    /// What it serves is storage and memory together: what a cache served counts.
    pub(crate) is_with_memory: bool,
    /// It counts its work in bytes, where it counted any.
    pub(crate) is_in_bytes: bool,
    /// It reads the data files from end to end.
    pub(crate) is_scan: bool,
    /// It may leave the data otherwise than it found them.
    pub(crate) may_write: bool,
    /// The setting of a phase that is 0 where such a phase only reads, if there is one.
    pub(crate) writes_by: Option<&'static str>,
    /// What ends its work, again and again, to see what of it is kept.
    pub(crate) ended_by: Option<EndedBy>,
}

/// What ends work whose durability is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// The LUNs lose their power.
    PowerCut,
    /// The engine is killed, on devices that keep their power.
    Kill,
}

/// Work that is measured by its time.
const TIMED: KindRow = KindRow {
    metric: Metric::ElapsedSeconds,
    stamp: Stamp::Service,
    of_class: None,
    is_random: false,
    is_open: false,
    has_own_rate: false,
    has_checkpoints: false,
    has_working_set: true,
    has_windows: false,
    is_with_memory: false,
    is_in_bytes: false,
    is_scan: false,
    may_write: true,
    writes_by: None,
    ended_by: None,
};

/// Questions, which read: only refresh functions after them write.
const QUESTIONS: KindRow = KindRow {
    writes_by: Some("refresh"),
    ..TIMED
};

/// What updates of random work are called in a study.
const UPDATES: Option<&str> = Some("update_pct");

/// Work on a schedule.
const OPEN: KindRow = KindRow {
    metric: Metric::ResponseNsP99,
    stamp: Stamp::Response,
    is_open: true,
    ..TIMED
};

/// Single pages, as fast as they go.
const RANDOM: KindRow = KindRow {
    metric: Metric::OperationsPerSecond,
    is_random: true,
    has_own_rate: true,
    has_checkpoints: true,
    writes_by: UPDATES,
    ..TIMED
};

/// The row of a kind.
pub(crate) const fn kind_row(kind: PhaseKind) -> KindRow {
    match kind {
        PhaseKind::Load => KindRow {
            has_working_set: false,
            ..TIMED
        },
        PhaseKind::Random => RANDOM,
        PhaseKind::Open => KindRow {
            is_random: true,
            writes_by: UPDATES,
            has_checkpoints: true,
            ..OPEN
        },
        PhaseKind::Scan => KindRow {
            metric: Metric::BytesPerSecond,
            is_in_bytes: true,
            is_scan: true,
            may_write: false,
            ..TIMED
        },
        PhaseKind::Age => KindRow {
            has_checkpoints: true,
            ..TIMED
        },
        PhaseKind::Redo => KindRow {
            metric: Metric::OperationsPerSecond,
            has_own_rate: true,
            has_working_set: false,
            ..TIMED
        },
        PhaseKind::Rebalance => KindRow {
            has_windows: true,
            ..TIMED
        },
        PhaseKind::Tpcc => KindRow {
            metric: Metric::NewOrdersPerMinute,
            has_own_rate: true,
            has_checkpoints: true,
            ..TIMED
        },
        PhaseKind::TpccOpen => KindRow {
            of_class: Some(NEW_ORDER),
            has_checkpoints: true,
            ..OPEN
        },
        PhaseKind::Tpch => KindRow {
            metric: Metric::GeometricMeanSeconds,
            ..QUESTIONS
        },
        PhaseKind::TpchTogether => QUESTIONS,
        PhaseKind::Files => KindRow {
            metric: Metric::OperationsPerSecondAtLimit,
            stamp: Stamp::Response,
            is_with_memory: true,
            ..TIMED
        },
        PhaseKind::PowerCut => KindRow {
            ended_by: Some(EndedBy::PowerCut),
            ..TIMED
        },
        PhaseKind::Kill => KindRow {
            ended_by: Some(EndedBy::Kill),
            ..TIMED
        },
        PhaseKind::Bulk | PhaseKind::Copy => TIMED,
    }
}

/// A kind as JSON has it.
pub(crate) fn kind_in_words<S: Serializer>(kind: &PhaseKind, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.as_str())
}

impl Metric {
    /// Of a kind of phase.
    pub(crate) fn of(kind: PhaseKind) -> Metric {
        kind_row(kind).metric
    }
}
