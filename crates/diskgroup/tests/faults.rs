//! Faults of disks by the thousand: errors, silent corruption, disks that go and come back without what they had not
//! flushed.
//!
//! `ASSAY_FAULT_SEEDS` sets the number of seeds for each redundancy (more with `ASSAY_TEST_SIZE=full`); a failing seed
//! is printed with the command that replays it. No more is broken at a time than the redundancy allows; then nothing
//! may be lost, and after repair a check must be clean.

use crate::seeds::{fault_seed, faults_done, number, run_all, sized};
use diskgroup::Redundancy;

fn run(redundancy: Redundancy, seed_of: fn(u64) -> Result<(), String>) {
    // In full so many that each redundancy sees ten thousand faults.
    let full = [1400, 900, 700][redundancy as usize];
    let count = number("ASSAY_FAULT_SEEDS", sized(full / 4, full));
    let before = faults_done(redundancy);
    run_all(
        "faults",
        &format!("ASSAY_FAULT={redundancy:?} ASSAY_FAULT_SEED"),
        count,
        seed_of,
    );
    let done = faults_done(redundancy) - before;
    eprintln!("{done} faults in {count} seeds at {redundancy:?} redundancy");
    assert!(done > 5 * count, "only {done} faults: too little to be a test");
}

#[test]
fn external_redundancy_reports_errors_and_loses_nothing_that_comes_back() {
    run(Redundancy::External, |seed| fault_seed(Redundancy::External, seed));
}

#[test]
fn normal_redundancy_loses_nothing_to_one_failure_group() {
    run(Redundancy::Normal, |seed| fault_seed(Redundancy::Normal, seed));
}

#[test]
fn high_redundancy_loses_nothing_to_two_failure_groups() {
    run(Redundancy::High, |seed| fault_seed(Redundancy::High, seed));
}

#[test]
fn replay() {
    let Ok(seed) = std::env::var("ASSAY_FAULT_SEED").unwrap_or_default().parse() else {
        return;
    };
    let redundancy = match std::env::var("ASSAY_FAULT").as_deref() {
        Ok("External") => Redundancy::External,
        Ok("High") => Redundancy::High,
        _ => Redundancy::Normal,
    };
    eprintln!("{:#?}", crate::machine::scenario::scenario(seed, Some(redundancy)));
    fault_seed(redundancy, seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}
