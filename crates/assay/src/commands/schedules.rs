//! `assay calibrate --schedules DIR`: which schedule resolves most per minute here, whole runs or stints in turns.
//!
//! Two equal places in DIR are loaded and read at random, in stints of a quarter of a second in mirrored pairs, with a pair of
//! whole runs after every few blocks. The record of the stints is then dealt out again under each schedule
//! ([`stats::dealt`]), so that all of them are held against the same seconds; the whole runs show what a start costs.
//!
//! Prevents: a default that was believed because it sounds right.

use super::schedules_told::{self as told, Found};
use crate::cli;
use crate::exit::Failure;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use lab::{Progress as _, signals};
use pages::{Files, Instance, RandomWork, Settings, Shape, TornPages};
use sandbox::Directory;
use stacks::Journal;
use stats::Piece;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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

pub(super) fn schedules(dir: &Path, flags: &cli::Calibrate) -> Result<(), Failure> {
    if !(flags.minutes >= 0.1 && flags.minutes <= 1440.0) {
        return Err(Failure::Usage(anyhow!(
            "--minutes {}: give at least 0.1 and at most 1440",
            flags.minutes
        )));
    }
    let cancel = signals::cancel_flag()?;
    let progress = Progress::new(1, flags.json);
    let state = stacks::state_dir().map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    let journal = Journal::create(&state, &super::run::run_id());
    let mut journal = journal.map_err(|e| Failure::Run(anyhow!("{e}")))?;
    let recorded = prepared(dir, &mut journal).and_then(|own| on(&own, flags, &progress, &cancel));
    progress.finish();
    // A host that is not as it was matters more than what was found.
    lab::undone(&journal.undo_all()).map_err(Failure::Dirty)?;
    let record = recorded.map_err(Failure::Run)?;
    let found = Found::of(&record, flags.seed);
    told::show(&record, &found, flags.json)
}

/// A directory of our own with room for two places.
fn prepared(dir: &Path, journal: &mut Journal) -> anyhow::Result<PathBuf> {
    let name = format!("assay-{}", journal.run_id());
    let own = journal.make_directory(&Directory::open(dir)?, &name, 0o711, false)?;
    let own = own.path().to_owned();
    luns::check_space(&own, 2 * (DATA_BYTES + (64 << 20)))?;
    for name in ["a.data", "a.redo", "b.data", "b.redo"] {
        journal.before(stacks::Undo::RemoveFile { path: own.join(name) })?;
    }
    Ok(own)
}

fn on(own: &Path, flags: &cli::Calibrate, progress: &Progress, cancel: &Arc<AtomicBool>) -> anyhow::Result<Record> {
    let (shape, settings) = sizes();
    let memory = pages::memory_bytes(&shape, &settings);
    let depth = pages::depth(&settings, 1, SESSIONS, 1);
    let specs = |place: &str| {
        let data = pages::data_file_bytes(&shape, &settings, 1)[0];
        [
            OpenSpec::creating(own.join(format!("{place}.data")), Access::Direct, data),
            OpenSpec::creating(
                own.join(format!("{place}.redo")),
                Access::Direct,
                pages::redo_file_bytes(&settings),
            ),
        ]
    };
    let specs = [specs("a"), specs("b")];
    let around = (progress, cancel, flags.seed);
    match UringPort::open(&specs[0], memory, depth) {
        Ok(first) => {
            let second = UringPort::open(&specs[1], memory, depth)?;
            record([first, second], "ring", flags.minutes, around)
        }
        Err(_) => {
            let open = |specs: &[OpenSpec]| PsyncPort::open(specs, memory, depth);
            record([open(&specs[0])?, open(&specs[1])?], "pread", flags.minutes, around)
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
    /// Whole runs of at most ten seconds, and as many rounds as the time has room for, in which every stint lasts so much longer
    /// than its time.
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

type Around<'a> = (&'a Progress, &'a Arc<AtomicBool>, u64);

fn record<P: Port>(
    ports: [P; 2],
    method: &'static str,
    minutes: f64,
    (progress, cancel, seed): Around<'_>,
) -> anyhow::Result<Record> {
    let (shape, settings) = sizes();
    let files = Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    };
    let began = Instant::now();
    let mut places = Vec::new();
    for port in ports {
        signals::check(cancel)?;
        progress.doing(&format!("loading place {}", places.len() + 1));
        let mut instance = Instance::create(vec![port], &files, shape, settings, &mut |_, _| ())?;
        instance.checkpoint()?;
        places.push(instance);
    }
    let load_seconds = began.elapsed().as_secs_f64() / 2.0;
    // Both caches filled, and what the disk does on the first touch of a file done; and how long a stint waits at its end.
    let mut tail_seconds = 0.0;
    for place in &mut places {
        let outcome = run(place, WARM_NS, 0, seed, cancel)?;
        tail_seconds = outcome.elapsed_ns.saturating_sub(WARM_NS) as f64 / 1e9;
    }
    let plan = &Planned::of(minutes, tail_seconds);
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
        progress.doing(&format!("round {} of {}", round + 1, plan.rounds));
        stints(&mut places, plan, round, seed, &mut record, cancel)?;
        let mut pair = [None, None];
        // Every other pair backwards, as the blocks of a study are.
        for turn in [round % 2, 1 - round % 2] {
            let seed = seed ^ (round as u64) << 32;
            let outcome = run(&mut places[turn], plan.run_ns, plan.run_ns / CELLS, seed, cancel)?;
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
fn stints<P: Port>(
    places: &mut [Instance<P>],
    plan: &Planned,
    round: usize,
    seed: u64,
    record: &mut Record,
    cancel: &Arc<AtomicBool>,
) -> anyhow::Result<()> {
    let order = stats::Dealing {
        stint: 1,
        mirrored: true,
    };
    let mut worked = 0.0;
    let began = Instant::now();
    for nth in 0..BLOCKS_A_ROUND * 2 * STINTS {
        let at = usize::from(order.is_second(nth));
        let seed = seed ^ ((round as u64) << 32) ^ ((nth as u64 + 1) << 8);
        let outcome = run(&mut places[at], plan.stint_ns, 0, seed, cancel)?;
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

/// Random reads for so long.
fn run<P: Port>(
    place: &mut Instance<P>,
    time_ns: u64,
    slice_ns: u64,
    seed: u64,
    cancel: &Arc<AtomicBool>,
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
        cancel: Some(Arc::clone(cancel)),
        ..Pacing::closed(SESSIONS, time_ns)
    };
    let mut operations = place.random(&work, seed)?;
    let outcome = workloads::drive(operations.first_mut().context("one worker")?, &pacing, seed)?;
    signals::check(cancel)?;
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
