//! The page engine on a database that the parent has loaded: random reads, updates, scans.
//!
//! Each opens the database, says `go`, drives one operation on one worker, and gives counts of the engine's own over
//! the time of the loop.

use super::{Figures, go};
use crate::database::{self, Database};
use crate::flags::{Method, Side};
use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use pages::{Counters, Instance, RandomWork, ScanWork};
use targets::{Port, PsyncPort, UringPort};
use workloads::{Operation, Outcome, Pacing};

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

/// By time, or after `ios` requests of all sessions together.
fn pacing(side: &Side) -> Pacing {
    let mut pacing = Pacing::closed(side.sessions, (side.seconds * 1e9) as u64);
    if let Some(ios) = side.ios {
        pacing.stop.time_ns = None;
        pacing.stop.operations_per_session = Some(ios / u64::from(side.sessions * side.work_unit));
    }
    pacing
}

/// Opens the database of this side.
fn database(side: &Side) -> anyhow::Result<Database> {
    let redo = side.redo.as_ref().context("a database has a redo log: give --redo")?;
    Database::there(side, redo)
}

pub(crate) fn reads(side: &Side) -> anyhow::Result<Figures> {
    let database = database(side)?;
    match side.method {
        Method::Ring => reads_of(database.open(UringPort::open)?, side),
        Method::Pread => reads_of(database.open(PsyncPort::open)?, side),
    }
}

fn reads_of<P: Port>(mut instance: Instance<P>, side: &Side) -> anyhow::Result<Figures> {
    if side.unverified {
        instance.skip_verification();
    }
    let before = instance.counters();
    let mut operations = instance.random(&random_work(side, 0), side.seed)?;
    go()?;
    let outcome = workloads::drive(&mut operations[0], &pacing(side), side.seed)?;
    drop(operations);
    let counts = instance.counters() - before;
    ensure!(
        side.unverified || counts.verified_pages == counts.physical_reads,
        "{counts:?}"
    );
    let mut figures = vec![
        ("iops", per_second(counts.physical_reads, &outcome)),
        ("requests", counts.physical_reads as f64),
        (
            "hit_share",
            counts.cache_hits as f64 / counts.logical_reads.max(1) as f64,
        ),
    ];
    // An operation of several pages has a latency of its own, which is not a read's.
    if side.work_unit == 1 {
        latencies(&outcome.classes[0].service, &mut figures);
    }
    Ok(figures)
}

pub(crate) fn updates(side: &Side) -> anyhow::Result<Figures> {
    let database = database(side)?;
    match side.method {
        Method::Ring => updates_of(database.open(UringPort::open)?, side),
        Method::Pread => updates_of(database.open(PsyncPort::open)?, side),
    }
}

fn updates_of<P: Port>(mut instance: Instance<P>, side: &Side) -> anyhow::Result<Figures> {
    warm(&mut instance)?;
    let before = instance.counters();
    let mut operations = instance.random(&random_work(side, 100), side.seed)?;
    let operation = &mut operations[0];
    go()?;
    let outcome = workloads::drive(operation, &pacing(side), side.seed)?;
    let counts = operation.counters() - before;
    operation.finish()?;
    drop(operations);
    instance.checkpoint()?;
    let mut figures = written(&counts, &outcome);
    let updates = outcome.classes.iter().find(|class| class.name == "update");
    latencies(&updates.context("an engine has updates")?.service, &mut figures);
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
fn warm<P: Port>(instance: &mut Instance<P>) -> anyhow::Result<()> {
    let shape = *instance.shape();
    let mut page = Vec::new();
    for schema in 0..shape.schemas {
        for number in 0..shape.pages_per_schema {
            instance.read_page(schema, number, &mut page)?;
        }
    }
    Ok(())
}

pub(crate) fn scan(side: &Side) -> anyhow::Result<Figures> {
    let database = database(side)?;
    match side.method {
        Method::Ring => scan_of(database.open(UringPort::open)?, side),
        Method::Pread => scan_of(database.open(PsyncPort::open)?, side),
    }
}

fn scan_of<P: Port>(mut instance: Instance<P>, side: &Side) -> anyhow::Result<Figures> {
    if side.unverified {
        instance.skip_verification();
    }
    let work = ScanWork {
        users: database::SCHEMAS,
        degree: side.sessions,
        parallel: 1,
        passes: 0,
    };
    let before = instance.counters();
    let mut operations = instance.scan(&work, side.seed)?;
    go()?;
    let outcome = workloads::drive(&mut operations[0], &pacing(side), side.seed)?;
    drop(operations);
    let counts = instance.counters() - before;
    let pages = counts.multiblock_read_bytes / u64::from(instance.shape().page_bytes);
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

/// Drives one operation for as long as the side says; for those that bring their own threads.
pub(crate) fn drive<O: Operation>(operation: &mut O, sessions: u32, side: &Side) -> Result<Outcome, O::Error> {
    let mut own = side.clone();
    own.sessions = sessions;
    workloads::drive(operation, &pacing(&own), side.seed)
}
