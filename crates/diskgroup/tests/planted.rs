//! Each planted bug is caught by the crash and fault machines, and the group without one passes the same seeds.
//!
//! `cargo test -p diskgroup --features planted --test integration planted::`. Prevents: crash and fault tests that
//! can't fail.

use crate::seeds::meddled::meddled_seed;
use crate::seeds::repairs::repair_seed;
use crate::seeds::sharing::sharing_seed;
use crate::seeds::{crash_seed, fault_seed};
use diskgroup::{Planted, Redundancy};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seeds a bug may survive; the unplanted group passes all of them in `crash.rs` and `faults.rs`.
const SEEDS_MAX: u64 = 4000;

/// A bug that needs a read which outlasts a move and the reuse of the old place: random work meets it too seldom to
/// rely on.
const SELDOM: [Planted; 1] = [Planted::FreedTooEarly];

fn one(seed: u64) -> Result<(), String> {
    crash_seed(seed)?;
    let redundancy = [
        Redundancy::Normal,
        Redundancy::High,
        Redundancy::Normal,
        Redundancy::External,
    ][seed as usize % 4];
    fault_seed(redundancy, seed)
}

/// Bugs that need a disk which refuses in the right moment; most of the other machines' time would be wasted on them.
const OF_REPAIRS: [Planted; 7] = [
    Planted::RepairNotStale,
    Planted::RepairUnflushedNotStale,
    Planted::CleanedTooEarly,
    Planted::AbsentNotStale,
    Planted::FailedFlushTriedAgain,
    Planted::CheckSaysRepaired,
    Planted::OtherPiecesForgotten,
];

/// Bugs of what the owner tells another instance.
const OF_SHARING: [Planted; 3] = [Planted::OthersNotAsked, Planted::ReusedUntold, Planted::NoticeHalfRead];

fn repairs(seed: u64) -> Result<(), String> {
    repair_seed([Redundancy::Normal, Redundancy::High][seed as usize % 2], seed)
}

/// First seed that catches the bug, and what was found.
fn caught_at(bug: Planted) -> Option<(u64, String)> {
    Planted::plant(Some(bug));
    let caught = (0..SEEDS_MAX).find_map(|seed| {
        let run = match bug {
            _ if OF_REPAIRS.contains(&bug) => repairs,
            Planted::FrozenReadOnce => meddled_seed,
            _ if OF_SHARING.contains(&bug) => sharing_seed,
            _ => one,
        };
        let result = std::panic::catch_unwind(|| run(seed));
        let what = result.unwrap_or_else(|_| Err("panicked".into())).err()?;
        Some((seed, what))
    });
    Planted::plant(None);
    caught
}

#[test]
fn every_planted_bug_is_caught() {
    let only = std::env::var("ASSAY_PLANTED").ok();
    let all: Vec<Planted> = Planted::ALL
        .iter()
        .copied()
        .filter(|b| only.as_ref().map_or(!SELDOM.contains(b), |o| format!("{b:?}") == *o))
        .collect();
    let next = AtomicUsize::new(0);
    let missed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(bug) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match caught_at(*bug) {
                        Some((seed, what)) => {
                            let first = what.lines().next().unwrap_or_default();
                            eprintln!("{bug:?}: seed {seed}: {first}");
                        }
                        None => missed.lock().unwrap().push(*bug),
                    }
                }
            });
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "not caught in {SEEDS_MAX} seeds: {missed:?}");
}

#[test]
fn the_group_without_a_bug_passes_the_same_seeds() {
    for seed in 0..200 {
        one(seed)
            .and_then(|()| repairs(seed))
            .and_then(|()| sharing_seed(seed))
            .and_then(|()| meddled_seed(seed))
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}
