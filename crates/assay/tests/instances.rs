//! Several instances on one stack, end to end: the work is shared, each instance is in the result, one that is lost
//! fails its phase with a reason, and nothing is left.
//!
//! Prevents: a sum of instances that did not work at the same time, and a process that outlives its run.

use crate::rig::Rig;
use ledger::{Ledger, Measure, TrialStatus};
use std::path::Path;

fn study(dir: &Path, stack: &str, time: &str) -> String {
    format!(
        r#"
[study]
name = "shared"
time_limit = "10m"
blocks = 4
seed = 5
io = "pread"
workers = 2
[[stack]]
name = "one"
kind = "directory"
path = "{dir}"
access = "buffered"
[[stack]]
name = "two"
kind = "directory"
path = "{dir}"
access = "buffered"
{stack}
[database]
cache = "2MiB"
schemas = 8
scale = "16MiB"
redo_size = "8MiB"
checkpoint = "50ms"
[[phase]]
name = "half"
kind = "random"
update_pct = 50
sessions = 8
time = "{time}"
[[phase]]
name = "scan"
kind = "scan"
users = 8
[[phase]]
name = "age"
kind = "age"
"#,
        dir = dir.display()
    )
}

#[test]
fn two_instances_share_the_work_and_each_is_in_the_result() {
    let rig = Rig::new();
    let file = rig.write("shared.toml", &study(rig.path(), "instances = 2", "300ms"));
    rig.assay().arg("run").arg(&file).args(["--output", "s.assay"]).assert().success();
    let ledger = Ledger::open(rig.path().join("s.assay")).expect("a result");
    let phases = ledger.phases().expect("phases");
    let trials = ledger.trials().expect("trials");
    let (measures, rows) = (ledger.measures().expect("measures"), ledger.instances().expect("rows"));
    for phase in phases {
        let of = |measure| measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure).map(|m| m.row.1);
        let stack = &trials.iter().find(|trial| trial.id == phase.run.trial).expect("its trial").stack;
        let each: Vec<_> = rows.iter().filter(|row| row.phase == phase.id).map(|row| row.row).collect();
        if stack == "one" {
            assert!(each.is_empty() && of(Measure::Instances).is_none());
            continue;
        }
        assert_eq!(of(Measure::Instances), Some(2.0));
        assert_eq!(each.iter().map(|row| row.instance).collect::<Vec<_>>(), [1, 2]);
        let sum: u64 = each.iter().map(|row| row.operations).sum();
        assert_eq!(of(Measure::EngineOperations), Some(sum as f64), "{}", phase.run.name);
        assert!(each.iter().all(|row| row.operations > 0), "{each:?}");
        assert_eq!(of(Measure::InstancesOverlap).is_some(), phase.run.name == "half");
        if phase.run.name == "age" {
            assert_eq!(of(Measure::EngineOverwrittenBytes), of(Measure::DataBytes));
        }
    }
    assert!(rig.is_clean());
}

#[test]
fn an_instance_that_is_lost_fails_its_phase_and_nothing_is_left() {
    let rig = Rig::new();
    let file = rig.write("lost.toml", &study(rig.path(), "instances = 2", "60s"));
    let run = rig.start(&["run", file.to_str().expect("a path"), "--output", "l.assay"]);
    let instance = rig.child_called(&run, "instance");
    rustix::process::kill_process(instance, rustix::process::Signal::KILL).expect("killed");
    let ended = run.wait_with_output().expect("its end");
    assert_eq!(ended.status.code(), Some(3));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("instance 2 was lost") && said.contains("signal: 9"), "{said}");
    let ledger = Ledger::open(rig.path().join("l.assay")).expect("a result");
    let failed = |trial: &ledger::Trial| matches!(&trial.status, TrialStatus::Failed(why) if why.contains("instance 2"));
    assert!(ledger.trials().expect("trials").iter().any(failed));
    assert!(rig.is_clean());
}
