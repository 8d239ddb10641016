//! A fixed amount of work on files in memory, to be run under a counter of instructions: `counted WORK AMOUNT`.
//!
//! Prints how many operations it did; the difference of two amounts leaves set-up out. One worker, one thread, fixed
//! seeds, and a clock that counts its own calls, so that a run does the same each time. Prevents a hot path that grows
//! unnoticed.
#![allow(clippy::print_stdout, reason = "an example prints what it did")]

use pages::{Files, Instance, RandomWork, ScanWork, Settings, Shape, TornPages};
use std::cell::Cell;
use std::error::Error;
use targets::{
    BasePort, FaultPort, FileId, Nanos, NullPort, Port, StoredPort, TargetError, Until, UringPort, measure_reads,
};
use workloads::{Pacing, Stop};

const PAGE: u32 = 8192;
const SCHEMAS: u32 = 4;
const PAGES_PER_SCHEMA: u32 = 512;
const SESSIONS: u32 = 64;
/// SLOB's work unit is 64 pages by default; a smaller one shows what an operation adds to its pages.
const WORK_UNIT: u32 = 16;
const CACHE_OF_ALL: u64 = 32 << 20;
/// An eighth of the data: seven reads of eight are physical.
const CACHE_OF_SOME: u64 = 2 << 20;
/// Filled before the work begins, which under a counter takes most of the time: no larger than the work needs.
const REDO_OF_READS: u64 = 8 << 20;
/// All whole pages and all changes: no checkpoint comes by a full log.
const REDO_OF_UPDATES: u64 = 64 << 20;
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, work, amount] = args.as_slice() else {
        return Err("counted null|cached|read|update|scan|one-of-null|one-of-read|one-of-cached AMOUNT".into());
    };
    let amount: u64 = amount.parse()?;
    let done = match work.as_str() {
        "null" => null(amount)?,
        "cached" => random(stored, CACHE_OF_ALL, 0, amount)?,
        "read" => random(stored, CACHE_OF_SOME, 0, amount)?,
        "update" => random(stored, CACHE_OF_ALL, 100, amount)?,
        "scan" => scan(amount)?,
        "one-of-null" => one_of_null(amount)?,
        "one-of-read" => random(one_of, CACHE_OF_SOME, 0, amount)?,
        "one-of-cached" => random(one_of, CACHE_OF_ALL, 0, amount)?,
        other => return Err(format!("no work named {other}").into()),
    };
    println!("{done}");
    Ok(())
}

/// A clock that goes on by one at each look: it costs nothing worth counting, and no run differs from another.
fn looks() -> impl Fn() -> Nanos {
    let looks = Cell::new(0);
    move || {
        looks.set(looks.get() + 1);
        looks.get()
    }
}

targets::one_of_ports! {
    /// As many ports as a study has, one of which is used: what it costs that a run's port is known when it runs.
    #[allow(clippy::large_enum_variant, reason = "as the ports of studies, which are not boxed")]
    enum OneOf<C: Fn() -> Nanos> {
        /// Moves nothing.
        Null(NullPort<C>),
        /// Files in memory.
        Stored(StoredPort<C>),
        /// By a ring, with faults over it.
        FaultyRing(FaultPort<UringPort>),
        /// One of those of this machine.
        Base(BasePort),
    }
}

/// Depth and memory of the bare loop.
const NULL_DEPTH: usize = SESSIONS as usize;
const NULL_MEMORY: u64 = NULL_DEPTH as u64 * PAGE as u64;

/// On a target that moves nothing.
fn null(looks_max: u64) -> Result<u64, Box<dyn Error>> {
    let mut port = NullPort::with_clock(&[1 << 30], NULL_MEMORY, NULL_DEPTH, looks())?;
    bare(&mut port, looks_max)
}

/// The same as one of several ports.
fn one_of_null(looks_max: u64) -> Result<u64, Box<dyn Error>> {
    let null = NullPort::with_clock(&[1 << 30], NULL_MEMORY, NULL_DEPTH, looks())?;
    bare(&mut OneOf::Null(null), looks_max)
}

/// The bare loop at depth 64, until the clock was looked at so many times. Gives reads.
fn bare(port: &mut impl Port, looks_max: u64) -> Result<u64, Box<dyn Error>> {
    let found = measure_reads(port, PAGE, NULL_DEPTH, Until::Seconds(looks_max as f64 / 1e9), SEED)?;
    Ok(found.ios)
}

/// Files in memory of these sizes.
fn stored(sizes: &[u64], memory: u64, depth: usize) -> Result<StoredPort<impl Fn() -> Nanos + use<>>, TargetError> {
    StoredPort::open(sizes, memory, depth, looks())
}

/// The same as one of several ports.
fn one_of(sizes: &[u64], memory: u64, depth: usize) -> Result<OneOf<impl Fn() -> Nanos + use<>>, TargetError> {
    stored(sizes, memory, depth).map(OneOf::Stored)
}

/// How a port on files of these sizes is opened, with so much memory and depth.
type Open<P> = fn(&[u64], u64, usize) -> Result<P, TargetError>;

/// A database of 16 MiB.
fn database<P: Port + Send>(open: Open<P>, cache_bytes: u64, redo_bytes: u64) -> Result<Instance<P>, Box<dyn Error>> {
    let shape = Shape {
        page_bytes: PAGE,
        schemas: SCHEMAS,
        pages_per_schema: PAGES_PER_SCHEMA,
        seed: SEED,
        compressibility: 1.0,
        duplication: 0.0,
    };
    let settings = Settings {
        cache_bytes,
        multiblock_read: 16,
        torn_pages: TornPages::Log,
        // The clock only counts: no checkpoint comes by time.
        checkpoint_ns: Nanos::MAX / 4,
        writers: 16,
        redo_bytes,
        workers: 1,
    };
    let files = Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    };
    let sizes = [
        pages::data_file_bytes(&shape, &settings, 1)[0],
        pages::redo_file_bytes(&settings),
    ];
    let depth = pages::depth(&settings, 1, SESSIONS, 1);
    let port = open(&sizes, pages::memory_bytes(&shape, &settings), depth)?;
    Ok(Instance::create(
        vec![port],
        &files,
        shape,
        settings,
        &mut pages::unheard,
    )?)
}

/// Selects or updates of so many pages. Gives pages touched; for physical reads, those that were read.
fn random<P: Port + Send>(open: Open<P>, cache_bytes: u64, update_pct: u32, pages: u64) -> Result<u64, Box<dyn Error>> {
    let redo_bytes = if update_pct == 0 {
        REDO_OF_READS
    } else {
        REDO_OF_UPDATES
    };
    let mut instance = database(open, cache_bytes, redo_bytes)?;
    let all_fit = cache_bytes == CACHE_OF_ALL;
    if all_fit {
        let mut page = Vec::new();
        for schema in 0..SCHEMAS {
            for number in 0..PAGES_PER_SCHEMA {
                instance.read_page(schema, number, &mut page)?;
            }
        }
    }
    let work = RandomWork {
        update_pct,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: SESSIONS,
        work_unit: WORK_UNIT,
        work_loop: 0,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    let before = instance.counters();
    let mut operations = instance.random(&work, SEED)?;
    let outcome = workloads::drive(
        &mut operations[0],
        &pacing(pages / u64::from(SESSIONS * WORK_UNIT)),
        SEED,
    )?;
    drop(operations);
    let counts = instance.counters() - before;
    if counts.checkpoints > 0 || (all_fit && counts.physical_reads > 0) {
        return Err(format!("not the same work throughout: {counts:?}").into());
    }
    Ok(if all_fit {
        outcome.units()
    } else {
        counts.physical_reads
    })
}

/// Scans of all schemas, so many times. Gives pages.
fn scan(passes: u64) -> Result<u64, Box<dyn Error>> {
    let mut instance = database(stored, CACHE_OF_SOME, REDO_OF_READS)?;
    let work = ScanWork {
        users: SCHEMAS,
        degree: 8,
        parallel: 1,
        passes: passes as u32,
    };
    let before = instance.counters();
    let mut operations = instance.scan(&work, SEED)?;
    let mut pacing = pacing(0);
    pacing.sessions = operations[0].sessions();
    pacing.stop = Stop::default();
    workloads::drive(&mut operations[0], &pacing, SEED)?;
    drop(operations);
    Ok((instance.counters() - before).verified_pages)
}

fn pacing(operations_per_session: u64) -> Pacing {
    let mut pacing = Pacing::closed(SESSIONS, 0);
    pacing.stop = Stop {
        time_ns: None,
        operations_per_session: Some(operations_per_session),
    };
    pacing
}
