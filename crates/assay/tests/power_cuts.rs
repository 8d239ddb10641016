//! The power fails under the page engine on every stack: what was acknowledged is there, and the controls are found out.
//! Needs root, loop devices and /dev/fuse. `ASSAY_TEST_SIZE=full` makes 200 cuts on each stack.
#![allow(clippy::print_stderr)] // why a test is skipped

mod rig;

use ledger::{Ledger, Measure, Severity};
use rig::Rig;
use std::collections::BTreeMap;
use std::path::Path;

/// Four blocks, the fewest that a study has.
const BLOCKS: u32 = 4;

fn cuts() -> u32 {
    match std::env::var("ASSAY_TEST_SIZE").as_deref() {
        Ok("full") => 200 / BLOCKS,
        _ => 1,
    }
}

fn study(dir: &Path, stacks: &str) -> String {
    let dir = dir.display();
    let large = if stacks.contains("\"large\"") {
        format!("[luns.large]\nfiles = {{ size = \"304MiB\", dir = \"{dir}\" }}\nmodel = \"plain\"\n")
    } else {
        String::new()
    };
    format!(
        r#"
[study]
name = "cuts"
time_limit = "4h"
blocks = {BLOCKS}
seed = 3
[luns.data]
files = {{ count = 1, size = "128MiB", dir = "{dir}" }}
model = "plain"
{large}[luns.redo]
files = {{ count = 1, size = "16MiB", dir = "{dir}" }}
model = "plain"
{stacks}
[database]
cache = "4MiB"
schemas = 8
scale = "8MiB"
redo_size = "4MiB"
checkpoint = "100ms"
[[phase]]
name = "cuts"
kind = "power_cut"
cuts = {}
earliest = "50ms"
latest = "300ms"
sessions = 8
work_unit = 4
"#,
        cuts()
    )
}

fn stack(name: &str, kind: &str, more: &str) -> String {
    // Only where there is no file system to hold the log: what is written anew for each trial takes most of the time.
    let redo = if kind == "raw" { "redo = \"redo\"\n" } else { "" };
    // The smallest that mkfs.xfs takes.
    let data = if kind == "xfs" { "large" } else { "data" };
    format!("[[stack]]\nname = \"{name}\"\nkind = \"{kind}\"\ndata = \"{data}\"\n{redo}{more}\n")
}

/// Sums of the cuts' measures by stack.
type Sums = BTreeMap<String, BTreeMap<Measure, f64>>;

fn run(rig: &Rig, stacks: &str) -> Option<(Sums, Vec<ledger::Event>, String)> {
    run_study(rig, &study(&rig.work(), stacks))
}

fn run_study(rig: &Rig, text: &str) -> Option<(Sums, Vec<ledger::Event>, String)> {
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("cuts", text), rig.result("cuts"));
    let ran = rig.run(&study, &result, &[]);
    ran.expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let mut sums = Sums::new();
    for phase in ledger.phases().expect("phases") {
        let trial = trials.iter().find(|t| t.id == phase.run.trial).expect("its trial");
        let of = sums.entry(trial.stack.clone()).or_default();
        for row in measures.iter().filter(|row| row.phase == phase.id) {
            *of.entry(row.row.0).or_default() += row.row.1;
        }
    }
    Some((sums, ledger.events().expect("events"), ran.stdout))
}

fn able() -> Option<Rig> {
    if !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: needs /dev/fuse");
        return None;
    }
    Rig::new(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"])
}

#[test]
fn what_is_acknowledged_survives_the_power_on_every_stack() {
    let Some(rig) = able() else { return };
    let stacks = [
        stack("ext4", "ext4", ""),
        stack("xfs", "xfs", ""),
        stack("btrfs", "btrfs", ""),
        stack("raw", "raw", ""),
        stack("group", "diskgroup", ""),
    ]
    .concat();
    let Some((sums, events, said)) = run(&rig, &stacks) else {
        return;
    };
    assert_eq!(sums.len(), 5);
    for (stack, of) in &sums {
        assert_eq!(of[&Measure::CutsMade], f64::from(BLOCKS * cuts()), "{stack}");
        assert!(
            of[&Measure::CutsAcknowledged] > 20.0,
            "{stack}: too little to lose: {of:?}"
        );
        let lost = [
            Measure::CutsLosing,
            Measure::CutsLost,
            Measure::CutsHalf,
            Measure::CutsOlder,
        ];
        let told: Vec<&str> = events.iter().map(|e| e.text.as_str()).collect();
        assert!(lost.iter().all(|m| of[m] == 0.0), "{stack}: {of:?}\n{told:#?}");
        eprintln!(
            "{stack}: {} cuts, {} with writes unflushed, {} bytes of {} lost, {} acknowledged, all kept",
            of[&Measure::CutsMade],
            of[&Measure::CutsUnflushed],
            of[&Measure::CutsLostBytes],
            of[&Measure::CutsUnflushedBytes],
            of[&Measure::CutsAcknowledged]
        );
    }
    // The cuts must have had something to lose, or they prove nothing.
    let hit: f64 = sums.values().map(|of| of[&Measure::CutsLostBytes]).sum();
    assert!(hit > 0.0, "no cut lost a byte: {sums:?}");
    assert!(events.iter().any(|e| e.text.contains("kept all")), "{events:?}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("kept all"), "{said}");
}

#[test]
fn an_engine_without_flushes_and_file_systems_without_barriers_are_found_out() {
    let Some(rig) = able() else { return };
    // One of each sort by default.
    let mut stacks = stack("ext4 without", "ext4", "mount_options = [\"nobarrier\"]");
    stacks += &stack("raw without flush", "raw", "inject = { flush_lost = true }");
    if cuts() > 1 {
        stacks += &stack("no flush", "xfs", "inject = { flush_lost = true }");
        stacks += &stack("btrfs without", "btrfs", "mount_options = [\"nobarrier\"]");
    }
    let Some((sums, events, said)) = run(&rig, &stacks) else {
        return;
    };
    for (stack, of) in &sums {
        let (made, hit, losing) = (
            of[&Measure::CutsMade],
            of[&Measure::CutsUnflushed],
            of[&Measure::CutsLosing],
        );
        eprintln!("{stack}: {made} cuts, {hit} with writes unflushed, {losing} lost data");
        assert!(
            hit > 0.0 && losing >= 0.95 * hit,
            "{stack}: {losing} of {hit} cuts: {of:?}"
        );
    }
    let lost = |e: &&ledger::Event| e.severity == Severity::Warning && e.text.contains("DATA LOST");
    assert!(events.iter().filter(lost).count() > 0);
    assert!(said.contains("LOST DATA"), "{said}");
}

#[test]
fn a_pool_keeps_what_is_acknowledged_and_one_without_sync_is_found_out() {
    let Some(rig) = able().filter(|_| rig::has_openzfs()) else {
        return;
    };
    let pool = |name, more| stack(name, "zfs", &format!("arc_max = \"64MiB\"\n{more}"));
    let stacks = [pool("pool", ""), pool("no sync", "sync = \"disabled\"\n")].concat();
    // So little is written that no transaction group is closed for its size in the time of a cut: without sync all of it is lost.
    let text =
        study(&rig.work(), &stacks).replace("checkpoint = \"100ms\"", "checkpoint = \"10s\"\ntorn_pages = \"none\"");
    assert!(text.contains("torn_pages"), "the study has another checkpoint by now");
    let Some((sums, events, _)) = run_study(&rig, &text) else {
        return;
    };
    for (stack, of) in &sums {
        let [made, acknowledged, losing, lost, not_up, held_bytes] = [
            Measure::CutsMade,
            Measure::CutsAcknowledged,
            Measure::CutsLosing,
            Measure::CutsLost,
            Measure::CutsNotUp,
            Measure::CutsUnflushedBytes,
        ]
        .map(|measure| of[&measure]);
        eprintln!(
            "{stack}: {made} cuts, {losing} losing, {not_up} not up; {acknowledged} acknowledged, {lost} of them lost; \
             {held_bytes} bytes unflushed, {} of them lost",
            of[&Measure::CutsLostBytes]
        );
        assert_eq!(made, f64::from(BLOCKS * cuts()), "{stack}");
        assert!(acknowledged > 20.0, "{stack}: too little to lose: {of:?}");
    }
    let told: Vec<&str> = events.iter().map(|e| e.text.as_str()).collect();
    let kept = &sums["pool"];
    for measure in [
        Measure::CutsLosing,
        Measure::CutsLost,
        Measure::CutsHalf,
        Measure::CutsOlder,
    ] {
        assert_eq!(kept[&measure], 0.0, "{}: {told:#?}", measure.name());
    }
    // Without sync an acknowledgement waits for nothing: every cut hits writes that lie in the process's memory.
    let control = &sums["no sync"];
    assert!(
        control[&Measure::CutsLosing] >= 0.95 * control[&Measure::CutsMade],
        "{control:?}\n{told:#?}"
    );
}
