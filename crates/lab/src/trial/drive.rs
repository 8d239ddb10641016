//! One phase of a study on an open instance: the plan's words turned into the engine's and the loop's, and driven.
//!
//! Takes the resolved phase, gives the loop's [`Outcome`]. Prevents: a plan parameter that reaches one stack and not
//! another (there is one translation, used by all).

use crate::ports::PageEngine;
use pages::{Hotspot, PagesError, RandomOperation, RandomWork, RedoWork, ScanOperation, ScanWork, UserScan};
use plan::{Duration, Phase, PhaseKind, Random, Redo, RedoStress, Scan};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use targets::Port;
use workloads::{Arrival, Operation, Outcome, Pacing, Schedule, Stop, Think};

/// Width of the slices in which completions are counted.
const SLICES_PER_PHASE: u64 = 40;
const SLICE_NS_MIN: u64 = 50_000_000;
/// Slice of a phase that has no time of its own.
pub(crate) const SLICE_NS_UNTIMED: u64 = 250_000_000;

/// What one phase did.
pub(crate) struct Driven {
    pub(crate) outcome: Outcome,
    pub(crate) user_scans: Vec<UserScan>,
}

impl Driven {
    /// Work without scans of users.
    pub(crate) fn of(outcome: Outcome) -> Driven {
        Driven {
            outcome,
            user_scans: Vec::new(),
        }
    }

    /// Scans that ran as these operations did.
    pub(crate) fn scans<P: Port>(outcome: Outcome, operations: &[ScanOperation<'_, P>]) -> Driven {
        let user_scans = operations.iter().flat_map(ScanOperation::user_scans).collect();
        Driven { outcome, user_scans }
    }
}

/// Runs one phase to its end (without the drain).
pub(crate) fn phase(
    instance: &mut PageEngine,
    phase: &Phase,
    seed: u64,
    cancel: &Arc<AtomicBool>,
) -> Result<Driven, PagesError> {
    match &phase.kind {
        PhaseKind::Random(work) => Ok(Driven::of(random(instance, work, phase.time, seed, cancel)?)),
        PhaseKind::Redo(redo) => redo_alone(instance, redo, &redo_pacing(redo, phase.time, cancel), seed),
        PhaseKind::Scan(scan) => {
            let pacing = scan_pacing(scan, phase.time, cancel);
            let mut operations = instance.scan(&scan_work(scan, phase), seed)?;
            let outcome = drive_all(&mut operations, &pacing, seed)?;
            Ok(Driven::scans(outcome, &operations))
        }
        _ => unreachable!("{}: its own code drives it", phase.name),
    }
}

/// Runs random work for `time`, or to its own end, or until `cancel`.
pub(crate) fn random(
    instance: &mut PageEngine,
    work: &Random,
    time: Option<Duration>,
    seed: u64,
    cancel: &Arc<AtomicBool>,
) -> Result<Outcome, PagesError> {
    let pacing = random_pacing(work, time, cancel);
    let mut operations = instance.random(&random_work(work), seed)?;
    drive_all(&mut operations, &pacing, seed)
}

pub(crate) fn slice_ns(time: Option<Duration>) -> u64 {
    time.map_or(SLICE_NS_UNTIMED, |t| (t.0 / SLICES_PER_PHASE).max(SLICE_NS_MIN))
}

/// How the sessions of random work come.
pub(crate) fn random_pacing(random: &Random, time: Option<Duration>, cancel: &Arc<AtomicBool>) -> Pacing {
    let arrival = match random.rate {
        Some(rate_per_s) => Arrival::Open {
            rate_per_s,
            schedule: Schedule::Poisson,
        },
        None => Arrival::Closed {
            think: (random.think_tm_frequency > 0).then_some(Think {
                frequency: random.think_tm_frequency,
                min_ns: random.think_tm_min.0,
                max_ns: random.think_tm_max.0,
            }),
        },
    };
    Pacing {
        sessions: random.sessions,
        arrival,
        stop: Stop {
            time_ns: time.map(|t| t.0),
            operations_per_session: (random.work_loop > 0).then_some(random.work_loop),
        },
        slice_ns: slice_ns(time),
        cancel: Some(Arc::clone(cancel)),
    }
}

/// The plan's words in the engine's.
pub(crate) fn random_work(random: &Random) -> RandomWork {
    RandomWork {
        update_pct: random.update_pct,
        scan_pct: random.scan_pct,
        scan_table_bytes: random.scan_table_size.0,
        sessions: random.sessions,
        work_unit: random.work_unit,
        // The loop retires a session after `work_loop` operations, so that time and count end a phase in one place.
        work_loop: 0,
        heavy: random.redo_stress == RedoStress::Heavy,
        outstanding: random.outstanding,
        hotspot: random.hotspot.map(|h| Hotspot {
            bytes: h.size.0,
            offset: h.offset.0,
            frequency: h.frequency,
        }),
        hot_schema_frequency: random.hot_schema_frequency,
    }
}

/// Commits alone, for the time of the pacing.
pub(crate) fn redo_alone(
    instance: &mut PageEngine,
    redo: &Redo,
    pacing: &Pacing,
    seed: u64,
) -> Result<Driven, PagesError> {
    let work = RedoWork {
        sessions: redo.sessions,
        bytes: redo.commit_size.0.min(u64::from(u32::MAX)) as u32,
    };
    Ok(Driven::of(drive_all(&mut instance.redo(&work, seed)?, pacing, seed)?))
}

/// How the sessions of commits come.
pub(crate) fn redo_pacing(redo: &Redo, time: Option<Duration>, cancel: &Arc<AtomicBool>) -> Pacing {
    closed(redo.sessions, time, cancel)
}

/// Each session sends its next operation when the last is done.
fn closed(sessions: u32, time: Option<Duration>, cancel: &Arc<AtomicBool>) -> Pacing {
    Pacing {
        sessions,
        arrival: Arrival::Closed { think: None },
        stop: Stop {
            time_ns: time.map(|t| t.0),
            operations_per_session: None,
        },
        slice_ns: slice_ns(time),
        cancel: Some(Arc::clone(cancel)),
    }
}

/// How the reads of scans come.
pub(crate) fn scan_pacing(scan: &Scan, time: Option<Duration>, cancel: &Arc<AtomicBool>) -> Pacing {
    closed(scan.parallel * scan.degree, time, cancel)
}

/// A scan with a time goes round its users until the time is over; without one it scans each of them once.
pub(crate) fn scan_work(scan: &Scan, phase: &Phase) -> ScanWork {
    ScanWork {
        users: scan.users,
        degree: scan.degree,
        parallel: scan.parallel,
        passes: u32::from(phase.time.is_none()),
    }
}

/// Sessions that an operation of one worker serves: its own share of the phase's.
pub(crate) trait Served: Operation {
    fn sessions(&self) -> u32;

    /// Ends what is under way, on the thread that drove it: a ring belongs to one thread while it has I/O in flight.
    fn finish(&mut self) -> Result<(), Self::Error>;
}

impl<P: Port> Served for RandomOperation<'_, P> {
    fn sessions(&self) -> u32 {
        RandomOperation::sessions(self)
    }

    fn finish(&mut self) -> Result<(), PagesError> {
        RandomOperation::finish(self)
    }
}

impl<P: Port> Served for ScanOperation<'_, P> {
    fn sessions(&self) -> u32 {
        ScanOperation::sessions(self)
    }

    fn finish(&mut self) -> Result<(), PagesError> {
        ScanOperation::finish(self)
    }
}

/// One worker in the caller's thread (a model's virtual time stays deterministic so), several on their own.
pub(crate) fn drive_all<O>(operations: &mut [O], pacing: &Pacing, seed: u64) -> Result<Outcome, O::Error>
where
    O: Served + Send,
    O::Error: Send,
{
    if let [only] = operations {
        let pacing = Pacing {
            sessions: only.sessions(),
            ..pacing.clone()
        };
        let (mut outcome, busy) = busy(|| workloads::drive(only, &pacing, seed))?;
        outcome.busy_share = busy;
        return Ok(outcome);
    }
    let parts = pacing.split(operations.len() as u32);
    let working = operations.iter_mut().zip(parts).enumerate();
    let work = working
        .filter(|(_, (operation, _))| operation.sessions() > 0)
        .map(|(worker, (operation, part))| {
            let part = Pacing {
                sessions: operation.sessions(),
                ..part
            };
            move || {
                busy(|| {
                    let outcome = workloads::drive(operation, &part, seed.wrapping_add(worker as u64))?;
                    operation.finish()?;
                    Ok(outcome)
                })
            }
        });
    let outcomes = on_threads(work)?;
    let (outcomes, shares): (Vec<Outcome>, Vec<Option<f64>>) = outcomes.into_iter().unzip();
    let shares: Option<Vec<f64>> = shares.into_iter().collect();
    let mut outcome = workloads::merge(outcomes);
    outcome.busy_share = shares.map(|shares| together(&shares));
    Ok(outcome)
}

/// Each on a thread of its own; the first error is told.
pub(crate) fn on_threads<T, E, W>(work: impl Iterator<Item = W>) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send,
    W: FnOnce() -> Result<T, E> + Send,
{
    std::thread::scope(|scope| {
        let threads: Vec<_> = work.map(|work| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Shares of single threads as one: there may be fewer processors than threads.
fn together(shares: &[f64]) -> f64 {
    let processors = std::thread::available_parallelism().map_or(shares.len(), usize::from);
    (shares.iter().sum::<f64>() / shares.len().min(processors).max(1) as f64).min(1.0)
}

/// Does `work`, and gives the share of its time in which this thread had a processor.
fn busy<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Option<f64>), E> {
    let own_ns = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let (began, had) = (Instant::now(), own_ns());
    let done = work()?;
    let elapsed_ns = began.elapsed().as_nanos() as f64;
    let had_ns = own_ns().saturating_sub(had) as f64;
    Ok((done, (elapsed_ns > 0.0).then(|| (had_ns / elapsed_ns).min(1.0))))
}
