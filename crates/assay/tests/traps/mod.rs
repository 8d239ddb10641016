//! Traps: situations built to mislead, in each of which the sheet must say so, and honest twins in which it must not.
//!
//! Prevents: an objection that the sheet answers on paper only, and a line that cries wolf.
//!
//! Simulated devices need nothing. Real ones need root and loop devices. `ASSAY_TEST_SIZE=full` sets the heavier ones
//! too. The counts, and every trap that was not set with the reason, are printed, and written as data to the file named
//! by `ASSAY_TRAPS`, else to `traps.json` in the build's own directory for tests. Where `CI` is set, and where root
//! could attach loop devices, a trap that lacks a tool is a failure.

mod below;
mod kept;
mod limited;
mod modelled;
mod on_devices;
mod placed;
mod recorded;
mod served;
mod sheet;

use crate::bench::Bench;
use crate::rig::Rig;
use on_devices::{PLACED, SERVED};
use sheet::{Judged, summed};
use std::path::PathBuf;
use std::time::Instant;

fn keep(all: &[Judged], began: jiff::Timestamp) {
    let (said, data) = summed(all, began);
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
}

/// Those on real devices; where none can be set, each with the reason.
fn on_this_machine() -> Vec<Judged> {
    if let Some(mut rig) = Rig::alone(&["mkfs.ext4"]) {
        let mut all = placed::all(&mut rig);
        all.extend(served::all(&rig));
        return all;
    }
    let why = match crate::rig::can_attach() {
        false => "needs root and /dev/loop-control",
        true => "needs mkfs.ext4; ./test installs it",
    };
    let all = PLACED.into_iter().chain(SERVED);
    all.map(|trap| trap.lacking(why)).collect()
}

/// Traps that lack what this machine, or this kind of run, should have.
fn lacking(all: &[Judged]) -> Vec<String> {
    let must_not = std::env::var_os("CI").is_some() || crate::rig::can_attach();
    let lacking = all.iter().filter(|one| one.lacks && must_not);
    lacking
        .map(|one| format!("{}: {}", one.trap.name, one.not_looked.as_deref().unwrap_or_default()))
        .collect()
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
    let (began, at) = (Instant::now(), jiff::Timestamp::now());
    let at = jiff::Timestamp::from_second(at.as_second()).expect("a time");
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
    let unset: Vec<&str> = all
        .iter()
        .filter(|one| !one.is_set())
        .map(|one| one.trap.name)
        .collect();
    all.extend(on_this_machine());
    eprintln!(
        "{} with those on this machine: {:.1} s",
        all.len(),
        began.elapsed().as_secs_f64()
    );
    keep(&all, at);
    assert!(unset.is_empty(), "these need nothing, and were not set: {unset:?}");
    let lacking = lacking(&all);
    assert!(
        lacking.is_empty(),
        "not set where they must be:\n{}",
        lacking.join("\n")
    );
    let wrong: Vec<String> = all.iter().filter_map(Judged::wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut names: Vec<&str> = all.iter().map(|one| one.trap.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a trap counts twice");
    for listed in PLACED.iter().chain(&SERVED) {
        assert!(
            names.contains(&listed.name),
            "neither set nor said why not: {}",
            listed.name
        );
    }
}
