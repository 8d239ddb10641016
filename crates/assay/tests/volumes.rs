//! LVM and md on a kernel that has them: the guest of `benches/guest` builds, loads and drives every layout, and takes
//! runs away that were killed. And on this machine: what `check` says of them.
//!
//! Prevents: a layout that no kernel ever made, writes of a mirror that nobody counts, and a volume that outlives its
//! run.

use crate::rig::which;
use ledger::{Ledger, Measure, PhaseStatus};
use std::path::{Path, PathBuf};
use std::process::Command;

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/guest")
}

/// What a script of the guest said; `None`, with the reason printed, where the guest's packages are not.
fn guest(script: &str, out: &Path, settings: &[(&str, &str)]) -> Option<String> {
    for tool in ["linux.uml", "lvm", "mdadm", "thin_check", "modprobe"] {
        if which(tool).is_none() {
            assert!(
                std::env::var_os("CI").is_none(),
                "{tool} is missing, and ./test installs it"
            );
            eprintln!("skipped: needs {tool}; ./test installs it");
            return None;
        }
    }
    // The guest passes no variables on: they are written before the script's own lines.
    let own = tempfile::NamedTempFile::new().expect("a file");
    let mut text: String = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    text.push_str(&format!("source {}\n", place().join(script).display()));
    std::fs::write(own.path(), text).expect("written");
    let ended = Command::new(place().join("guest.sh"))
        .args([
            "--luns", "7", "--size", "96M", "--memory", "1G", "--time", "900", "--assay",
        ])
        .arg(env!("CARGO_BIN_EXE_assay"))
        .arg("--out")
        .arg(out)
        .arg("--script")
        .arg(own.path())
        .output()
        .expect("the guest's end");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let beside = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}\n{beside}");
    Some(said)
}

#[test]
fn every_layout_is_built_driven_and_taken_away() {
    let out = tempfile::tempdir().expect("a directory");
    let Some(said) = guest("layouts.sh", out.path(), &[]) else {
        return;
    };
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap_or_default();
    assert!(said.contains("run 0\nlooked"), "{said}\n{}", read("progress.txt"));
    let ledger = Ledger::open(out.path().join("layouts.assay")).expect("a result");
    let stacks = ledger.stacks().expect("its stacks");
    assert_eq!(stacks.len(), 11);
    assert!(stacks.iter().all(|stack| stack.skipped.is_none()), "{stacks:?}");
    // With a volume manager a file system is one layer, as a disk group is.
    let group = stacks[0].group();
    assert!(stacks.iter().all(|stack| stack.group() == group), "{stacks:?}");
    let phases = ledger.phases().expect("its phases");
    let failed = |phase: &&ledger::Phase| matches!(phase.run.status, PhaseStatus::Failed(_));
    let failed: Vec<_> = phases.iter().filter(failed).collect();
    assert!(
        failed.is_empty() && phases.len() >= 4 * stacks.len(),
        "{failed:?} of {}",
        phases.len()
    );
    members_get_each_write_as_often_as_there_are_copies(&ledger);
}

/// Summed over all phases: what the volume was asked to write, and what its LUNs were.
fn members_get_each_write_as_often_as_there_are_copies(ledger: &Ledger) {
    let trials = ledger.trials().expect("its trials");
    let phases = ledger.phases().expect("its phases");
    let measures = ledger.measures().expect("its measures");
    let bytes = |stack: &str, asked: Measure| -> f64 {
        let of_stack = |id: ledger::PhaseId| {
            let phase = phases.iter().find(|phase| phase.id == id).expect("a phase");
            let trial = trials
                .iter()
                .find(|trial| trial.id == phase.run.trial)
                .expect("a trial");
            trial.stack == stack
        };
        let mine = measures.iter().filter(|one| one.row.0 == asked && of_stack(one.phase));
        mine.map(|one| one.row.1).sum()
    };
    for (stack, copies) in [
        ("linear", 1.0),
        ("striped", 1.0),
        ("mirror", 2.0),
        ("raid0", 1.0),
        ("raid1", 4.0),
    ] {
        let (volume, members) = (
            bytes(stack, Measure::NearWriteBytes),
            bytes(stack, Measure::LowWriteBytes),
        );
        let times = members / volume;
        assert!(
            (times / copies - 1.0).abs() < 0.01,
            "{stack}: {members} of {volume} are {times} times"
        );
    }
}

#[test]
fn what_a_killed_run_left_of_volumes_is_taken_away() {
    let out = tempfile::tempdir().expect("a directory");
    let kills = if std::env::var("ASSAY_TEST_SIZE").as_deref() == Ok("full") {
        "20"
    } else {
        "4"
    };
    let Some(said) = guest("kills.sh", out.path(), &[("KILLS", kills), ("SEED", "3")]) else {
        return;
    };
    assert!(!said.contains("left:"), "{said}");
    assert_eq!(said.matches(": clean 0\nlooked").count().to_string(), kills, "{said}");
}
