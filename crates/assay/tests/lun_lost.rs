//! A LUN of a mirrored disk group goes away in the middle of a phase: the run goes on, says so, and marks what cannot
//! count. Needs root, loop devices and a file system that knows immutable files.
//!
//! `losetup -d` of a device that is open takes effect when the last user closes it, so nothing is lost by it under a
//! running engine. What is lost here is the file below: cut to nothing and made immutable, so that the kernel answers
//! each read and each write of the loop device with EIO, as it does for a disk that was pulled.

use crate::rig::{PATIENCE, Rig, Running, assert_blocks, limited};
use ledger::{Ledger, PhaseStatus, Severity, TrialStatus};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const LUN_MIB: u64 = 80;

fn study(dir: &Path) -> String {
    let work = "kind = \"random\"\nupdate_pct = 25\nsessions = 8\nwork_unit = 4\n";
    format!(
        r#"
[study]
name = "lost"
time_limit = "3h"
blocks = 4
seed = 5
[luns.data]
files = {{ count = 3, size = "{LUN_MIB}MiB", dir = "{}" }}
[[stack]]
name = "mirrored"
kind = "diskgroup"
data = "data"
redundancy = "normal"
[database]
cache = "4MiB"
schemas = 16
scale = "32MiB"
redo_size = "8MiB"
checkpoint = "200ms"
[[phase]]
name = "whole"
{work}time = "400ms"
[[phase]]
name = "loss"
{work}time = "2s"
[[phase]]
name = "after"
kind = "scan"
users = 16
time = "2s"
"#,
        dir.display()
    )
}

fn chattr(flag: &str, file: &Path) -> bool {
    let called = Command::new("chattr").arg(flag).arg(file).output();
    called.is_ok_and(|called| called.status.success())
}

/// A file that can't be written any more, and is empty; as it was when dropped.
struct Lost(PathBuf);

impl Lost {
    fn lose(file: PathBuf) -> Lost {
        let open = std::fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .expect("the LUN's file");
        open.set_len(0).expect("cut");
        assert!(chattr("+i", &file), "made immutable");
        Lost(file)
    }
}

impl Drop for Lost {
    fn drop(&mut self) {
        chattr("-i", &self.0);
        if let Ok(file) = std::fs::OpenOptions::new().write(true).open(&self.0) {
            let _ = file.set_len(LUN_MIB << 20);
        }
    }
}

/// Waits until a phase of this name stands in the file.
fn recorded(result: &Path, phase: &str, running: &mut Running) {
    let began = Instant::now();
    loop {
        let phases = Ledger::open(result)
            .and_then(|ledger| ledger.phases())
            .unwrap_or_default();
        if phases.iter().any(|p| p.run.name == phase) {
            return;
        }
        assert!(running.let_run(Duration::from_millis(5)), "it ended before {phase}");
        assert!(began.elapsed() < PATIENCE, "{phase} was not reached");
    }
}

#[test]
fn a_lost_lun_does_not_end_the_run_and_its_phases_do_not_count() {
    let Some(rig) = Rig::on_disk(&["chattr"]) else { return };
    let probe = rig.path("probe");
    std::fs::write(&probe, "probe").expect("written");
    if !(chattr("+i", &probe) && chattr("-i", &probe)) {
        eprintln!("skipped: the file system of /var/tmp has no immutable files");
        return;
    }
    let before = rig.belongings(&[]);
    let text = limited(&study(&rig.work()), "18s");
    let (study, result) = (rig.study("lost", &text), rig.result("lost"));
    let mut running = Running::start(rig.run_command(&study, &result, &["--yes"]));
    recorded(&result, "whole", &mut running);
    assert!(
        running.let_run(Duration::from_millis(300)),
        "in the middle of the second phase"
    );
    // Standing still meanwhile: what it wrote between the two steps would be there to be read.
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(100));
    let lost = Lost::lose(rig.lun_file("data-1.lun").expect("a LUN"));
    running.signal(Signal::CONT);
    recorded(&result, "loss", &mut running);
    // The group does without it by now. It is put back, empty, for the trials that follow.
    drop(lost);
    let ran = running.wait();
    ran.expect(0, &["INVALID", "the run goes on", "the disk group lost disk1"]);
    assert_eq!(rig.belongings(&[]), before, "something is left");

    let ledger = Ledger::open(&result).expect("a result");
    let trials = ledger.trials().expect("trials");
    assert_blocks(trials.len(), 1);
    assert!(trials.iter().all(|t| t.status == TrialStatus::Done), "{trials:?}");
    for phase in ledger.phases().expect("phases") {
        let block = trials
            .iter()
            .find(|t| t.id == phase.run.trial)
            .expect("its trial")
            .block;
        let counts = block > 0 || phase.run.name == "whole";
        match &phase.run.status {
            PhaseStatus::Valid => assert!(counts, "block {block}, {} counts", phase.run.name),
            PhaseStatus::Invalid(why) => {
                assert!(!counts, "block {block}, {}: {why}", phase.run.name);
                assert!(why.contains("lost disk1"), "{why}");
            }
            PhaseStatus::Failed(why) => panic!("block {block}, {}: {why}", phase.run.name),
        }
    }
    let told = |e: &&ledger::Event| e.severity == Severity::Warning && e.text.contains("lost disk1");
    assert_eq!(ledger.events().expect("events").iter().filter(told).count(), 2);
    let said = rig
        .assay(&["report", crate::rig::text(&result), "--full"])
        .output()
        .expect("reported");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("INVALID") && said.contains("the disk group lost disk1"),
        "{said}"
    );
}
