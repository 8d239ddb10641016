//! Traps: situations built to mislead, in each of which the sheet must say so, and honest twins in which it must not.
//!
//! Prevents: an objection that the sheet answers on paper only, and a line that cries wolf.
//!
//! Simulated devices need nothing. Real ones need root and loop devices. `ASSAY_TEST_SIZE=full` sets the heavier ones too. The counts
//! are printed, and written as data to the file named by `ASSAY_TRAPS`, else to `traps.json` in the build's own directory for tests.
#![allow(clippy::print_stderr)] // the counts, and why a trap is not set

#[path = "../bench/mod.rs"]
mod bench;
mod limited;
mod modelled;
mod placed;
mod recorded;
#[path = "../rig/mod.rs"]
mod rig;
mod served;
mod sheet;

use bench::Bench;
use rig::Rig;
use sheet::{Judged, summed};
use std::path::PathBuf;
use std::time::Instant;

/// Fewer would not do what was asked of them, whatever this machine can set.
const SET_MIN: u64 = 25;

fn keep(all: &[Judged]) {
    let (said, data) = summed(all);
    for one in all {
        if let Some(why) = &one.not_looked {
            let what = if one.caught.is_some() {
                "its twin not judged"
            } else {
                "not set"
            };
            eprintln!("{}: {what}: {why}", one.trap.name);
        }
    }
    eprintln!("{said}");
    let place = std::env::var_os("ASSAY_TRAPS").map(PathBuf::from);
    let place = place.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("traps.json"));
    std::fs::write(&place, format!("{data:#}\n")).expect("written");
    let set = data["traps_set"].as_u64().expect("a count");
    assert!(set >= SET_MIN, "{set} traps were set");
}

#[test]
fn what_is_invalid_is_shown_and_not_ranked_and_ends_with_1_where_asked() {
    let bench = Bench::new();
    bench.write("invalid.toml", &modelled::half_cached());
    let run = |name: &str, more: &[&str]| {
        let usual = ["run", "invalid.toml", "--quiet", "--json", "--output", name];
        bench.run(&[&usual, more].concat())
    };
    assert_eq!(run("asked.assay", &["--fail-on", "worse"]).code(), 0);
    let ran = run("fails.assay", &["--fail-on", "invalid"]);
    assert_eq!(ran.code(), 1, "{ran}");
    let report = &bench.expect(0, &["report", "fails.assay", "--json"]).json()["report"];
    let cells = report["phases"][0]["cells"].as_array().expect("cells");
    let shown = |stack: &str| {
        let cell = cells.iter().find(|cell| cell["stack"] == stack).expect("a cell");
        cell["operations_per_s"]["median"].as_f64().expect("a rate")
    };
    assert!(shown("cached") > shown("honest"), "what is INVALID is shown: {cells:?}");
    let compared = report["comparisons"].as_array().expect("comparisons");
    assert!(
        compared.iter().all(|one| one["stack"] != "cached"),
        "and not ranked: {compared:?}"
    );
    assert!(
        compared.iter().any(|one| one["stack"] == "again"),
        "the others are: {compared:?}"
    );
    let unranked = report["unranked"].as_array().expect("unranked");
    assert!(unranked.iter().any(|one| one["stack"] == "cached"), "{unranked:?}");
}

#[test]
fn every_trap_is_caught_and_no_honest_twin_is_flagged() {
    let bench = Bench::new();
    let began = Instant::now();
    let mut all = modelled::all(&bench);
    eprintln!(
        "{} on simulated devices: {:.1} s",
        all.len(),
        began.elapsed().as_secs_f64()
    );
    all.extend(recorded::all(&bench));
    eprintln!(
        "{} with those told again: {:.1} s",
        all.len(),
        began.elapsed().as_secs_f64()
    );
    if let Some(mut rig) = Rig::new(&["mkfs.ext4"]) {
        all.extend(placed::all(&mut rig));
        all.extend(served::all(&rig));
        eprintln!(
            "{} with those on this machine: {:.1} s",
            all.len(),
            began.elapsed().as_secs_f64()
        );
    }
    keep(&all);
    let wrong: Vec<String> = all.iter().filter_map(Judged::wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut names: Vec<&str> = all.iter().map(|one| one.trap.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a trap counts twice");
}
