//! Several instances on one stack, end to end: the work is shared, each instance is in the result, one that is lost
//! fails its phase with a reason, and nothing is left; extents move while all of them work. Needs root and
//! loop devices. `ASSAY_TEST_SIZE=full` also stops instances, whose silence takes 15 s to be believed.
//!
//! Prevents: a sum of instances that did not work at the same time, a process that outlives its run, and an instance
//! that reads where an extent was.

use crate::machine::is_full;
use crate::rig::{PATIENCE, Rig, Running, assert_blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus, Stamp, TrialStatus};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::{Duration, Instant};

fn study(dir: &Path, time: &str) -> String {
    let dir = dir.display();
    format!(
        r#"
[study]
name = "shared"
time_limit = "3h"
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
    let text = limited(&study(&rig.work(), "400ms"), "7s");
    let (study, result) = (rig.study("shared", &text), rig.result("shared"));
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

/// A stack of one, two and four instances each, with the same work.
fn beside(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        r#"
[study]
name = "one two four"
time_limit = "3h"
blocks = 4
seed = 5
workers = 4
[luns.data]
files = {{ count = 2, size = "80MiB", dir = "{dir}" }}
[[stack]]
name = "1"
kind = "diskgroup"
data = "data"
[[stack]]
name = "2"
kind = "diskgroup"
data = "data"
instances = 2
[[stack]]
name = "4"
kind = "diskgroup"
data = "data"
instances = 4
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
work_unit = 4
sessions = 8
time = "400ms"
"#
    )
}

/// What is of a stack is of its own instances, and not of as many as another stack has.
#[test]
fn stacks_of_one_two_and_four_instances_stand_in_one_study() {
    let Some(rig) = Rig::new(&[]) else { return };
    let before = rig.belongings(&[]);
    let text = limited(&beside(&rig.work()), "6s");
    let (study, result) = (rig.study("beside", &text), rig.result("beside"));
    rig.run(&study, &result, &["--quiet", "--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let (trials, phases) = (ledger.trials().expect("trials"), ledger.phases().expect("phases"));
    let (measures, rows) = (ledger.measures().expect("measures"), ledger.instances().expect("rows"));
    assert_blocks(phases.len(), 3);
    for phase in phases {
        let of = |measure| {
            let found = measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
            found.map(|found| found.row.1)
        };
        let trial = trials.iter().find(|trial| trial.id == phase.run.trial);
        let stack = &trial.expect("its trial").stack;
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{stack}");
        let own = rows.iter().filter(|row| row.phase == phase.id).map(|row| row.row);
        let each: Vec<ledger::InstanceRow> = own.collect();
        let count: u32 = stack.parse().expect("a stack is called as many instances as it has");
        if count == 1 {
            assert!(each.is_empty() && of(Measure::Instances).is_none());
            continue;
        }
        assert_eq!(of(Measure::Instances), Some(f64::from(count)));
        let numbers: Vec<u32> = each.iter().map(|row| row.instance).collect();
        assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "{stack}");
        assert_eq!(each.iter().map(|row| row.sessions).sum::<u32>(), 8, "{stack}");
        let worked: u64 = each.iter().map(|row| row.operations).sum();
        assert_eq!(of(Measure::EngineOperations), Some(worked as f64), "{stack}");
        assert!(each.iter().all(|row| row.operations > 0), "{stack}: {each:?}");
        assert!(
            of(Measure::InstancesFairness) > Some(0.0) && of(Measure::InstancesOverlap) > Some(0.0),
            "{stack}"
        );
        assert_eq!(of(Measure::HostsClockBoundNs), None, "one host has one clock");
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
    if !is_full() {
        eprintln!("skipped: ASSAY_TEST_SIZE=full runs it");
        return;
    }
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

/// LUNs join and leave under two instances; the redo log of one stack has a group of its own.
fn moving(dir: &Path, before: &str) -> String {
    let dir = dir.display();
    let work = format!(
        "kind = \"rebalance\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 4\nbefore = \"{before}\"\nafter = \"200ms\"\n"
    );
    format!(
        r#"
[study]
name = "moving"
time_limit = "3h"
blocks = 4
seed = 5
workers = 2
[instances]
count = 2
[luns.data]
files = {{ count = 4, size = "80MiB", dir = "{dir}" }}
[luns.redo]
files = {{ count = 1, size = "80MiB", dir = "{dir}" }}
[[stack]]
name = "one group"
kind = "diskgroup"
data = "data"
reserve = 2
[[stack]]
name = "two groups"
kind = "diskgroup"
data = "data"
redo = "redo"
reserve = 2
[database]
cache = "4MiB"
schemas = 8
scale = "32MiB"
redo_size = "8MiB"
checkpoint = "100ms"
[[phase]]
name = "swap"
add = ["disk2", "disk3"]
drop = ["disk0"]
power = 8
{work}
[[phase]]
name = "back"
add = ["disk0"]
drop = ["disk2"]
power = 16
{work}
[[phase]]
name = "all of it"
kind = "scan"
users = 8
"#
    )
}

#[test]
fn all_instances_work_while_the_first_one_moves_extents() {
    let Some(rig) = Rig::new(&[]) else { return };
    let before = rig.belongings(&[]);
    let text = limited(&moving(&rig.work(), "200ms"), "7s");
    let (study, result) = (rig.study("moving", &text), rig.result("moving"));
    rig.run(&study, &result, &["--quiet", "--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    let (rows, histograms) = (
        ledger.instances().expect("rows"),
        ledger.histograms().expect("histograms"),
    );
    assert_blocks(phases.len(), 2 * 3);
    for phase in &phases {
        let name = &phase.run.name;
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{name}");
        let of = |measure| {
            let found = measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
            found.map(|found| found.row.1)
        };
        let own = rows.iter().filter(|row| row.phase == phase.id).map(|row| row.row);
        let each: Vec<_> = own.collect();
        assert_eq!(
            each.iter().map(|row| row.instance).collect::<Vec<_>>(),
            [1, 2],
            "{name}"
        );
        assert!(each.iter().all(|row| row.operations > 0), "{name}: {each:?}");
        let sum: u64 = each.iter().map(|row| row.operations).sum();
        assert_eq!(of(Measure::EngineOperations), Some(sum as f64), "{name}");
        if name == "all of it" {
            continue;
        }
        let (moved, ideal) = (of(Measure::RebalanceMovedBytes), of(Measure::RebalanceIdealBytes));
        let share = moved.expect("moved") / ideal.expect("ideal");
        assert!((0.85..=1.15).contains(&share), "{name}: {moved:?} of {ideal:?}");
        let count = |window: &str| {
            let own = histograms
                .iter()
                .filter(|h| h.phase == phase.id && h.row.stamp == Stamp::Service);
            let own = own.filter(|h| h.row.class.ends_with(window));
            own.map(|h| h.row.count).sum::<u64>()
        };
        let windows = [" before", " during", " after"].map(count);
        assert!(windows.iter().all(|count| *count > 0), "{name}: {windows:?}");
        assert_eq!(windows.iter().sum::<u64>(), sum, "{name}");
    }
}

/// The thread that moves is there as long as the move.
fn until_extents_move(run: &mut Running) {
    let is_moving = |pid: u32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let mut names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        names.any(|name| name.trim() == "rebalance")
    };
    let start = Instant::now();
    while start.elapsed() < PATIENCE && run.let_run(Duration::from_millis(1)) {
        if is_moving(run.pid()) {
            return;
        }
    }
    panic!("nothing was moved");
}

/// It never answers what it is told, so nothing may move, and the trial ends.
#[test]
fn an_instance_that_is_lost_while_extents_move_fails_its_trial_and_nothing_is_left() {
    let signals = [Signal::KILL, Signal::STOP];
    for signal in signals.into_iter().take(if is_full() { 2 } else { 1 }) {
        let Some(rig) = Rig::new(&[]) else { return };
        let before = rig.belongings(&[]);
        // An extent at a time.
        let text = moving(&rig.work(), "200ms").replace("power = 8", "power = 1");
        let (study, result) = (rig.study("moving", &text), rig.result("moving"));
        let mut run = Running::start(rig.run_command(&study, &result, &["--quiet", "--yes"]));
        let lost = instance_of(&mut run);
        until_extents_move(&mut run);
        kill_process(lost, signal).expect("sent");
        let words = match signal {
            Signal::KILL => "instance 2 was lost",
            _ => "instance 2 gave no sign of life for 15 s",
        };
        run.wait().expect(3, &[words]);
        assert_eq!(rig.belongings(&[]), before, "something is left");
    }
}
