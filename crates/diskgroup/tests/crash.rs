//! Crashes by the thousand: the power fails at any write or flush while files are made, grown and deleted, pages
//! written, disks added, dropped, taken away and brought back, extents moved and copied.
//!
//! `ASSAY_CRASH_SEEDS` sets the number of seeds (more with `ASSAY_TEST_SIZE=full`); a failing seed is printed with the
//! command that replays it.

use crate::seeds::{crash_seed, number, run_all, scratch_seed};

#[test]
fn whatever_was_acknowledged_is_there_and_the_group_is_sound() {
    let count = number("ASSAY_CRASH_SEEDS", crate::seeds::sized(700, 3_150));
    run_all("crash", "ASSAY_CRASH_SEED", count, crash_seed);
    let cuts = crate::seeds::cuts_done();
    eprintln!("{cuts} power cuts in {count} seeds");
    assert!(cuts > 2 * count, "only {cuts} power cuts: too little to be a test");
}

/// `ASSAY_SCRATCH_SEEDS` sets the number of seeds.
#[test]
fn of_scratch_files_nothing_is_left_and_the_rest_is_there() {
    let count = number("ASSAY_SCRATCH_SEEDS", crate::seeds::sized(200, 2_000));
    run_all("crash", "ASSAY_SCRATCH_SEED", count, scratch_seed);
}

#[test]
fn replay_with_scratch_files() {
    let Ok(seed) = std::env::var("ASSAY_SCRATCH_SEED").unwrap_or_default().parse() else {
        return;
    };
    scratch_seed(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}

#[test]
fn replay() {
    let Ok(seed) = std::env::var("ASSAY_CRASH_SEED").unwrap_or_default().parse() else {
        return;
    };
    eprintln!("{:#?}", crate::machine::scenario::scenario(seed, None));
    crash_seed(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}
