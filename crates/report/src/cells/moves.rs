//! Phases that move data: what a copy carried between two stacks, and what a rebalance moved inside one while work
//! went on.
//!
//! Takes the runs of one stack in one phase, gives figures and the lines that say them. Prevents: a copy whose reads
//! at the target go unseen (a file system that reads before it overwrites), and a rebalance praised for a speed that
//! the work beside it paid for.

use crate::figures::{Figure, over};
use crate::history::{Runs, Seen};
use ledger::{Measure, Stamp};
use schemars::JsonSchema;
use serde::Serialize;

/// What the nearest devices of one side of a copy did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SideFigures {
    /// Reads.
    pub reads: Option<Figure>,
    /// Bytes read.
    pub read_bytes: Option<Figure>,
    /// Writes.
    pub writes: Option<Figure>,
    /// Bytes written.
    pub write_bytes: Option<Figure>,
}

/// A copy of the database to another stack.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CopyFigures {
    /// Bytes copied.
    pub bytes: Option<Figure>,
    /// Bytes per second, from the phase's total, drain included.
    pub bytes_per_s: Option<Figure>,
    /// Seconds until everything was durable on the target.
    pub seconds: Option<Figure>,
    /// Bytes read back and compared afterwards, outside the phase.
    pub verified_bytes: Option<Figure>,
    /// 1: it went over files that were there, 0: into new ones.
    pub over_existing: Option<Figure>,
    /// The source's devices; empty where both sides share them.
    pub source: SideFigures,
    /// The target's devices.
    pub target: SideFigures,
}

/// The work beside a rebalance in one window of time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Window {
    /// "before", "during" or "after".
    pub name: String,
    /// Seconds.
    pub seconds: Option<Figure>,
    /// Operations per second. Their latencies stand among the cell's, by class and window.
    pub operations_per_s: Option<Figure>,
}

/// A rebalance of a disk group or a volume.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RebalanceFigures {
    /// Bytes of extents moved.
    pub moved_bytes: Option<Figure>,
    /// Bytes that had to move.
    pub ideal_bytes: Option<Figure>,
    /// Moved over ideal.
    pub moved_per_ideal: Option<Figure>,
    /// Seconds from asking for it to the last extent.
    pub seconds: Option<Figure>,
    /// I/Os that it was allowed to have in flight; empty: it paces itself.
    pub power: Option<Figure>,
    /// The work before, during and after it.
    pub windows: Vec<Window>,
}

impl CopyFigures {
    pub(crate) fn of(runs: &[&Seen]) -> Option<CopyFigures> {
        let bytes = runs.measured(Measure::CopyBytes)?;
        Some(CopyFigures {
            bytes: Some(bytes),
            bytes_per_s: runs.figure(|run| over(run.get(Measure::CopyBytes), Some(run.total_s()))),
            seconds: runs.figure(|run| run.get(Measure::CopyNs).map(|ns| ns / 1e9)),
            verified_bytes: runs.measured(Measure::CopyVerifiedBytes),
            over_existing: runs.measured(Measure::CopyOverExisting),
            source: SideFigures {
                reads: runs.measured(Measure::CopyFromReads),
                read_bytes: runs.measured(Measure::CopyFromReadBytes),
                writes: runs.measured(Measure::CopyFromWrites),
                write_bytes: runs.measured(Measure::CopyFromWriteBytes),
            },
            target: SideFigures {
                reads: runs.measured(Measure::CopyToReads),
                read_bytes: runs.measured(Measure::CopyToReadBytes),
                writes: runs.measured(Measure::CopyToWrites),
                write_bytes: runs.measured(Measure::CopyToWriteBytes),
            },
        })
    }
}

/// Windows of a rebalance in the order of time; a class of operation ends with the name of its window.
pub(crate) const WINDOWS: [(&str, Measure); 3] = [
    ("before", Measure::RebalanceBeforeNs),
    ("during", Measure::RebalanceDuringNs),
    ("after", Measure::RebalanceAfterNs),
];

impl RebalanceFigures {
    pub(crate) fn of(runs: &[&Seen]) -> Option<RebalanceFigures> {
        runs.measured(Measure::RebalanceNs)?;
        Some(RebalanceFigures {
            moved_bytes: runs.measured(Measure::RebalanceMovedBytes),
            ideal_bytes: runs.measured(Measure::RebalanceIdealBytes),
            moved_per_ideal: runs.figure(|run| {
                over(
                    run.get(Measure::RebalanceMovedBytes),
                    run.get(Measure::RebalanceIdealBytes),
                )
            }),
            seconds: runs.figure(|run| run.get(Measure::RebalanceNs).map(|ns| ns / 1e9)),
            power: runs.measured(Measure::RebalancePower),
            windows: WINDOWS.iter().map(|window| Window::of(window, runs)).collect(),
        })
    }
}

impl Window {
    fn of((name, measure): &(&str, Measure), runs: &[&Seen]) -> Window {
        let seconds = |run: &Seen| run.get(*measure).map(|ns| ns / 1e9);
        Window {
            name: (*name).into(),
            seconds: runs.figure(seconds),
            operations_per_s: runs.figure(|run| over(Some(operations_in(run, name)), seconds(run))),
        }
    }
}

/// Whether a class is that of operations in this window.
pub(crate) fn is_in(class: &str, window: &str) -> bool {
    class.rsplit(' ').next() == Some(window)
}

/// Operations whose class says that they ended in this window.
fn operations_in(run: &Seen, window: &str) -> f64 {
    let rows = run.of_stamp(Stamp::Service);
    rows.filter(|row| is_in(&row.class, window))
        .map(|row| row.count as f64)
        .sum()
}
