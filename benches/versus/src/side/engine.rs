//! The page engine on a database that the parent has loaded: random reads, updates, commits alone, scans.
//!
//! Each opens the database on the port that a study has, says `go`, drives its operations, and gives counts of the
//! engine's own over the time of the loop.

use super::port::StudyPort;
use super::{Figures, go};
use crate::database::{self, Database, Engine};
use crate::flags::Side;
use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use pages::{Counters, RandomOperation, RandomWork, RedoWork, ScanWork};
use workloads::{Outcome, Pacing};

/// Share of updates where reads and updates are mixed.
const MIXED_UPDATE_PCT: u32 = 50;
/// Redo of a commit that changes no page: with the head of its batch a block of 8 KiB, as the others write and flush.
const COMMIT_BYTES: u32 = 8192 - 48;

pub(crate) fn random_work(side: &Side, update_pct: u32) -> RandomWork {
    RandomWork {
        update_pct,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: side.sessions,
        work_unit: side.work_unit,
        work_loop: 0,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    }
}

/// By time, or after `ios` requests of all sessions together, in whole operations of each.
fn pacing(side: &Side) -> anyhow::Result<Pacing> {
    let mut pacing = Pacing::closed(side.sessions, (side.seconds * 1e9) as u64);
    if let Some(ios) = side.ios {
        pacing.stop.time_ns = None;
        let each = ios / (u64::from(side.sessions) * u64::from(side.work_unit));
        ensure!(
            each > 0,
            "{ios} requests are less than an operation of {} pages of each of {} sessions",
            side.work_unit,
            side.sessions
        );
        pacing.stop.operations_per_session = Some(each);
    }
    Ok(pacing)
}

/// Opens the database of this side.
pub(super) fn open(side: &Side) -> anyhow::Result<Engine> {
    let redo = side.redo.as_ref().context("a database has a redo log: give --redo")?;
    Database::there(side, redo)?.open(side.method)
}

pub(crate) fn reads(side: &Side) -> anyhow::Result<Figures> {
    reads_of(open(side)?, side)
}

/// Random reads through an engine, whatever it is on.
pub(super) fn reads_of(mut engine: Engine, side: &Side) -> anyhow::Result<Figures> {
    if side.unverified {
        engine.skip_verification();
    }
    let before = engine.counters();
    let mut operations = engine.random(&random_work(side, 0), side.seed)?;
    go()?;
    let outcome = together(&mut operations, side)?;
    drop(operations);
    let counts = engine.counters() - before;
    ensure!(
        side.unverified || counts.verified_pages == counts.physical_reads,
        "{counts:?}"
    );
    let mut figures = vec![
        ("iops", per_second(counts.physical_reads, &outcome)),
        ("requests", counts.physical_reads as f64),
        ("hit_pct", hit_pct(&counts)),
    ];
    // An operation of several pages has a latency of its own, which is not a read's.
    if side.work_unit == 1 {
        latencies(&outcome.classes[0].service, &mut figures);
    }
    Ok(figures)
}

/// Percent of the pages that were looked for and found in the cache, or on their way into it.
pub(super) fn hit_pct(counts: &Counters) -> f64 {
    100.0 * counts.cache_hits as f64 / counts.logical_reads.max(1) as f64
}

pub(crate) fn updates(side: &Side) -> anyhow::Result<Figures> {
    let mut engine = open(side)?;
    warm(&mut engine)?;
    let mut operations = engine.random(&random_work(side, 100), side.seed)?;
    let figures = committing(&mut operations[0], side, "update")?;
    drop(operations);
    engine.checkpoint()?;
    Ok(figures)
}

/// Commits that change no page: the redo log alone.
pub(crate) fn redo(side: &Side) -> anyhow::Result<Figures> {
    let mut engine = open(side)?;
    let work = RedoWork {
        sessions: side.sessions,
        bytes: COMMIT_BYTES,
    };
    let mut operations = engine.redo(&work, side.seed)?;
    let figures = committing(&mut operations[0], side, "commit")?;
    drop(operations);
    engine.checkpoint()?;
    Ok(figures)
}

/// Reads and updates of more pages than the cache has: a rate of pages, read and written home.
pub(crate) fn mixed(side: &Side) -> anyhow::Result<Figures> {
    let mut engine = open(side)?;
    let mut operations = engine.random(&random_work(side, MIXED_UPDATE_PCT), side.seed)?;
    let (counts, outcome) = driven(&mut operations[0], side)?;
    drop(operations);
    engine.checkpoint()?;
    let pages = counts.physical_reads + counts.pages_written;
    Ok(vec![
        ("iops", per_second(pages, &outcome)),
        ("reads_s", per_second(counts.physical_reads, &outcome)),
        ("writes_s", per_second(counts.pages_written, &outcome)),
        ("commits_s", per_second(counts.commits, &outcome)),
        ("redo_bytes", counts.redo_write_bytes as f64 / pages.max(1) as f64),
    ])
}

/// Drives the operation of the one worker, from `go` to the end of what it has under way; counts are those of the loop.
fn driven(operation: &mut RandomOperation<'_, StudyPort>, side: &Side) -> anyhow::Result<(Counters, Outcome)> {
    let before = operation.counters();
    go()?;
    let outcome = workloads::drive(operation, &pacing(side)?, side.seed)?;
    let counts = operation.counters() - before;
    operation.finish()?;
    Ok((counts, outcome))
}

/// The same of commits, with the latency of one class.
fn committing(operation: &mut RandomOperation<'_, StudyPort>, side: &Side, class: &str) -> anyhow::Result<Figures> {
    let (counts, outcome) = driven(operation, side)?;
    let mut figures = written(&counts, &outcome);
    let found = outcome.classes.iter().find(|found| found.name == class);
    latencies(&found.context("an engine has this class")?.service, &mut figures);
    Ok(figures)
}

fn written(counts: &Counters, outcome: &Outcome) -> Figures {
    let commits = counts.commits.max(1) as f64;
    vec![
        ("iops", per_second(counts.commits, outcome)),
        ("flushes_s", per_second(counts.redo_flushes, outcome)),
        ("commits_per_flush", commits / counts.redo_flushes.max(1) as f64),
        ("redo_bytes", counts.redo_write_bytes as f64 / commits),
        ("page_writes", counts.pages_written as f64 / commits),
        ("checkpoints", counts.checkpoints as f64),
    ]
}

/// Brings every page into the cache, so that an update waits for its redo and for nothing else.
fn warm(engine: &mut Engine) -> anyhow::Result<()> {
    let shape = *engine.shape();
    let mut page = Vec::new();
    for schema in 0..shape.schemas {
        for number in 0..shape.pages_per_schema {
            engine.read_page(schema, number, &mut page)?;
        }
    }
    Ok(())
}

pub(crate) fn scan(side: &Side) -> anyhow::Result<Figures> {
    let mut engine = open(side)?;
    if side.unverified {
        engine.skip_verification();
    }
    let work = ScanWork {
        users: database::SCHEMAS,
        degree: side.sessions,
        parallel: 1,
        passes: 0,
    };
    let before = engine.counters();
    let mut operations = engine.scan(&work, side.seed)?;
    go()?;
    let outcome = workloads::drive(&mut operations[0], &pacing(side)?, side.seed)?;
    drop(operations);
    let counts = engine.counters() - before;
    let pages = counts.multiblock_read_bytes / u64::from(engine.shape().page_bytes);
    ensure!(side.unverified || counts.verified_pages == pages, "{counts:?}");
    let mut figures = vec![
        ("iops", per_second(counts.multiblock_reads, &outcome)),
        ("mib_s", per_second(counts.multiblock_read_bytes, &outcome) / 1048576.0),
    ];
    latencies(&outcome.classes[0].service, &mut figures);
    Ok(figures)
}

pub(crate) fn per_second(count: u64, outcome: &Outcome) -> f64 {
    count as f64 * 1e9 / outcome.elapsed_ns.max(1) as f64
}

fn latencies(histogram: &Histogram<u64>, figures: &mut Figures) {
    for (key, share) in [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999)] {
        figures.push((key, histogram.value_at_quantile(share) as f64 / 1000.0));
    }
}

/// Drives all workers of a database, as a study does: one on this thread, several on a thread each.
pub(super) fn together(operations: &mut [RandomOperation<'_, StudyPort>], side: &Side) -> anyhow::Result<Outcome> {
    if let [only] = operations {
        return Ok(workloads::drive(only, &pacing(side)?, side.seed)?);
    }
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = operations
            .iter_mut()
            .map(|operation| scope.spawn(move || part(operation, side)))
            .collect();
        let joined = threads.into_iter();
        joined
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok(workloads::merge(outcomes))
}

/// One worker's part of the sessions and of the requests.
fn part(operation: &mut RandomOperation<'_, StudyPort>, side: &Side) -> anyhow::Result<Outcome> {
    let mut own = side.clone();
    own.sessions = operation.sessions();
    own.ios = side
        .ios
        .map(|ios| ios * u64::from(own.sessions) / u64::from(side.sessions));
    let outcome = workloads::drive(operation, &pacing(&own)?, side.seed)?;
    // On the thread that drove it: a ring belongs to one thread while it has I/O in flight.
    operation.finish()?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::side;
    use crate::flags::Work;
    use std::path::Path;

    #[test]
    fn requests_are_whole_operations_of_each_session() {
        let each = |work_unit: u32, ios: u64| {
            let of = Side {
                work_unit,
                ios: Some(ios),
                ..side(Work::Reads, Path::new("/x"))
            };
            pacing(&of).map(|pacing| pacing.stop.operations_per_session)
        };
        assert_eq!(each(1, 640).unwrap(), Some(10));
        assert_eq!(each(16, 2048).unwrap(), Some(2));
        let refused = each(16, 640).unwrap_err().to_string();
        assert!(refused.contains("less than an operation of 16 pages"), "{refused}");
    }
}
