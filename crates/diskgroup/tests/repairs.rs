//! A mirror never goes back in time: disks that refuse writes or lose flushes in the very moment in which copies are
//! brought together, by the thousand, and the cases that were found in the field of it one by one.
//!
//! `ASSAY_REPAIR_SEEDS` sets the number of seeds for each redundancy (`ASSAY_TEST_SIZE=full`: 10,000); a failing seed
//! is printed with the command that replays it.

use crate::seeds::repairs::{events_done, repair_seed};
use crate::seeds::{number, run_all, sized};
use diskgroup::Redundancy;

fn run(redundancy: Redundancy, seed_of: fn(u64) -> Result<(), String>) {
    let count = number("ASSAY_REPAIR_SEEDS", sized(300, 10_000));
    let replay = format!("ASSAY_REPAIR={redundancy:?} ASSAY_REPAIR_SEED");
    run_all("repairs", &replay, count, seed_of);
    eprintln!("{count} seeds at {redundancy:?} redundancy; so far {:?}", events_done());
    let seldom = events_done().into_iter().find(|e| e.1 * 8 < count);
    assert!(seldom.is_none() || count < 100, "too little to be a test: {seldom:?}");
}

#[test]
fn normal_redundancy_never_goes_back() {
    run(Redundancy::Normal, |seed| repair_seed(Redundancy::Normal, seed));
}

#[test]
fn high_redundancy_never_goes_back() {
    run(Redundancy::High, |seed| repair_seed(Redundancy::High, seed));
}

#[test]
fn replay() {
    let Ok(seed) = std::env::var("ASSAY_REPAIR_SEED").unwrap_or_default().parse() else {
        return;
    };
    let redundancy = match std::env::var("ASSAY_REPAIR").as_deref() {
        Ok("High") => Redundancy::High,
        _ => Redundancy::Normal,
    };
    repair_seed(redundancy, seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}
