//! Crashes by the thousand: the power fails at any write or flush while files are made, grown and deleted, pages
//! written, disks added, dropped, taken away and brought back, extents moved and copied.
//!
//! `ASSAY_CRASH_SEEDS` sets the number of seeds (more with `ASSAY_TEST_SIZE=full`); a failing seed is printed with the
//! command that replays it.

use crate::seeds::{crash_seed, number, run_all};

#[test]
fn whatever_was_acknowledged_is_there_and_the_group_is_sound() {
    let count = number("ASSAY_CRASH_SEEDS", crate::seeds::sized(700, 3_150));
    run_all("crash", "ASSAY_CRASH_SEED", count, crash_seed);
    let cuts = crate::seeds::cuts_done();
    eprintln!("{cuts} power cuts in {count} seeds");
    assert!(cuts > 2 * count, "only {cuts} power cuts: too little to be a test");
}

#[test]
fn replay() {
    let Ok(seed) = std::env::var("ASSAY_CRASH_SEED").unwrap_or_default().parse() else {
        return;
    };
    eprintln!("{:#?}", crate::machine::scenario::scenario(seed, None));
    crash_seed(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}
