//! Two engines on one disk group, crashed by the thousand: either or both, by power or alone, while extents move.
//!
//! `ASSAY_INSTANCE_SEEDS` sets the number of seeds (`ASSAY_TEST_SIZE=full`: 10,000); a failing seed is printed with the
//! command that replays it. Prevents: an acknowledged commit of one instance that another one's crash takes along.

use crate::sharing::{COUNTED, counts, run_seed, scenario};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn seeds() -> u64 {
    let full = std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full");
    let asked = std::env::var("ASSAY_INSTANCE_SEEDS")
        .ok()
        .and_then(|count| count.parse().ok());
    asked.unwrap_or(if full { 10_000 } else { 300 })
}

#[test]
fn every_acknowledged_commit_of_both_survives_a_crash_of_either_or_both() {
    let (next, failed, seeds) = (AtomicU64::new(0), Mutex::new(Vec::new()), seeds());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds || failed.lock().unwrap().len() > 5 {
                        break;
                    }
                    let result = std::panic::catch_unwind(|| run_seed(seed));
                    if let Err(what) = result.unwrap_or_else(|_| Err("panicked".into())) {
                        failed.lock().unwrap().push((seed, what));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    for (seed, what) in &failed {
        eprintln!(
            "seed {seed}: {what}\n  replay: ASSAY_INSTANCE_SEED={seed} cargo test -p lab --test integration \
             two_instances::replay -- --nocapture"
        );
    }
    assert!(failed.is_empty(), "{} of {seeds} seeds failed", failed.len());
    let counts = counts();
    eprintln!("{seeds} seeds: {COUNTED:?} {counts:?}");
    assert!(
        counts[..4].iter().all(|made| *made >= seeds / 5),
        "{counts:?}: too few to be a test"
    );
    assert!(
        counts[4] > 10 * seeds && counts[5] > seeds * 100_000,
        "{counts:?}: too little was at stake"
    );
}

#[test]
fn replay() {
    let Some(seed) = std::env::var("ASSAY_INSTANCE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    else {
        return;
    };
    eprintln!("{:#?}", scenario(seed));
    run_seed(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}
