//! Traps: situations built to mislead, in each of which the sheet must say so, and honest twins in which it must not.
//!
//! Prevents: an objection that the sheet answers on paper only, and a line that cries wolf.
//!
//! Simulated devices need nothing: those traps are set beside all other tests (`traps_simulated`). Real ones need root
//! and loop devices. `ASSAY_TEST_SIZE=full` sets the heavier ones too. The counts, and every trap that was not set with
//! the reason, are printed. Where `ASSAY_TRAPS` names a file, all traps are set here, one after the other, and written
//! to it as data. Where `CI` is set, and where root could attach loop devices, a trap that lacks a tool is a failure.

mod below;
mod kept;
mod limited;
pub(crate) mod modelled;
mod on_devices;
mod placed;
pub(crate) mod recorded;
mod served;
pub(crate) mod sheet;

use crate::bench::Bench;
use crate::rig::Rig;
use on_devices::{PLACED, SERVED};
use sheet::{Judged, summed};
use std::path::PathBuf;
use std::time::Instant;

/// The file that is to hold the data of all traps.
pub(crate) fn asked_file() -> Option<PathBuf> {
    std::env::var_os("ASSAY_TRAPS").map(PathBuf::from)
}

/// Traps that no neighbour on this machine can touch.
pub(crate) fn simulated(bench: &Bench) -> Vec<Judged> {
    let began = Instant::now();
    let mut all = modelled::all(bench);
    eprintln!(
        "{} on simulated devices: {:.1} s",
        all.len(),
        began.elapsed().as_secs_f64()
    );
    all.extend(recorded::all(bench));
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
    assert!(unset.is_empty(), "these need nothing, and were not set: {unset:?}");
    for listed in PLACED.iter().chain(&SERVED) {
        let twice = all.iter().any(|one| one.trap.name == listed.name);
        assert!(!twice, "a trap counts twice: {}", listed.name);
    }
    all
}

/// Says what came of the traps, keeps it where it is asked for, and fails where one is wrong.
pub(crate) fn hold(all: &[Judged], began: jiff::Timestamp) {
    keep(all, began);
    let wrong: Vec<String> = all.iter().filter_map(Judged::wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut names: Vec<&str> = all.iter().map(|one| one.trap.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a trap counts twice");
}

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
    if let Some(place) = asked_file() {
        std::fs::write(&place, format!("{data:#}\n")).expect("written");
    }
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

/// Now, in whole seconds.
pub(crate) fn now() -> jiff::Timestamp {
    let at = jiff::Timestamp::now();
    jiff::Timestamp::from_second(at.as_second()).expect("a time")
}

#[test]
fn every_trap_is_caught_and_no_honest_twin_is_flagged() {
    let (began, at) = (Instant::now(), now());
    let mut all = match asked_file() {
        Some(_) => simulated(&Bench::new()),
        None => Vec::new(),
    };
    all.extend(on_this_machine());
    eprintln!(
        "{} with those on this machine: {:.1} s",
        all.len(),
        began.elapsed().as_secs_f64()
    );
    hold(&all, at);
    let lacking = lacking(&all);
    assert!(
        lacking.is_empty(),
        "not set where they must be:\n{}",
        lacking.join("\n")
    );
    for listed in PLACED.iter().chain(&SERVED) {
        assert!(
            all.iter().any(|one| one.trap.name == listed.name),
            "neither set nor said why not: {}",
            listed.name
        );
    }
}
