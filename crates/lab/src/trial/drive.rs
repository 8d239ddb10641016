//! One phase of a study on an open instance: the plan's words turned into the engine's and the loop's, and driven.
//!
//! Takes the resolved phase, gives the loop's [`Outcome`]. Prevents: a plan parameter that reaches one stack and not
//! another (there is one translation, used by all).

use crate::ports::PageEngine;
use pages::{AgeWork, Hotspot, PagesError, RandomOperation, RandomWork, RedoWork, ScanOperation, ScanWork, UserScan};
use plan::{Duration, Random, RedoStress};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use targets::{Nanos, Port};
use workloads::{Arrival, Busy, Operation, Outcome, Pacing, Schedule, Stop, Think};

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

    /// What several instances did, as one.
    pub(crate) fn together(all: Vec<Driven>, spread: Spread) -> Driven {
        let shares: Option<Vec<f64>> = all.iter().map(|driven| driven.outcome.busy_share).collect();
        let user_scans = all.iter().flat_map(|driven| driven.user_scans.clone()).collect();
        let mut outcome = workloads::merge(all.into_iter().map(|driven| driven.outcome).collect());
        outcome.busy_share = shares.map(|shares| spread.busy(&shares));
        Driven { outcome, user_scans }
    }

    /// Scans that ran as these operations did.
    pub(crate) fn scans<P: Port>(outcome: Outcome, operations: &[ScanOperation<'_, P>]) -> Driven {
        let user_scans = operations.iter().flat_map(ScanOperation::user_scans).collect();
        Driven { outcome, user_scans }
    }
}

/// Where the workers of all instances are: all on this host, or those of each instance on a host of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Of all instances together.
    pub(crate) workers: u32,
    pub(crate) hosts: u32,
}

impl Spread {
    /// The share of each instance's time that its workers had a processor, as one share of what this host gives them;
    /// of several hosts that of the busiest.
    fn busy(self, shares: &[f64]) -> f64 {
        let processors = std::thread::available_parallelism().map_or(u32::MAX, |count| count.get() as u32);
        self.busy_on(processors, shares)
    }

    fn busy_on(self, processors: u32, shares: &[f64]) -> f64 {
        // Each has its host's processors alone, and a full host is not made up for by another that has time.
        if self.hosts > 1 {
            return shares.iter().copied().fold(0.0, f64::max);
        }
        let running = |parts: u32| f64::from((self.workers / parts.max(1)).clamp(1, processors.max(1)));
        let had = shares.iter().sum::<f64>() * running(shares.len() as u32);
        (had / running(1)).min(1.0)
    }
}

/// What the engine does in a phase, in its own words: for this instance and for those in other processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    Random(RandomWork),
    Redo(RedoWork),
    Scan(ScanWork),
    Age(AgeWork),
}

/// Work with the pace of its sessions; both are of all instances together.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) work: Work,
    pub(crate) pacing: Pacing,
    pub(crate) seed: u64,
    /// The moment of the ports' clock at which it begins; at once if `None`.
    pub(crate) at: Option<Nanos>,
}

impl Paced {
    /// Random work for `time`, or until it is ended by the flag.
    pub(crate) fn random(work: &Random, time: Option<Duration>, seed: u64, cancel: &Arc<AtomicBool>) -> Paced {
        Paced {
            work: Work::Random(random_work(work)),
            pacing: random_pacing(work, time, cancel),
            seed,
            at: None,
        }
    }

    /// Until its moment.
    pub(crate) fn wait_for_its_moment(&self) {
        if let Some(at) = self.at {
            let left = at.saturating_sub(targets::monotonic_ns());
            std::thread::sleep(std::time::Duration::from_nanos(left));
        }
    }

    /// Runs it to its end (without the drain).
    pub(crate) fn run(&self, instance: &mut PageEngine) -> Result<Driven, PagesError> {
        let seed = self.seed;
        Ok(match &self.work {
            Work::Random(work) => Driven::of(self.drive(&mut instance.random(work, seed)?)?),
            Work::Redo(work) => Driven::of(self.drive(&mut instance.redo(work, seed)?)?),
            Work::Age(work) => Driven::of(self.drive(&mut instance.age(work, seed)?)?),
            Work::Scan(work) => {
                let mut operations = instance.scan(work, seed)?;
                let outcome = self.drive(&mut operations)?;
                Driven::scans(outcome, &operations)
            }
        })
    }

    /// Drives operations that were made for it.
    pub(crate) fn drive<O>(&self, operations: &mut [O]) -> Result<Outcome, O::Error>
    where
        O: Served + Send,
        O::Error: Send,
    {
        self.wait_for_its_moment();
        drive_all(operations, &self.pacing, self.seed)
    }
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

/// Each session sends its next operation when the last is done.
pub(crate) fn closed(sessions: u32, time: Option<Duration>, cancel: &Arc<AtomicBool>) -> Pacing {
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

/// Sessions that an operation of one worker serves: its own share of the phase's.
pub(crate) trait Served: Operation {
    fn sessions(&self) -> u32;

    /// Which worker of the database this is, from 0, and of how many: some may work in other processes.
    fn worker(&self) -> (u32, u32);

    /// Ends what is under way, on the thread that drove it: a ring belongs to one thread while it has I/O in flight.
    fn finish(&mut self) -> Result<(), Self::Error>;
}

impl<P: Port> Served for RandomOperation<'_, P> {
    fn sessions(&self) -> u32 {
        RandomOperation::sessions(self)
    }

    fn worker(&self) -> (u32, u32) {
        RandomOperation::worker(self)
    }

    fn finish(&mut self) -> Result<(), PagesError> {
        RandomOperation::finish(self)
    }
}

impl<P: Port> Served for ScanOperation<'_, P> {
    fn sessions(&self) -> u32 {
        ScanOperation::sessions(self)
    }

    fn worker(&self) -> (u32, u32) {
        ScanOperation::worker(self)
    }

    fn finish(&mut self) -> Result<(), PagesError> {
        ScanOperation::finish(self)
    }
}

/// Each worker on a thread of its own, with its part.
pub(crate) fn drive_each<O>(workers: &mut [O], parts: &[Pacing], seed: u64) -> Result<Outcome, O::Error>
where
    O: workloads::Operation + Send,
    O::Error: Send,
{
    let work = workers.iter_mut().zip(parts).enumerate();
    let work = work.map(|(nth, (worker, part))| move || workloads::drive(worker, part, seed.wrapping_add(nth as u64)));
    Ok(workloads::merge(on_threads(work)?))
}

/// One worker in the caller's thread (a model's virtual time stays deterministic so), several on their own. The pacing
/// is that of all workers of the database: each of these has its part.
pub(crate) fn drive_all<O>(operations: &mut [O], pacing: &Pacing, seed: u64) -> Result<Outcome, O::Error>
where
    O: Served + Send,
    O::Error: Send,
{
    let of = operations.first().map_or(1, |operation| operation.worker().1);
    if let ([only], 1) = (&mut *operations, of) {
        let pacing = Pacing {
            sessions: only.sessions(),
            ..pacing.clone()
        };
        let (mut outcome, busy) = Busy::of(|| workloads::drive(only, &pacing, seed))?;
        outcome.busy_share = busy.share();
        return Ok(outcome);
    }
    let parts = pacing.split(of);
    let work = operations.iter_mut().filter_map(|operation| {
        let (worker, _) = operation.worker();
        // A scan may have fewer sessions than there are workers, and each worker scans its own users.
        let part = parts.get(worker as usize).or(parts.last());
        let part = part.filter(|_| operation.sessions() > 0)?;
        let part = Pacing {
            sessions: operation.sessions(),
            ..part.clone()
        };
        Some(move || {
            Busy::of(|| {
                let outcome = workloads::drive(operation, &part, seed.wrapping_add(u64::from(worker)))?;
                operation.finish()?;
                Ok(outcome)
            })
        })
    });
    let outcomes = on_threads(work)?;
    let (outcomes, busy): (Vec<Outcome>, Vec<Busy>) = outcomes.into_iter().unzip();
    let mut outcome = workloads::merge(outcomes);
    outcome.busy_share = Busy::together(&busy);
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

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn workers_of_instances_share_the_processors_of_their_hosts() {
        let of = |workers, hosts, shares: &[f64]| Spread { workers, hosts }.busy_on(8, shares);
        // Four instances of eight workers each, on eight processors that are all busy.
        assert_eq!(of(32, 1, &[0.25; 4]), 1.0);
        // The same on four hosts, each a quarter busy.
        assert_eq!(of(32, 4, &[0.25; 4]), 0.25);
        // One host is full, and limits all that wait for each other's end.
        assert_eq!(of(32, 4, &[0.25, 0.95, 0.25, 0.25]), 0.95);
        assert_eq!(of(2, 2, &[0.5, 0.7]), 0.7);
        assert_eq!(of(4, 1, &[0.5, 0.7]), 0.6);
        assert_eq!(of(1, 1, &[1.0]), 1.0);
    }
}
