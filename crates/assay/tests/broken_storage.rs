//! Storage and tools that fail at the worst moment: the message names the path and the cure, the exit code is the
//! designed one, nothing is left behind, and phases that had finished are in the result file. Needs root and loop
//! devices.

use crate::rig::{Ran, Rig, Running, blocks, limit, text, tool};
use ledger::{Ledger, PhaseStatus, TrialStatus};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const DATABASE: &str = "[database]\ncache = \"4MiB\"\nschemas = 4\nredo_size = \"8MiB\"\ncheckpoint = \"100ms\"\n";

fn head(time_limit: &str) -> String {
    format!(
        "[study]\nname = \"broken\"\nquestion = \"Does it say what broke?\"\ntime_limit = \"{time_limit}\"\n\
         blocks = 4\nseed = 5\nio = \"ring\"\n"
    )
}

fn luns(dir: &Path, mib: u64) -> String {
    format!(
        "[luns.data]\nfiles = {{ count = 1, size = \"{mib}MiB\", dir = \"{}\" }}\n",
        dir.display()
    )
}

fn stack(name: &str, kind: &str, more: &str) -> String {
    format!("[[stack]]\nname = \"{name}\"\nkind = \"{kind}\"\n{more}\n")
}

fn database(scale: &str) -> String {
    format!("{DATABASE}scale = \"{scale}\"\n")
}

/// A phase of random reads of as long as `until` says.
fn reads(name: &str, until: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 8\nwork_unit = 4\n{until}\n")
}

/// The last line says what to do, or the one before what is kept.
fn has_cure(ran: &Ran) {
    let cure = ran
        .stderr
        .lines()
        .any(|line| line.starts_with("  ") && line.trim().len() > 10);
    assert!(cure, "no cure:\n{}", ran.stderr);
}

/// Runs a study that must fail with code 3 saying `words`, and leave nothing.
fn fails(rig: &Rig, study: &str, words: &[&str]) -> Ran {
    let before = rig.belongings(&[]);
    let file = rig.study("broken", study);
    let running = Running::start(rig.run_command(&file, &rig.result("broken"), &[]));
    let pid = running.pid();
    let ran = running.wait();
    ran.expect(3, words);
    has_cure(&ran);
    assert_eq!(rig.belongings(&[pid]), before, "something is left:\n{}", ran.stderr);
    ran
}

/// The phases of a result file that are done, by name, and the reasons of those that failed.
fn phases(result: &Path) -> (Vec<String>, Vec<String>) {
    let ledger = Ledger::open(result).expect("opens");
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for phase in ledger.phases().expect("phases") {
        match phase.run.status {
            PhaseStatus::Failed(why) => failed.push(why),
            _ => done.push(phase.run.name),
        }
    }
    (done, failed)
}

/// `assay report` shows a file that a failed run left.
fn reports(rig: &Rig, result: &Path) -> String {
    let ran = Running::start(rig.assay(&["report", text(result), "--full"])).wait();
    ran.expect(0, &[]);
    ran.stdout
}

/// Runs in a mount name space of its own, where the tool is hidden; PATH alone does not hide what is in /usr/sbin.
fn without(rig: &Rig, tool: &str, run: Command) -> Ran {
    let tool = crate::rig::which(tool).expect("there");
    let hidden = "mount --bind /dev/null \"$1\" && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", hidden, "sh"]);
    command
        .arg(tool.canonicalize().expect("there"))
        .arg(run.get_program())
        .args(run.get_args());
    rig.furnish(&mut command);
    Running::start(command).wait()
}

#[test]
fn a_missing_tool_skips_its_stack_with_reason_and_cure() {
    let Some(rig) = Rig::new(&["mkfs.ext4", "mkfs.btrfs", "unshare"]) else {
        return;
    };
    let before = rig.belongings(&[]);
    let on_data = "data = \"data\"";
    let study = head(limit("1s"))
        + &luns(&rig.work(), 128)
        + &stack("ext4", "ext4", on_data)
        + &stack("cow", "btrfs", on_data)
        + &database("8MiB")
        + &reads("read", "time = \"100ms\"");
    let file = rig.study("broken", &study);
    let result = rig.result("broken");
    let without_it = |more: &[&str]| without(&rig, "mkfs.btrfs", rig.run_command(&file, &result, more));
    // Nothing would be said of the stack, and that is not "not worse".
    let said = ["`cow` would be skipped", "mkfs.btrfs not found", "leave out --fail-on"];
    without_it(&["--fail-on", "worse"]).expect(3, &said);
    assert!(!result.exists(), "refused before the first block");
    let ran = without_it(&[]);
    ran.expect(0, &["`cow` is skipped", "mkfs.btrfs not found", "install btrfs-progs"]);
    assert_eq!(rig.belongings(&[]), before);

    let ledger = Ledger::open(&result).expect("opens");
    let skipped: Vec<_> = ledger
        .stacks()
        .expect("stacks")
        .into_iter()
        .filter_map(|s| s.skipped)
        .collect();
    assert_eq!(skipped.len(), 1);
    assert!(
        skipped[0].reason.contains("mkfs.btrfs") && skipped[0].cure.contains("btrfs-progs"),
        "{skipped:?}"
    );
    let trials = ledger.trials().expect("trials");
    assert!(
        trials.len() >= blocks() as usize
            && trials
                .iter()
                .all(|t| t.stack == "ext4" && t.status == TrialStatus::Done),
        "{trials:?}"
    );
    let report = reports(&rig, &result);
    for word in ["cow", "mkfs.btrfs not found", "install btrfs-progs"] {
        assert!(report.contains(word), "not in the report: {word}\n{report}");
    }

    // The tool is there again: the study that began without it goes on without it.
    rig.run(&file, &result, &["--resume"]).expect(0, &[]);
    let ledger = Ledger::open(&result).expect("opens");
    assert!(ledger.trials().expect("trials").iter().all(|t| t.stack == "ext4"));
    let cow = ledger.stacks().expect("stacks").into_iter().find_map(|s| s.skipped);
    let cow = cow.expect("still skipped");
    assert!(
        cow.reason.contains("mkfs.btrfs") && cow.cure.contains("began without it"),
        "{cow:?}"
    );
}

#[test]
fn a_study_of_which_no_stack_can_be_built_says_why() {
    let Some(rig) = Rig::new(&["mkfs.btrfs", "unshare"]) else {
        return;
    };
    let study = head("10m")
        + &luns(&rig.work(), 128)
        + &stack("cow", "btrfs", "data = \"data\"")
        + &database("8MiB")
        + &reads("read", "time = \"100ms\"");
    let file = rig.study("broken", &study);
    let run = rig.run_command(&file, &rig.result("broken"), &[]);
    let mkfs = crate::rig::which("mkfs.btrfs").expect("there");
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "sh",
        "-c",
        "mount --bind /dev/null \"$1\" && shift && exec \"$@\"",
        "sh",
    ]);
    command
        .arg(mkfs.canonicalize().expect("there"))
        .arg(run.get_program())
        .args(run.get_args());
    rig.furnish(&mut command);
    let ran = Running::start(command).wait();
    ran.expect(3, &["no stack", "mkfs.btrfs not found", "install btrfs-progs"]);
    assert!(!rig.result("broken").exists());
}

#[test]
fn a_full_disk_is_found_before_the_first_lun_is_written() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let small = rig.small_file_system("small", 96);
    let study = head("10m")
        + &luns(&small, 256)
        + &stack("ext4", "ext4", "data = \"data\"")
        + &database("8MiB")
        + &reads("read", "time = \"100ms\"");
    fails(&rig, &study, &[text(&small), "bytes", "free space there"]);
    assert!(!rig.result("broken").exists(), "nothing had begun");
}

#[test]
fn a_disk_that_is_full_during_load_is_named() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let small = rig.small_file_system("small", 96);
    let place = format!("path = \"{}\"", small.display());
    let read = reads("read", "time = \"100ms\"");
    let study = head("10m") + &stack("here", "directory", &place) + &database("160MiB") + &read;
    fails(&rig, &study, &[text(&small), "No space left on device"]);
    // The same on a file system that Assay made, whose inode tables take half of its LUN.
    std::fs::remove_file(rig.result("broken")).expect("a result file of a run that had begun");
    let crowded = "data = \"data\"\nmkfs_options = [\"-N\", \"131072\"]";
    let study = head("10m") + &luns(&rig.work(), 64) + &stack("ext4", "ext4", crowded) + &database("40MiB") + &read;
    fails(&rig, &study, &["assay-", "-ext4-data", "No space left on device"]);
    let ledger = Ledger::open(rig.result("broken")).expect("opens");
    let trials = ledger.trials().expect("trials");
    assert!(
        matches!(&trials[..], [one] if matches!(one.status, TrialStatus::Failed(_))),
        "{trials:?}"
    );
    assert!(
        ledger
            .ending()
            .expect("ending")
            .is_some_and(|e| e.reason.contains("No space")),
        "the file says why it ended"
    );
}

#[test]
fn a_read_only_directory_is_named() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let small = rig.small_file_system("small", 96);
    tool("mount", &["-o", "remount,ro", text(&small)]);
    let read = reads("read", "time = \"100ms\"");
    let place = format!("path = \"{}\"", small.display());
    let of_directory = head("10m") + &stack("here", "directory", &place) + &database("8MiB") + &read;
    let of_luns =
        head("10m") + &luns(&small, 16) + &stack("ext4", "ext4", "data = \"data\"") + &database("4MiB") + &read;
    for study in [of_directory, of_luns] {
        fails(&rig, &study, &[text(&small), "Read-only file system"]);
        assert!(!rig.result("broken").exists(), "nothing had begun");
    }
}

#[test]
fn a_failed_read_in_the_middle_of_a_phase_keeps_what_had_finished() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    // Loading 16 MiB and the first phase are far fewer than 12,000 reads and writes, the second is far more.
    let study = head("10m")
        + &luns(&rig.work(), 64)
        + &stack("ext4", "ext4", "data = \"data\"\ninject = { error_at = 12000 }")
        + &database("16MiB")
        + &reads("before", "work_loop = 20")
        + &reads("broken phase", "work_loop = 20000");
    let ran = fails(
        &rig,
        &study,
        &[
            "stack `ext4`",
            "phase `broken phase`",
            "Input/output error",
            "-ext4-data/data",
        ],
    );
    let result = rig.result("broken");
    assert!(
        ran.stderr.contains(&format!("assay report {}", result.display())),
        "{}",
        ran.stderr
    );
    let (done, failed) = phases(&result);
    assert_eq!(done, ["before"]);
    assert!(
        failed.len() == 1 && failed[0].contains("Input/output error"),
        "{failed:?}"
    );
    assert!(reports(&rig, &result).contains("before"));
    // A run that failed can be tried again; here it fails again, and still keeps what it had.
    let again = rig.run(&rig.path("broken.toml"), &result, &["--resume"]);
    again.expect(3, &["phase `broken phase`"]);
    assert_eq!(phases(&result).0, ["before", "before"]);
}

/// Waits until a phase of the study is recorded: the next one is under way then.
fn first_phase(result: &Path, running: &mut Running) {
    let start = Instant::now();
    loop {
        assert!(
            running.let_run(Duration::from_millis(20)),
            "it ended before it was to be disturbed"
        );
        let recorded = Ledger::open(result).ok().and_then(|ledger| ledger.phases().ok());
        if recorded.is_some_and(|phases| !phases.is_empty()) {
            return;
        }
        assert!(
            start.elapsed() < crate::rig::PATIENCE,
            "no phase in {:?}",
            start.elapsed()
        );
    }
}

fn a_lun_file_cut(kind: &str, mib: u64) {
    let Some(rig) = Rig::new(&[&format!("mkfs.{kind}")]) else {
        return;
    };
    let before = rig.belongings(&[]);
    let study = head("30m")
        + &luns(&rig.work(), mib)
        + &stack("victim", kind, "data = \"data\"")
        + &database("16MiB")
        + &reads("before", "work_loop = 20")
        + &reads("cut", "time = \"60s\"");
    let (file, result) = (rig.study("broken", &study), rig.result("broken"));
    let mut running = Running::start(rig.run_command(&file, &result, &[]));
    let pid = running.pid();
    first_phase(&result, &mut running);
    let lun = rig.lun_file("data-0.lun").expect("a LUN file");
    tool("truncate", &["-s", "0", text(&lun)]);
    let cut_at = Instant::now();
    let ran = running.wait();
    assert!(
        cut_at.elapsed() < Duration::from_secs(50),
        "the phase went on over a LUN that was gone"
    );
    ran.expect(
        3,
        &[
            "phase `cut`",
            "-victim-data/data",
            text(&lun),
            "was cut",
            "leave LUN files alone",
        ],
    );
    has_cure(&ran);
    assert_eq!(rig.belongings(&[pid]), before, "something is left:\n{}", ran.stderr);
    let (done, failed) = phases(&result);
    assert_eq!((done, failed.len()), (vec!["before".to_string()], 1));
    assert!(reports(&rig, &result).contains("before"));
}

#[test]
fn a_lun_file_cut_under_ext4_is_found_and_named() {
    a_lun_file_cut("ext4", 64);
}

#[test]
fn a_lun_file_cut_under_xfs_is_found_and_named() {
    a_lun_file_cut("xfs", 320);
}

#[test]
fn a_lun_file_cut_under_btrfs_is_found_and_named() {
    a_lun_file_cut("btrfs", 128);
}
