//! `laboratory schedules DIR`: which schedule resolves most per minute here, whole runs or stints in turns.
//!
//! Two equal places in DIR are loaded and read at random, in stints of a quarter of a second in mirrored pairs, with a
//! pair of whole runs after every few blocks. The record of the stints is then dealt out again under each schedule
//! ([`dealing::dealt`]), so that all of them are held against the same seconds; the whole runs show what a start costs.
//!
//! Prevents: a default that was believed because it sounds right.

mod dealing;
mod found;

use crate::flags;
use crate::outcome::{Failure, print, print_json};
use anyhow::{Context, bail};
use dealing::{Dealing, Piece};
use found::Found;
use pages::{Files, Instance, RandomWork, Settings, Shape, TornPages};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use targets::{Access, FileId, OpenSpec, Port, PsyncPort, UringPort};
use workloads::{Outcome, Pacing};

/// Longest and shortest run of one place in a block, seconds.
const RUN_SECONDS_MAX: f64 = 10.0;
const RUN_SECONDS_MIN: f64 = 0.08;
/// Stints of one place in a block: a quarter of a second at the longest run.
pub(super) const STINTS: usize = 40;
/// Blocks of stints between two pairs of whole runs.
const BLOCKS_A_ROUND: usize = 3;
/// Fewest rounds: the longest run is that of which so many fit into the time.
const ROUNDS_MIN: f64 = 5.0;
/// Slices of a whole run in which its start is looked at.
pub(super) const CELLS: u64 = 200;

/// Work before anything is recorded.
const WARM_NS: u64 = 1_000_000_000;

const DATA_BYTES: u64 = 512 << 20;
const CACHE_BYTES: u64 = 32 << 20;
const SCHEMAS: u32 = 64;
const PAGE_BYTES: u32 = 8192;
/// As a study has them unless it says otherwise.
pub(super) const SESSIONS: u32 = 64;
pub(super) const WORK_UNIT: u32 = 64;

/// What was recorded.
pub(super) struct Record {
    pub(super) stint_seconds: f64,
    pub(super) method: &'static str,
    /// Blocks of stints one after the other, each with the place it was of.
    pub(super) pieces: Vec<Piece>,
    pub(super) places: Vec<usize>,
    /// Pairs of whole runs.
    pub(super) whole: Vec<[Run; 2]>,
    /// Seconds from the end of a stint to the beginning of the next, over all stints.
    pub(super) between_seconds: f64,
    /// Seconds that stints lasted beyond their time, waiting for what was under way.
    pub(super) beyond_seconds: f64,
    /// Making and loading one place.
    pub(super) load_seconds: f64,
}

/// A whole run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) piece: Piece,
    /// Operations that ended in each of [`CELLS`] equal parts of the time.
    pub(super) cells: Vec<u64>,
}

pub(crate) fn run(flags: &flags::Schedules) -> Result<(), Failure> {
    if !(flags.minutes >= 0.1 && flags.minutes <= 1440.0) {
        let minutes = flags.minutes;
        return Err(Failure::usage(format_args!(
            "--minutes {minutes}: give at least 0.1 and at most 1440"
        )));
    }
    let record = recorded(flags)?;
    let found = Found::of(&record, flags.seed);
    match flags.json {
        true => print_json(&found::json(&record, &found)),
        false => print(&found::text(&record, &found)),
    }
    Ok(())
}

/// What is to be measured: for how long, and from what its chances come.
struct Measurement {
    minutes: f64,
    seed: u64,
    cancel: Arc<AtomicBool>,
}

impl Measurement {
    /// An error once a signal has come.
    fn check(&self) -> anyhow::Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            bail!("interrupted: what was made is taken away again");
        }
        Ok(())
    }
}

fn recorded(flags: &flags::Schedules) -> anyhow::Result<Record> {
    let asked = Measurement {
        minutes: flags.minutes,
        seed: flags.seed,
        cancel: Arc::default(),
    };
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&asked.cancel))?;
    }
    // Taken away when it goes out of scope.
    let own = tempfile::Builder::new()
        .prefix("assay-laboratory-")
        .tempdir_in(&flags.dir)
        .with_context(|| format!("{}: make a directory in it", flags.dir.display()))?;
    luns::check_space(own.path(), 2 * (DATA_BYTES + (64 << 20)))?;
    on(own.path(), &asked)
}

fn on(own: &Path, asked: &Measurement) -> anyhow::Result<Record> {
    let (shape, settings) = sizes();
    let memory = pages::memory_bytes(&shape, &settings);
    let depth = pages::depth(&settings, 1, SESSIONS, 1);
    let specs = ["a", "b"].map(|place| {
        let data = pages::data_file_bytes(&shape, &settings, 1)[0];
        let redo = pages::redo_file_bytes(&settings);
        [
            OpenSpec::creating(own.join(format!("{place}.data")), Access::Direct, data),
            OpenSpec::creating(own.join(format!("{place}.redo")), Access::Direct, redo),
        ]
    });
    match UringPort::open(&specs[0], memory, depth) {
        Ok(first) => {
            let second = UringPort::open(&specs[1], memory, depth)?;
            record([first, second], "ring", asked)
        }
        Err(_) => {
            let open = |specs: &[OpenSpec]| PsyncPort::open(specs, memory, depth);
            record([open(&specs[0])?, open(&specs[1])?], "pread", asked)
        }
    }
}

fn sizes() -> (Shape, Settings) {
    let shape = Shape {
        page_bytes: PAGE_BYTES,
        schemas: SCHEMAS,
        pages_per_schema: (DATA_BYTES / u64::from(SCHEMAS) / u64::from(PAGE_BYTES)) as u32,
        seed: 1,
        compressibility: 1.0,
        duplication: 0.0,
    };
    let settings = Settings {
        cache_bytes: CACHE_BYTES,
        multiblock_read: 16,
        torn_pages: TornPages::Log,
        checkpoint_ns: u64::MAX / 4,
        writers: 1,
        redo_bytes: 32 << 20,
        workers: 1,
    };
    (shape, settings)
}

/// How the time is spent.
struct Planned {
    rounds: usize,
    run_ns: u64,
    stint_ns: u64,
}

impl Planned {
    /// Whole runs of at most ten seconds, and as many rounds as the time has room for, in which every stint lasts so
    /// much longer than its time.
    fn of(minutes: f64, tail_seconds: f64) -> Planned {
        let runs_a_round = 2.0 * (BLOCKS_A_ROUND as f64 + 1.0);
        let tails_a_round = tail_seconds * (BLOCKS_A_ROUND * 2 * STINTS) as f64;
        let run_seconds = (minutes * 60.0 / ROUNDS_MIN - tails_a_round) / runs_a_round;
        let run_seconds = run_seconds.clamp(RUN_SECONDS_MIN, RUN_SECONDS_MAX);
        let rounds = minutes * 60.0 / (run_seconds * runs_a_round + tails_a_round);
        let stint_ns = (run_seconds * 1e9 / STINTS as f64) as u64;
        Planned {
            rounds: rounds.round().max(ROUNDS_MIN) as usize,
            run_ns: stint_ns * STINTS as u64,
            stint_ns,
        }
    }
}

fn record<P: Port + Send>(ports: [P; 2], method: &'static str, asked: &Measurement) -> anyhow::Result<Record> {
    let (shape, settings) = sizes();
    let files = Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    };
    let began = Instant::now();
    let mut places = Vec::new();
    for port in ports {
        asked.check()?;
        eprintln!("loading place {}", places.len() + 1);
        let mut instance = Instance::create(vec![port], &files, shape, settings, &mut pages::unheard)?;
        instance.checkpoint()?;
        places.push(instance);
    }
    let load_seconds = began.elapsed().as_secs_f64() / 2.0;
    // Both caches filled, and what the disk does on the first touch of a file done; and how long a stint waits at its
    // end.
    let mut tail_seconds = 0.0;
    for place in &mut places {
        let outcome = read(place, [WARM_NS, 0], asked.seed, asked)?;
        tail_seconds = outcome.elapsed_ns.saturating_sub(WARM_NS) as f64 / 1e9;
    }
    let plan = &Planned::of(asked.minutes, tail_seconds);
    let mut record = Record {
        stint_seconds: plan.stint_ns as f64 / 1e9,
        method,
        pieces: Vec::new(),
        places: Vec::new(),
        whole: Vec::new(),
        between_seconds: 0.0,
        beyond_seconds: 0.0,
        load_seconds,
    };
    for round in 0..plan.rounds {
        eprintln!("round {} of {}", round + 1, plan.rounds);
        stints(&mut places, plan, round, asked, &mut record)?;
        let mut pair = [None, None];
        // Every other pair backwards, as the blocks of a study are.
        for turn in [round % 2, 1 - round % 2] {
            let seed = asked.seed ^ (round as u64) << 32;
            let outcome = read(&mut places[turn], [plan.run_ns, plan.run_ns / CELLS], seed, asked)?;
            let cells = outcome.slices.iter().take(CELLS as usize).map(|slice| slice.count);
            pair[turn] = Some(Run {
                piece: piece(&outcome),
                cells: cells.collect(),
            });
        }
        let [Some(first), Some(second)] = pair else {
            unreachable!("both places had their turn")
        };
        record.whole.push([first, second]);
    }
    Ok(record)
}

/// One round's blocks of stints, in mirrored pairs.
fn stints<P: Port + Send>(
    places: &mut [Instance<P>],
    plan: &Planned,
    round: usize,
    asked: &Measurement,
    record: &mut Record,
) -> anyhow::Result<()> {
    let order = Dealing { stint: 1 };
    let mut worked = 0.0;
    let began = Instant::now();
    for nth in 0..BLOCKS_A_ROUND * 2 * STINTS {
        let at = usize::from(order.is_second(nth));
        let seed = asked.seed ^ ((round as u64) << 32) ^ ((nth as u64 + 1) << 8);
        let outcome = read(&mut places[at], [plan.stint_ns, 0], seed, asked)?;
        worked += outcome.elapsed_ns as f64 / 1e9;
        record.beyond_seconds += outcome.elapsed_ns.saturating_sub(plan.stint_ns) as f64 / 1e9;
        record.pieces.push(piece(&outcome));
        record.places.push(at);
    }
    record.between_seconds += (began.elapsed().as_secs_f64() - worked).max(0.0);
    Ok(())
}

fn piece(outcome: &Outcome) -> Piece {
    Piece {
        work: outcome.count() as f64,
        seconds: outcome.elapsed_ns as f64 / 1e9,
    }
}

/// Random reads for so long, cut into slices of that length (0: into none).
fn read<P: Port + Send>(
    place: &mut Instance<P>,
    [time_ns, slice_ns]: [u64; 2],
    seed: u64,
    asked: &Measurement,
) -> anyhow::Result<Outcome> {
    let work = RandomWork {
        update_pct: 0,
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
    let pacing = Pacing {
        slice_ns,
        cancel: Some(Arc::clone(&asked.cancel)),
        ..Pacing::closed(SESSIONS, time_ns)
    };
    let mut operations = place.random(&work, seed)?;
    let outcome = workloads::drive(operations.first_mut().context("one worker")?, &pacing, seed)?;
    asked.check()?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_spent_on_long_runs_first_and_then_on_more_rounds() {
        let usual = Planned::of(12.0, 0.0);
        assert_eq!(
            (usual.run_ns, usual.stint_ns, usual.rounds),
            (10_000_000_000, 250_000_000, 9)
        );
        let short = Planned::of(1.0, 0.0);
        assert_eq!((short.run_ns, short.rounds), (1_500_000_000, 5));
        let waiting = Planned::of(12.0, 0.05);
        assert_eq!((waiting.run_ns, waiting.rounds), (10_000_000_000, 8));
    }
}
