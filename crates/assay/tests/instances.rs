//! Several instances on one stack, end to end: the work is shared, each instance is in the result, one that is lost
//! fails its phase with a reason, and nothing is left. Needs root and loop devices.
//!
//! Prevents: a sum of instances that did not work at the same time, and a process that outlives its run.

use crate::rig::{PATIENCE, Rig, Running};
use ledger::{Ledger, Measure, TrialStatus};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::{Duration, Instant};

fn study(dir: &Path, time: &str) -> String {
    let dir = dir.display();
    format!(
        r#"
[study]
name = "shared"
time_limit = "20m"
blocks = 4
seed = 5
workers = 2
[instances]
count = 2
via = "processes"
[luns.data]
files = {{ count = 2, size = "80MiB", dir = "{dir}" }}
[luns.one]
files = {{ count = 1, size = "128MiB", dir = "{dir}" }}
[luns.redo]
files = {{ count = 1, size = "80MiB", dir = "{dir}" }}
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
instances = 1
[[stack]]
name = "two on group"
kind = "diskgroup"
data = "data"
redo = "redo"
[[stack]]
name = "two on ext4"
kind = "ext4"
data = "one"
[[stack]]
name = "two raw"
kind = "raw"
data = "data"
redo = "redo"
[database]
cache = "4MiB"
schemas = 8
scale = "16MiB"
redo_size = "8MiB"
checkpoint = "100ms"
[[phase]]
name = "half"
kind = "random"
update_pct = 50
work_unit = 16
sessions = 8
time = "{time}"
[[phase]]
name = "scan"
kind = "scan"
users = 8
[[phase]]
name = "age"
kind = "age"
sessions = 8
"#
    )
}

#[test]
fn two_instances_share_the_work_and_each_is_in_the_result() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("shared", &study(&rig.work(), "400ms")), rig.result("shared"));
    rig.run(&study, &result, &["--quiet", "--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let (trials, phases) = (ledger.trials().expect("trials"), ledger.phases().expect("phases"));
    let (measures, rows) = (ledger.measures().expect("measures"), ledger.instances().expect("rows"));
    for phase in phases {
        let of = |measure| {
            let found = measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
            found.map(|found| found.row.1)
        };
        let trial = trials
            .iter()
            .find(|trial| trial.id == phase.run.trial)
            .expect("its trial");
        let named = format!("{}, {}", trial.stack, phase.run.name);
        let each: Vec<_> = rows
            .iter()
            .filter(|row| row.phase == phase.id)
            .map(|row| row.row)
            .collect();
        if trial.stack == "group" {
            assert!(each.is_empty() && of(Measure::Instances).is_none(), "{named}");
            continue;
        }
        assert_eq!(of(Measure::Instances), Some(2.0), "{named}");
        assert_eq!(
            each.iter().map(|row| row.instance).collect::<Vec<_>>(),
            [1, 2],
            "{named}"
        );
        let sum = |of: fn(&ledger::InstanceRow) -> u64| each.iter().map(of).sum::<u64>() as f64;
        assert_eq!(
            of(Measure::EngineOperations),
            Some(sum(|row| row.operations)),
            "{named}"
        );
        assert_eq!(of(Measure::EngineCommits), Some(sum(|row| row.commits)), "{named}");
        assert_eq!(
            of(Measure::EngineLogicalReads),
            Some(sum(|row| row.logical_reads)),
            "{named}"
        );
        assert!(each.iter().all(|row| row.operations > 0), "{named}: {each:?}");
        assert_eq!(
            of(Measure::InstancesOverlap).is_some(),
            phase.run.name == "half",
            "{named}"
        );
        if phase.run.name == "age" {
            assert_eq!(of(Measure::EngineOverwrittenBytes), of(Measure::DataBytes), "{named}");
        }
    }
}

/// The process of an instance that this run has started, as soon as it is there.
fn instance_of(run: &mut Running) -> Pid {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && run.let_run(Duration::from_millis(20)) {
        let children = format!("/proc/{0}/task/{0}/children", run.pid());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        for pid in children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()) {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if line.split(|byte| *byte == 0).nth(1) == Some(b"instance") {
                return Pid::from_raw(pid).expect("a process");
            }
        }
    }
    panic!("no instance was started");
}

#[test]
fn an_instance_that_is_lost_fails_its_trial_and_nothing_is_left() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("shared", &study(&rig.work(), "60s")), rig.result("shared"));
    let mut run = Running::start(rig.run_command(&study, &result, &["--quiet", "--yes"]));
    let lost = instance_of(&mut run);
    kill_process(lost, Signal::KILL).expect("killed");
    run.wait().expect(3, &["instance 2 was lost", "signal: 9"]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let failed = |status: &TrialStatus| matches!(status, TrialStatus::Failed(why) if why.contains("instance 2"));
    assert!(
        ledger
            .trials()
            .expect("trials")
            .iter()
            .any(|trial| failed(&trial.status))
    );
}

/// A stopped process keeps its pipes open: nothing ends, and only its silence tells.
#[test]
fn an_instance_that_is_stopped_fails_its_trial_and_nothing_is_left() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("shared", &study(&rig.work(), "60s")), rig.result("shared"));
    let mut run = Running::start(rig.run_command(&study, &result, &["--quiet", "--yes"]));
    let stopped = instance_of(&mut run);
    kill_process(stopped, Signal::STOP).expect("stopped");
    run.wait().expect(
        3,
        &["instance 2 gave no sign of life for 15 s", "what stopped the process"],
    );
    assert_eq!(rig.belongings(&[]), before, "something is left");
}

#[test]
fn who_starts_an_instance_by_hand_is_told_what_does_it() {
    let Some(rig) = Rig::new(&[]) else { return };
    let ran = Running::start(rig.assay(&["instance"])).wait();
    ran.expect(2, &["is started by `assay run`"]);
}

/// Its orders end with the run, whatever ended that.
#[test]
fn an_instance_ends_with_its_run() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    let (study, result) = (rig.study("shared", &study(&rig.work(), "60s")), rig.result("shared"));
    let mut run = Running::start(rig.run_command(&study, &result, &["--quiet", "--yes"]));
    let instance = instance_of(&mut run);
    run.signal(Signal::KILL);
    let start = Instant::now();
    let is_there = || {
        Path::new(&format!("/proc/{}/exe", instance.as_raw_nonzero()))
            .read_link()
            .is_ok()
    };
    while is_there() {
        assert!(start.elapsed() < PATIENCE, "it works on without its run");
        std::thread::sleep(Duration::from_millis(20));
    }
}
