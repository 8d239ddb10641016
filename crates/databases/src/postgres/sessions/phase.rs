//! One phase of order entry: workers on threads of their own, each with its share of the users.
//!
//! Prevents: users whose first transaction waits for the connections of others (all connect before any starts).

use crate::order_entry::{Home, Scale};
use crate::postgres::error::PostgresError;
use crate::postgres::login::address::Address;
use crate::postgres::sessions::session::{Isolation, SessionCounts};
use crate::postgres::sessions::terminals::{Terminals, TerminalsSpec};
use std::sync::Barrier;
use workloads::{Busy, Outcome, Pacing, drive, merge};

/// A phase of order entry.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Size of the company, as it was loaded.
    pub scale: Scale,
    /// Where users work.
    pub home: Home,
    /// Seed of the load.
    pub load_seed: u64,
    /// Seed of this phase.
    pub seed: u64,
    /// How strictly transactions are kept apart.
    pub isolation: Isolation,
    /// Users think and type as the specification says; otherwise they never pause. Closed arrival only.
    pub pauses: bool,
    /// Users, arrival and end.
    pub pacing: Pacing,
    /// Threads.
    pub workers: u32,
    /// The time of day at the beginning, microseconds since 1970.
    pub now_us: i64,
}

/// What a phase came to.
#[derive(Clone, Debug)]
pub struct PhaseReport {
    /// Counts and histograms per class; a class's units are its transactions that were committed.
    pub outcome: Outcome,
    /// What sessions did beside.
    pub counts: SessionCounts,
    /// Processor time of the client's threads while they worked, user and system, ns.
    pub client_cpu_ns: u64,
}

/// Runs it.
///
/// # Errors
/// The first worker's; the others are told to end.
pub fn run_phase(address: &Address, phase: &Phase) -> Result<PhaseReport, PostgresError> {
    let mut pacing = phase.pacing.clone();
    let cancel = pacing.cancel.get_or_insert_default().clone();
    let parts = pacing.split(phase.workers);
    let mut first = 0;
    let mut shares = Vec::new();
    for part in parts {
        let sessions = part.sessions;
        shares.push((first, part));
        first += sessions;
    }
    let all_there = Barrier::new(shares.len());
    let worker = |first: u32, part: &Pacing| -> Result<(Outcome, SessionCounts, Busy), PostgresError> {
        let spec = TerminalsSpec {
            scale: phase.scale,
            home: phase.home,
            load_seed: phase.load_seed,
            run_seed: phase.seed,
            isolation: phase.isolation,
            pauses: phase.pauses,
            first,
            sessions: part.sessions,
            now_us: phase.now_us,
        };
        let connected = Terminals::connect(address, &spec);
        all_there.wait();
        let mut terminals = connected?;
        let (outcome, busy) = Busy::of(|| drive(&mut terminals, part, phase.seed ^ u64::from(first)))?;
        Ok((outcome, terminals.counts(), busy))
    };
    let ended: Vec<Result<(Outcome, SessionCounts, Busy), PostgresError>> = std::thread::scope(|scope| {
        let run = |(first, part): &(u32, Pacing)| {
            let ended = worker(*first, part);
            if ended.is_err() {
                cancel.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            ended
        };
        let threads: Vec<_> = shares.iter().map(|share| scope.spawn(move || run(share))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    });
    let mut outcomes = Vec::new();
    let mut counts = SessionCounts::default();
    let mut threads = Vec::new();
    for one in ended {
        let (outcome, counted, busy) = one?;
        outcomes.push(outcome);
        counts.add(&counted);
        threads.push(busy);
    }
    let mut outcome = merge(outcomes);
    outcome.busy_share = Busy::together(&threads);
    Ok(PhaseReport {
        outcome,
        counts,
        client_cpu_ns: threads.iter().map(|busy| busy.had_ns).sum(),
    })
}
