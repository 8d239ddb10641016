//! What each of several instances of the page engine did in a phase.
//!
//! Takes the runs of one stack in one phase, gives figures for each instance. Prevents: a sum that hides an instance
//! which got less than its share.

use crate::figures::{Figure, over};
use crate::history::{Runs, Seen};
use ledger::InstanceRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// No study has more (room `plan` refuses it).
const INSTANCES_MAX: usize = 64;

/// One instance.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InstanceFigures {
    /// Its number; 1 is the run's own process.
    pub instance: u32,
    /// Its sessions.
    pub sessions: Option<Figure>,
    /// Operations per second of its own time, without the drain.
    pub operations_per_s: Option<Figure>,
    /// Its share of the operations of all instances.
    pub share: Option<Figure>,
    /// 99 % of its operations were faster, in nanoseconds.
    pub service_ns_p99: Option<Figure>,
    /// Share of its page accesses that its buffer cache served.
    pub cache_hit_share: Option<Figure>,
    /// Commits per second.
    pub commits_per_s: Option<Figure>,
    /// Bytes per second to its redo log.
    pub redo_bytes_per_s: Option<Figure>,
    /// Processor time of its process per operation, in microseconds.
    pub cpu_us_per_operation: Option<Figure>,
    /// Memory of its process at its highest, in bytes.
    pub memory_bytes_peak: Option<Figure>,
}

/// Those of one stack in one phase, by number; nothing where one instance does all.
pub(crate) fn instances(runs: &[&Seen]) -> Vec<InstanceFigures> {
    let numbers: BTreeSet<u32> = runs
        .iter()
        .flat_map(|run| &run.instances)
        .map(|row| row.instance)
        .collect();
    let numbers = numbers.into_iter().take(INSTANCES_MAX);
    numbers.map(|number| of(number, runs)).collect()
}

fn of(number: u32, runs: &[&Seen]) -> InstanceFigures {
    let row = |run: &Seen| run.instances.iter().find(|row| row.instance == number).copied();
    let figure = |value: fn(&InstanceRow) -> Option<f64>| runs.figure(|run| value(&row(run)?));
    let all = |run: &Seen| run.instances.iter().map(|row| row.operations as f64).sum::<f64>();
    InstanceFigures {
        instance: number,
        sessions: figure(|row| Some(row.sessions.into())),
        operations_per_s: figure(|row| over(Some(row.operations as f64), Some(seconds(row)))),
        share: runs.figure(|run| over(row(run).map(|row| row.operations as f64), Some(all(run)))),
        service_ns_p99: figure(|row| Some(row.service_ns_p99 as f64)),
        cache_hit_share: figure(|row| over(Some(row.cache_hits as f64), Some(row.logical_reads as f64))),
        commits_per_s: figure(|row| over(Some(row.commits as f64), Some(seconds(row)))),
        redo_bytes_per_s: figure(|row| over(Some(row.redo_bytes as f64), Some(seconds(row)))),
        cpu_us_per_operation: figure(|row| over(Some(row.cpu_ns as f64 / 1e3), Some(row.operations as f64))),
        // 0: not known.
        memory_bytes_peak: figure(|row| Some(row.memory_bytes_peak as f64).filter(|bytes| *bytes > 0.0)),
    }
}

fn seconds(row: &InstanceRow) -> f64 {
    row.elapsed_ns as f64 / 1e9
}
