//! Phases that move data: what a copy carried between two stacks, and what a rebalance moved inside one while work went on.
//!
//! Takes the runs of one stack in one phase, gives figures and the lines that say them. Prevents: a copy whose reads at the
//! target go unseen (a file system that reads before it overwrites), and a rebalance praised for a speed that the work beside
//! it paid for.

use crate::cells::Cell;
use crate::figures::{Figure, over};
use crate::history::Seen;
use crate::words::format::{bytes, nanoseconds, number};
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

/// A rebalance of a disk group.
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
    /// I/Os that it was allowed to have in flight.
    pub power: Option<Figure>,
    /// The work before, during and after it.
    pub windows: Vec<Window>,
}

type Over<'a> = &'a dyn Fn(&dyn Fn(&Seen) -> Option<f64>) -> Option<Figure>;

impl CopyFigures {
    pub(crate) fn of(runs: &[&Seen]) -> Option<CopyFigures> {
        let figure = |value: &dyn Fn(&Seen) -> Option<f64>| Figure::of(runs.iter().map(|run| value(run)));
        let plain = |measure: Measure| figure(&|run| run.get(measure));
        let bytes = plain(Measure::CopyBytes)?;
        Some(CopyFigures {
            bytes: Some(bytes),
            bytes_per_s: figure(&|run| over(run.get(Measure::CopyBytes), Some(run.total_s()))),
            seconds: figure(&|run| run.get(Measure::CopyNs).map(|ns| ns / 1e9)),
            verified_bytes: plain(Measure::CopyVerifiedBytes),
            over_existing: plain(Measure::CopyOverExisting),
            source: SideFigures {
                reads: plain(Measure::CopyFromReads),
                read_bytes: plain(Measure::CopyFromReadBytes),
                writes: plain(Measure::CopyFromWrites),
                write_bytes: plain(Measure::CopyFromWriteBytes),
            },
            target: SideFigures {
                reads: plain(Measure::CopyToReads),
                read_bytes: plain(Measure::CopyToReadBytes),
                writes: plain(Measure::CopyToWrites),
                write_bytes: plain(Measure::CopyToWriteBytes),
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
        let figure = |value: &dyn Fn(&Seen) -> Option<f64>| Figure::of(runs.iter().map(|run| value(run)));
        let plain = |measure: Measure| figure(&|run| run.get(measure));
        plain(Measure::RebalanceNs)?;
        Some(RebalanceFigures {
            moved_bytes: plain(Measure::RebalanceMovedBytes),
            ideal_bytes: plain(Measure::RebalanceIdealBytes),
            moved_per_ideal: figure(&|run| {
                over(
                    run.get(Measure::RebalanceMovedBytes),
                    run.get(Measure::RebalanceIdealBytes),
                )
            }),
            seconds: figure(&|run| run.get(Measure::RebalanceNs).map(|ns| ns / 1e9)),
            power: plain(Measure::RebalancePower),
            windows: WINDOWS.iter().map(|window| Window::of(window, &figure)).collect(),
        })
    }
}

impl Window {
    fn of((name, measure): &(&str, Measure), figure: Over<'_>) -> Window {
        let seconds = |run: &Seen| run.get(*measure).map(|ns| ns / 1e9);
        Window {
            name: (*name).into(),
            seconds: figure(&seconds),
            operations_per_s: figure(&|run| over(Some(operations_in(run, name)), seconds(run))),
        }
    }
}

/// Operations whose class says that they ended in this window.
fn operations_in(run: &Seen, window: &str) -> f64 {
    let rows = run.histograms.iter().filter(|row| row.stamp == Stamp::Service);
    let mine = rows.filter(|row| row.class.rsplit(' ').next() == Some(window));
    mine.map(|row| row.count as f64).sum()
}

/// What a cell has to say of moving data, a line each.
pub(crate) fn lines(cell: &Cell) -> Vec<String> {
    let copied = cell.copy.as_ref().and_then(|copy| copied(cell, copy));
    let moved = cell.rebalance.as_ref().and_then(|rebalance| moved(cell, rebalance));
    copied.into_iter().chain(moved).collect()
}

fn copied(cell: &Cell, copy: &CopyFigures) -> Option<String> {
    let over = match copy.over_existing.map(|code| code.median) {
        Some(code) if code >= 0.5 => ", over what was there",
        Some(_) => ", into new files",
        None => "",
    };
    let mut line = format!(
        "{}: {} copied at {} MB/s{over}",
        cell.stack,
        bytes(copy.bytes?.median),
        number(copy.bytes_per_s?.median / 1e6)
    );
    for (name, side) in [("source", copy.source), ("target", copy.target)] {
        if let (Some(read), Some(written)) = (side.read_bytes, side.write_bytes) {
            line.push_str(&format!(
                "; {name}'s devices: {} read, {} written",
                bytes(read.median),
                bytes(written.median)
            ));
        }
    }
    line.push_str(&match copy.verified_bytes {
        Some(verified) => format!("; {} read back and found the same", bytes(verified.median)),
        None => "; not read back".to_string(),
    });
    Some(line)
}

fn moved(cell: &Cell, rebalance: &RebalanceFigures) -> Option<String> {
    let mut line = format!(
        "{}: {} moved in {} at power {}",
        cell.stack,
        bytes(rebalance.moved_bytes?.median),
        nanoseconds(rebalance.seconds?.median * 1e9),
        format_args!("{:.0}", rebalance.power?.median)
    );
    if let (Some(ideal), Some(share)) = (rebalance.ideal_bytes, rebalance.moved_per_ideal) {
        line.push_str(&format!(
            ", {} times the ideal of {}",
            number(share.median),
            bytes(ideal.median)
        ));
    }
    for window in &rebalance.windows {
        let p99: Vec<String> = cell
            .latency
            .iter()
            .filter_map(|latency| {
                Some((
                    latency.class.strip_suffix(&format!(" {}", window.name))?,
                    latency.p99_ns?,
                ))
            })
            .map(|(class, figure)| format!("{class} p99 {}", nanoseconds(figure.median)))
            .collect();
        if let Some(rate) = window.operations_per_s {
            line.push_str(&format!("; {}: {} op/s", window.name, number(rate.median)));
            if !p99.is_empty() {
                line.push_str(&format!(", {}", p99.join(", ")));
            }
        }
    }
    Some(line)
}
