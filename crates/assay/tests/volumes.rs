//! LVM and md on a kernel that has them: the guest of `benches/guest` builds, loads and drives every layout, gives a
//! verdict, cuts their power, moves and loses their LUNs, leaves foreign volumes alone, and takes runs away that were
//! killed. A guest has one processor, and two tests at a time have one each: none is much longer than the others.
//!
//! Prevents: a layout that no kernel ever made, a comparison without a verdict, writes of a mirror that nobody counts,
//! a move that no device saw, an acknowledgement that a volume loses, a LUN that is not made anew, a volume of somebody
//! else's that is taken, and one that outlives its run.

use crate::machine::{is_full, scratch};
use crate::rig::which;
use ledger::{Ledger, Measure, PhaseStatus};
use report::{Analysis, Status, Verdict};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest's exit code where this host's processor can't run it.
const CANNOT_RUN_HERE: i32 = 75;

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/guest")
}

/// The program that works in the guest: that of `ASSAY_TEST_GUEST_BINARY`, or that of this build.
fn program() -> PathBuf {
    let named = std::env::var_os("ASSAY_TEST_GUEST_BINARY").map(PathBuf::from);
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_assay").into())
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
    let size = if is_full() { "FULL" } else { "SHORT" };
    let settings = settings.iter().copied().chain([(size, "1")]);
    let mut text: String = settings.map(|(name, value)| format!("{name}={value}\n")).collect();
    text.push_str(&format!("source {}\n", place().join(script).display()));
    std::fs::write(own.path(), text).expect("written");
    let ended = Command::new(place().join("guest.sh"))
        // Its disks are files there.
        .env("TMPDIR", scratch())
        .args(["--luns", "9", "--size", "96M", "--memory", "1G"])
        .args(["--time", if is_full() { "10800" } else { "1800" }, "--assay"])
        .arg(program())
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
    let ended = if is_full() {
        "layouts 0\nlooked"
    } else {
        "verdict 0\nlayouts 0\nlooked"
    };
    let progress = || format!("{}{}", read("verdict-progress.txt"), read("layouts-progress.txt"));
    assert!(said.contains(ended), "{said}\n{}", progress());
    let ledger = Ledger::open(out.path().join("layouts.assay")).expect("a result");
    let stacks = ledger.stacks().expect("its stacks");
    assert_eq!(stacks.len(), if is_full() { 20 } else { 13 });
    assert!(stacks.iter().all(|stack| stack.skipped.is_none()), "{stacks:?}");
    // With a volume manager a file system is one layer, as a disk group is; a loop device and its file are two more.
    let of_devices = |stack: &&ledger::Stack| stack.data_lun_set.as_deref() != Some("files");
    let group = stacks[0].group();
    let alike = stacks.iter().filter(of_devices).all(|stack| stack.group() == group);
    assert!(alike, "{stacks:?}");
    let phases = ledger.phases().expect("its phases");
    let failed = |phase: &&ledger::Phase| matches!(phase.run.status, PhaseStatus::Failed(_));
    let failed: Vec<_> = phases.iter().filter(failed).collect();
    let least = if is_full() { 4 * stacks.len() } else { stacks.len() };
    assert!(
        failed.is_empty() && phases.len() >= least,
        "{failed:?} of {}",
        phases.len()
    );
    members_get_each_write_as_often_as_there_are_copies(&ledger);
    match is_full() {
        true => a_verdict_is_given(&ledger),
        false => a_verdict_is_given(&Ledger::open(out.path().join("verdict.assay")).expect("a result")),
    }
}

/// Each comparison has a verdict, or says that it has none yet; each has a ratio inside its interval. The report knows
/// that it speaks of a guest.
fn a_verdict_is_given(ledger: &Ledger) {
    let analysis = Analysis::of(ledger).expect("an analysis");
    let linear = analysis.comparisons.iter().find(|one| one.stack == "linear");
    let linear = linear.unwrap_or_else(|| panic!("it is not compared: {:?}", analysis.unranked));
    assert_eq!((linear.base.as_str(), linear.phase.as_str()), ("group", "age"));
    for one in &analysis.comparisons {
        eprintln!("{} against {}: {}", one.stack, one.base, one.words);
        let figures = [one.low, one.ratio, one.high].map(|figure| figure.unwrap_or(f64::NAN));
        let sound = figures.iter().all(|figure| figure.is_finite() && *figure > 0.0);
        assert!(sound && figures.is_sorted(), "{one:?}");
        let agrees = match one.verdict {
            Verdict::Better => figures[1] > 1.0,
            Verdict::Worse => figures[1] < 1.0,
            Verdict::Equivalent | Verdict::NotEnoughData => true,
        };
        assert!(agrees && one.n.is_some_and(|blocks| blocks >= 4), "{one:?}");
    }
    let of_guest = analysis
        .checks
        .iter()
        .find(|check| check.subject == "guest's processors");
    assert_eq!(of_guest.map(|check| check.status), Some(Status::Note));
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
    let times = |stack: &str| {
        let volume = bytes(stack, Measure::NearWriteBytes);
        bytes(stack, Measure::LowWriteBytes) / volume
    };
    let rare: &[_] = match is_full() {
        true => &[
            ("three stripes", 1.0),
            ("raid1 waits", 2.0),
            ("raid10 waits", 2.0),
            ("array", 1.0),
        ],
        false => &[],
    };
    let plain = [
        ("linear", 1.0),
        ("striped", 1.0),
        ("mirror", 2.0),
        ("raid0", 1.0),
        ("raid1", 4.0),
        ("raid10", 2.0),
    ];
    for (stack, copies) in plain.iter().chain(rare) {
        let times = times(stack);
        assert!((times / copies - 1.0).abs() < 0.01, "{stack}: {times} times");
    }
    // A snapshot's copies, wherever they lie: on the LUN after the volume's in a linear layout.
    let snapshots: &[_] = match is_full() {
        true => &[("cow", 1.0), ("linear cow", 1.0), ("mirror cow", 2.0)],
        false => &[("cow", 1.0)],
    };
    for (stack, copies) in snapshots {
        let times = times(stack);
        assert!(times > 1.1 * copies, "{stack}: {times} times");
    }
}

/// Twenty with [`more_runs_that_are_killed_leave_nothing`].
#[test]
fn runs_that_are_killed_leave_nothing() {
    killed_runs_leave_nothing(1..=10, "3");
}

#[test]
fn more_runs_that_are_killed_leave_nothing() {
    killed_runs_leave_nothing(11..=20, "4");
}

/// By their number goes what they do when they are killed.
fn killed_runs_leave_nothing(kills: RangeInclusive<usize>, seed: &str) {
    let out = tempfile::tempdir().expect("a directory");
    let (first, last) = (kills.start().to_string(), kills.end().to_string());
    // Every other seed begins with another layout.
    let settings = [("FIRST", &*first), ("KILLS", &last), ("WITHIN", "3000"), ("SEED", seed)];
    let Some(said) = guest("kills.sh", out.path(), &settings) else {
        return;
    };
    assert!(!said.contains("left:"), "{said}");
    let count = kills.clone().count();
    assert_eq!(said.matches(": clean 0\nlooked").count(), count, "{said}");
    for (study, nth) in [("moves", 2), ("cuts", 0)] {
        let of_study = kills.clone().filter(|kill| kill % 4 == nth).count();
        assert_eq!(said.matches(&format!(" in {study} after ")).count(), of_study, "{said}");
    }
    eprintln!("{said}");
}

/// One guest for both.
#[test]
fn foreign_volumes_are_left_alone_and_what_is_acknowledged_survives_cuts() {
    let out = tempfile::tempdir().expect("a directory");
    let cuts = if is_full() { 13 } else { 2 };
    let settings = [("CUTS", &*cuts.to_string()), ("SEED", "3")];
    let Some(said) = guest("rest.sh", out.path(), &settings) else {
        return;
    };
    assert!(!said.contains("left:"), "{said}");
    what_is_foreign_or_missing_is_refused(&said);
    Brought { said, out: out.path() }.what_is_acknowledged_survives_the_power(cuts);
}

#[test]
fn a_lun_is_moved_and_a_lost_one_is_made_anew() {
    let out = tempfile::tempdir().expect("a directory");
    let Some(said) = guest("moves.sh", out.path(), &[]) else {
        return;
    };
    assert!(!said.contains("left:"), "{said}");
    Brought { said, out: out.path() }.luns_were_moved_and_lost_ones_made_anew();
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
        let cure = format!(
            "modprobe {module}, or use a guest that has it: guest.sh STUDY (in benches/guest or /usr/share/assay/guest)"
        );
        assert!(said.contains(&why) && said.contains(&cure), "{said}");
    }
}

/// The stack of `cuts.toml` that must lose something.
const WITHOUT_BARRIERS: &str = "mirror without barriers";

/// What a guest brought.
struct Brought<'a> {
    said: String,
    out: &'a Path,
}

/// What a stack did in all blocks, in phases of one name.
#[derive(Debug, Default)]
struct Did {
    /// Phases that were recorded, one in each block.
    phases: u32,
    /// Sums over them.
    sums: BTreeMap<Measure, f64>,
}

impl Did {
    /// What was measured; nothing where no phase has it.
    fn get(&self, measure: Measure) -> Option<f64> {
        self.sums.get(&measure).copied()
    }

    /// The same, and 0 where no phase has it.
    fn at(&self, measure: Measure) -> f64 {
        self.get(measure).unwrap_or_default()
    }
}

/// By stack.
fn did(ledger: &Ledger, name: &str) -> BTreeMap<String, Did> {
    let trials = ledger.trials().expect("its trials");
    let measures = ledger.measures().expect("its measures");
    let mut all = BTreeMap::<String, Did>::new();
    for phase in ledger.phases().expect("its phases") {
        if phase.run.name != name {
            continue;
        }
        let trial = trials
            .iter()
            .find(|trial| trial.id == phase.run.trial)
            .expect("a trial");
        let of = all.entry(trial.stack.clone()).or_default();
        of.phases += 1;
        for row in measures.iter().filter(|row| row.phase == phase.id) {
            *of.sums.entry(row.row.0).or_default() += row.row.1;
        }
    }
    let least = if is_full() { 4 } else { 1 };
    assert!(all.values().all(|of| of.phases >= least), "{all:?}");
    all
}

impl Brought<'_> {
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.out.join(name)).unwrap_or_default()
    }

    fn ledger(&self, name: &str) -> Ledger {
        Ledger::open(self.out.join(name)).expect("a result")
    }

    fn what_is_acknowledged_survives_the_power(&self, cuts: u32) {
        let progress = self.read("cuts-progress.txt");
        assert!(self.said.contains("cuts 0\nlooked"), "{}\n{progress}", self.said);
        let did = did(&self.ledger("cuts.assay"), "cuts");
        assert_eq!(did.len(), if is_full() { 6 } else { 2 }, "{:?}", did.keys());
        for (stack, of) in &did {
            let made = f64::from(of.phases * cuts);
            let shown = || format!("{stack}: {of:?}\n{}\n{progress}", self.read("cuts.txt"));
            assert_eq!(of.at(Measure::CutsMade), made, "{}", shown());
            assert!(of.at(Measure::CutsAcknowledged) > 0.0, "{stack}: nothing to lose");
            let lost = [
                Measure::CutsLosing,
                Measure::CutsLost,
                Measure::CutsHalf,
                Measure::CutsOlder,
            ];
            if stack == WITHOUT_BARRIERS {
                // What came before the power went counts: not all cuts keep it by chance.
                assert!(of.at(Measure::CutsLosing) > 0.0, "{}", shown());
                eprintln!("{stack}: {} of {made} cuts lost data", of.at(Measure::CutsLosing));
                continue;
            }
            assert!(lost.iter().all(|one| of.at(*one) == 0.0), "{}", shown());
            // With the write hole or without it: where the cut comes is chance.
            let looked_at = if stack.starts_with("raid5") { made } else { 0.0 };
            assert_eq!(of.at(Measure::CutsParityLookedAt), looked_at, "{stack}: {of:?}");
            eprintln!(
                "{stack}: {made} cuts, {} hit, {} acknowledged, all kept; stale parity after {}: {} B",
                of.at(Measure::CutsUnflushed),
                of.at(Measure::CutsAcknowledged),
                of.at(Measure::CutsStaleParity),
                of.at(Measure::CutsStaleParityBytes),
            );
        }
    }

    fn luns_were_moved_and_lost_ones_made_anew(&self) {
        let progress = || format!("{}{}", self.read("moves-progress.txt"), self.read("lost-progress.txt"));
        let (moved, lost) = if is_full() { (5, 4) } else { (2, 2) };
        let mut studies = vec![("moves", "moved", moved), ("lost", "made anew", lost)];
        if is_full() {
            studies.push(("moves-four", "moved", 2));
        }
        let ended: String = studies.iter().map(|(study, ..)| format!("{study} 0\n")).collect();
        assert!(
            self.said.contains(&format!("{ended}looked")),
            "{}\n{}",
            self.said,
            progress()
        );
        for (study, name, stacks) in studies {
            let ledger = self.ledger(&format!("{study}.assay"));
            let did = did(&ledger, name);
            assert_eq!(did.len(), stacks, "{:?}", did.keys());
            for (stack, of) in &did {
                let (moved, ideal) = (of.at(Measure::RebalanceMovedBytes), of.at(Measure::RebalanceIdealBytes));
                // A disk group moves whole allocation units.
                let least = if stack == "group" { 1.0 } else { ideal };
                assert!(moved >= least && ideal > 0.0, "{stack}: {moved} of {ideal}");
                // What a tool says is no count: the LUNs have one. One that is lost may take its count with it.
                let seen = devices_saw_the_move(stack, of);
                assert!(seen || study == "lost", "{study}: {stack}: nobody counted");
            }
            let phases = ledger.phases().expect("its phases");
            for phase in phases.iter().filter(|phase| phase.run.name != "loss") {
                assert_eq!(phase.run.status, PhaseStatus::Valid, "{study}: {}", phase.run.name);
            }
        }
        self.losses_are_told(lost);
    }

    /// A phase in which a LUN is lost does not count, and says why.
    fn losses_are_told(&self, stacks: usize) {
        let phases = self.ledger("lost.assay").phases().expect("its phases");
        let losses: Vec<_> = phases.iter().filter(|phase| phase.run.name == "loss").collect();
        let count = losses.len();
        assert!(count > 0 && count.is_multiple_of(stacks), "{count} of {stacks} stacks");
        for loss in losses {
            let why = match &loss.run.status {
                PhaseStatus::Invalid(why) => why.clone(),
                other => format!("{other:?}"),
            };
            assert!(why.starts_with("md lost ") || why.starts_with("LVM lost "), "{why}");
        }
    }
}

/// The LUNs of a stack were sent what it says that it moved, and little beside what its volume was asked to write.
/// `false`: nobody counted.
fn devices_saw_the_move(stack: &str, of: &Did) -> bool {
    let moved = of.at(Measure::RebalanceMovedBytes);
    let (Some(asked), Some(sent)) = (of.get(Measure::NearWriteBytes), of.get(Measure::LowWriteBytes)) else {
        return false;
    };
    eprintln!("{stack}: {moved} B moved, {asked} B asked of the volume, {sent} B sent to its LUNs");
    // The LUNs of a disk group are its nearest devices: they hold the move.
    let asked = if stack == "group" { 0.0 } else { asked };
    assert!(
        sent - asked >= moved * 0.99,
        "{stack}: {moved} of {sent}, {asked} asked"
    );
    // Where work only reads, next to nothing was asked: then a few percent are all there is beside the move. A write of
    // parity has two parts, one of a mirror a part for each copy, and the new LUN gets its part too. Labels,
    // superblocks and a mirror's notes are written at each step.
    let beside = moved * 0.05 + asked * 5.0 + f64::from(of.phases) * f64::from(8 << 20);
    if stack != "group" {
        assert!(sent <= moved + beside, "{stack}: {moved} of {sent}, {asked} asked");
    }
    true
}
