//! One phase of scattered reads and updates: workers on threads of their own, each with its share of the sessions.
//!
//! Prevents: sessions whose first operation waits for the connections of others (all connect before any starts).

use crate::postgres::error::PostgresError;
use crate::postgres::login::address::Address;
use crate::postgres::sessions::scattered::{Scattered, ScatteredSpec};
use std::sync::Barrier;
use std::sync::atomic::Ordering;
use workloads::{Busy, Outcome, Pacing, drive, merge};

/// Runs it: `spec` says the table and the work, its sessions are those of `pacing`. Gives
/// what they did, and how many updates the server refused to end a deadlock; each was made again.
///
/// # Errors
/// The first worker's; the others are told to end.
pub fn run_scattered(
    address: &Address,
    spec: &ScatteredSpec,
    pacing: &Pacing,
    workers: u32,
    seed: u64,
) -> Result<(Outcome, u64), PostgresError> {
    let mut pacing = pacing.clone();
    let cancel = pacing.cancel.get_or_insert_default().clone();
    let parts = pacing.split(workers);
    let all_there = Barrier::new(parts.len());
    let worker = |nth: usize, part: &Pacing| -> Result<(Outcome, Busy, u64), PostgresError> {
        let seed = seed.wrapping_add(nth as u64);
        let spec = ScatteredSpec {
            sessions: part.sessions,
            ..*spec
        };
        let connected = Scattered::connect(address, &spec, seed);
        all_there.wait();
        let mut connected = connected?;
        let (outcome, busy) = Busy::of(|| drive(&mut connected, part, seed))?;
        Ok((outcome, busy, connected.deadlocks()))
    };
    let run = |nth: usize, part: &Pacing| {
        let ended = worker(nth, part);
        if ended.is_err() {
            cancel.store(true, Ordering::Relaxed);
        }
        ended
    };
    let ended: Result<Vec<_>, PostgresError> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(nth, part)| scope.spawn(move || run(nth, part)))
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let (mut outcomes, mut busy, mut deadlocks) = (Vec::new(), Vec::new(), 0);
    for (outcome, its_busy, its_deadlocks) in ended? {
        outcomes.push(outcome);
        busy.push(its_busy);
        deadlocks += its_deadlocks;
    }
    let mut outcome = merge(outcomes);
    outcome.busy_share = Busy::together(&busy);
    Ok((outcome, deadlocks))
}
