//! LVM and md on a kernel that has them: the guest of `benches/guest` builds, loads and drives every layout, cuts their
//! power, moves and loses their LUNs, leaves foreign volumes alone, and takes runs away that were killed.
//!
//! Prevents: a layout that no kernel ever made, writes of a mirror that nobody counts, an acknowledgement that a volume
//! loses, a LUN that is not made anew, a volume of somebody else's that is taken, and one that outlives its run.

use crate::machine::is_full;
use crate::rig::which;
use ledger::{Ledger, Measure, PhaseStatus};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest's exit code where this host's processor can't run it.
const CANNOT_RUN_HERE: i32 = 75;

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/guest")
}

/// What a script of the guest said; `None`, with the reason printed, where the guest's packages are not, or
/// where no guest can run.
pub(crate) fn guest(script: &str, out: &Path, settings: &[(&str, &str)]) -> Option<String> {
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
        .args(["--luns", "7", "--size", "96M", "--memory", "1G"])
        .args(["--time", if is_full() { "7200" } else { "1800" }, "--assay"])
        .arg(env!("CARGO_BIN_EXE_assay"))
        .arg("--out")
        .arg(out)
        .arg("--script")
        .arg(own.path())
        .output()
        .expect("the guest's end");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let beside = String::from_utf8_lossy(&ended.stderr);
    if ended.status.code() == Some(CANNOT_RUN_HERE) {
        eprintln!("skipped: {beside}");
        return None;
    }
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
        ("raid10", 2.0),
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
fn twenty_runs_that_are_killed_leave_nothing() {
    let out = tempfile::tempdir().expect("a directory");
    // Every other seed begins with another layout.
    let settings = [("KILLS", "20"), ("WITHIN", "4000"), ("SEED", "3")];
    let Some(said) = guest("kills.sh", out.path(), &settings) else {
        return;
    };
    assert!(!said.contains("left:"), "{said}");
    assert_eq!(said.matches(": clean 0\nlooked").count(), 20, "{said}");
    for study in ["moves", "cuts"] {
        assert_eq!(said.matches(&format!(" in {study} after ")).count(), 5, "{said}");
    }
    eprintln!("{said}");
}

/// One guest for all of it: it takes longer to boot than some of them.
#[test]
fn foreign_volumes_are_left_alone_and_what_is_acknowledged_survives_cuts_and_lost_luns() {
    let out = tempfile::tempdir().expect("a directory");
    let (cuts, full) = if is_full() { (13, "1") } else { (1, "") };
    let settings = [("CUTS", &*cuts.to_string()), ("SEED", "3"), ("FULL", full)];
    let Some(said) = guest("rest.sh", out.path(), &settings) else {
        return;
    };
    assert!(!said.contains("left:"), "{said}");
    what_is_foreign_or_missing_is_refused(&said);
    let rest = Rest { said, out: out.path() };
    rest.what_is_acknowledged_survives_the_power(cuts);
    rest.a_lun_is_moved_and_a_lost_one_is_made_anew();
}

fn what_is_foreign_or_missing_is_refused(said: &str) {
    for (study, words) in [
        ("group-at-work", "/dev/ubdb"),
        ("array-at-work", "/dev/ubdc"),
        ("group-at-rest", "LVM2 physical volume"),
        ("array-at-rest", "md RAID member"),
        ("no-lvm", "install lvm2"),
        ("no-mdadm", "install mdadm"),
    ] {
        let told = said
            .lines()
            .find(|line| line.starts_with(&format!("{study}: exit 3: ")));
        assert!(told.is_some_and(|line| line.contains(words)), "{study}: {said}");
    }
    for kept in ["unchanged", "their group works", "their array works"] {
        assert!(said.lines().any(|line| line == kept), "{kept}: {said}");
    }
}

#[test]
fn a_kernel_without_volumes_is_told_with_its_cure() {
    let lacks = |path: &str| !Path::new(path).exists();
    if !rustix::process::geteuid().is_root() || !lacks("/sys/class/misc/device-mapper") || !lacks("/proc/mdstat") {
        eprintln!("skipped: needs root on a kernel without device mapper and md");
        return;
    }
    let asked = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("stacks")
        .output()
        .expect("its end");
    let said = String::from_utf8_lossy(&asked.stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for (kind, module) in [("lvm", "dm-mod"), ("md", "md-mod")] {
        let why = format!("this kernel has no {kind} (module {module})");
        let cure = format!("modprobe {module}, or use a guest that has it: benches/guest/guest.sh STUDY");
        assert!(said.contains(&why) && said.contains(&cure), "{said}");
    }
}

/// The stack of `cuts.toml` that must lose something.
const WITHOUT_BARRIERS: &str = "mirror without barriers";

/// What a guest brought.
struct Rest<'a> {
    said: String,
    out: &'a Path,
}

/// Sums of a stack's measures, in phases of this name.
fn sums(ledger: &Ledger, name: &str) -> BTreeMap<String, BTreeMap<Measure, f64>> {
    let trials = ledger.trials().expect("its trials");
    let measures = ledger.measures().expect("its measures");
    let mut sums = BTreeMap::<String, BTreeMap<Measure, f64>>::new();
    for phase in ledger.phases().expect("its phases") {
        if phase.run.name != name {
            continue;
        }
        let trial = trials
            .iter()
            .find(|trial| trial.id == phase.run.trial)
            .expect("a trial");
        let of = sums.entry(trial.stack.clone()).or_default();
        for row in measures.iter().filter(|row| row.phase == phase.id) {
            *of.entry(row.row.0).or_default() += row.row.1;
        }
    }
    sums
}

impl Rest<'_> {
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.out.join(name)).unwrap_or_default()
    }

    fn ledger(&self, name: &str) -> Ledger {
        Ledger::open(self.out.join(name)).expect("a result")
    }

    fn what_is_acknowledged_survives_the_power(&self, cuts: u32) {
        let progress = self.read("cuts-progress.txt");
        assert!(self.said.contains("cuts 0\nlooked"), "{}\n{progress}", self.said);
        let sums = sums(&self.ledger("cuts.assay"), "cuts");
        assert_eq!(sums.len(), if is_full() { 5 } else { 4 }, "{:?}", sums.keys());
        for (stack, of) in &sums {
            let at = |measure| of.get(&measure).copied().unwrap_or_default();
            let made = f64::from(4 * cuts);
            let shown = || format!("{stack}: {of:?}\n{}\n{progress}", self.read("cuts.txt"));
            assert_eq!(at(Measure::CutsMade), made, "{}", shown());
            assert!(at(Measure::CutsAcknowledged) > 0.0, "{stack}: nothing to lose");
            let lost = [
                Measure::CutsLosing,
                Measure::CutsLost,
                Measure::CutsHalf,
                Measure::CutsOlder,
            ];
            let all = lost.iter().all(|one| at(*one) == 0.0);
            if stack == WITHOUT_BARRIERS {
                // What came before the power went counts: all four cuts keep it by no chance.
                assert!(
                    at(Measure::CutsLosing) > 0.0,
                    "{stack}: {of:?}\n{}",
                    self.read("cuts.txt")
                );
                eprintln!("{stack}: {} of {made} cuts lost data", at(Measure::CutsLosing));
                continue;
            }
            assert!(all, "{stack}: {of:?}\n{}", self.read("cuts.txt"));
            // With the write hole or without it: where the cut comes is chance.
            let looked_at = if stack == "raid5" { made } else { 0.0 };
            assert_eq!(at(Measure::CutsParityLookedAt), looked_at, "{stack}: {of:?}");
            eprintln!(
                "{stack}: {made} cuts, {} hit, {} acknowledged, all kept; stale parity after {}: {} B",
                at(Measure::CutsUnflushed),
                at(Measure::CutsAcknowledged),
                at(Measure::CutsStaleParity),
                at(Measure::CutsStaleParityBytes),
            );
        }
    }

    fn a_lun_is_moved_and_a_lost_one_is_made_anew(&self) {
        let progress = || format!("{}{}", self.read("moves-progress.txt"), self.read("lost-progress.txt"));
        let ended = "moves 0\nlost 0\nlooked";
        assert!(self.said.contains(ended), "{}\n{}", self.said, progress());
        let (moved, lost) = if is_full() { (5, 4) } else { (3, 2) };
        for (file, name, stacks) in [("moves.assay", "moved", moved), ("lost.assay", "made anew", lost)] {
            let ledger = self.ledger(file);
            let sums = sums(&ledger, name);
            assert_eq!(sums.len(), stacks, "{:?}", sums.keys());
            for (stack, of) in &sums {
                let (moved, ideal) = (of[&Measure::RebalanceMovedBytes], of[&Measure::RebalanceIdealBytes]);
                // A disk group moves whole allocation units.
                let least = if stack == "group" { 1.0 } else { ideal };
                assert!(moved >= least && ideal > 0.0, "{stack}: {moved} of {ideal}");
            }
            let phases = ledger.phases().expect("its phases");
            for phase in phases.iter().filter(|phase| phase.run.name != "loss") {
                assert_eq!(phase.run.status, PhaseStatus::Valid, "{}", phase.run.name);
            }
        }
        let phases = self.ledger("lost.assay").phases().expect("its phases");
        let losses: Vec<_> = phases.iter().filter(|phase| phase.run.name == "loss").collect();
        assert_eq!(losses.len(), 4 * lost);
        for loss in losses {
            let why = match &loss.run.status {
                PhaseStatus::Invalid(why) => why.clone(),
                other => format!("{other:?}"),
            };
            assert!(why.starts_with("md lost ") || why.starts_with("LVM lost "), "{why}");
        }
    }
}
