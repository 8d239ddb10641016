//! Crashes, ten thousand of them with `ASSAY_TEST_SIZE=full`, and one at every write and flush of a fixed piece of
//! work.
//!
//! `ASSAY_CRASH_SEEDS` sets the number of seeds; a failing seed is printed with the command that replays it.

use crate::machine::{load, run_once, run_seed, scenario};
use std::sync::atomic::{AtomicU64, Ordering};
use targets::PowerFails;

fn seeds() -> u64 {
    let is_full = std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full");
    std::env::var("ASSAY_CRASH_SEEDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(if is_full { 10_000 } else { 1_500 })
}

#[test]
fn every_acknowledged_commit_survives_and_nothing_is_half_there() {
    let next = AtomicU64::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds() || failed.lock().unwrap().len() > 5 {
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
            "seed {seed}: {what}\n  replay: ASSAY_CRASH_SEED={seed} cargo test -p pages --test integration \
             crash::replay -- --nocapture"
        );
    }
    assert!(failed.is_empty(), "{} of {} seeds failed", failed.len(), seeds());
}

#[test]
fn replay() {
    let Some(seed) = std::env::var("ASSAY_CRASH_SEED").ok().and_then(|s| s.parse().ok()) else {
        return;
    };
    eprintln!("{:#?}", scenario(seed));
    if let Err(what) = run_seed(seed) {
        panic!("seed {seed}: {what}");
    }
}

#[test]
fn a_crash_at_every_write_and_every_flush_is_survived() {
    for seed in 0..6 {
        let mut scenario = scenario(seed);
        scenario.work.work_loop = 25;
        let disks = load(&scenario).unwrap();
        let (writes, flushes) = run_once(&scenario, &disks, None, 0).unwrap();
        assert!(
            writes > 20 && flushes > 5,
            "{writes} writes, {flushes} flushes: too little to crash in"
        );
        let all = (1..=writes)
            .map(PowerFails::AtWrite)
            .chain((1..=flushes).map(PowerFails::AtFlush))
            .chain((1..=flushes).map(PowerFails::AfterFlush));
        for fails in all {
            for cut in 0..2 {
                run_once(&scenario, &disks, Some(fails), cut).unwrap_or_else(|what| {
                    panic!("scenario {seed}, power {fails:?}, cut {cut}: {what}\n{scenario:#?}")
                });
            }
        }
    }
}
