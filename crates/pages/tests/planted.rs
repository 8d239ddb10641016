//! Each planted recovery bug is caught by the crash machine, and the engine without one passes the same seeds.
//!
//! `cargo test -p pages --features planted --test integration planted::`. Prevents: a crash test that can't fail.

use crate::machine::run_seed;
use pages::Planted;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seeds a bug may survive; the unplanted engine passes all of them in `tests/crash.rs` at full size.
const SEEDS_MAX: u64 = 3000;

/// First seed that catches the bug, and what was found.
fn caught_at(bug: Planted) -> Option<(u64, String)> {
    Planted::plant(Some(bug));
    let caught = (0..SEEDS_MAX).find_map(|seed| {
        let result = std::panic::catch_unwind(|| run_seed(seed));
        let what = result.unwrap_or_else(|_| Err("panicked".into())).err()?;
        Some((seed, what))
    });
    Planted::plant(None);
    caught
}

#[test]
fn every_planted_bug_is_caught() {
    let next = AtomicUsize::new(0);
    let missed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(bug) = Planted::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
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
fn the_engine_without_a_bug_passes_the_same_seeds() {
    for seed in 0..300 {
        run_seed(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}
