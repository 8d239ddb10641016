//! LUN sets that go round among the stacks, on loop devices: each stack has each set equally often.
//! That holds also when the run is killed and goes on. Needs root, loop devices and mkfs.ext4.
//!
//! Prevents: a set that stays with one stack though the plan gives it to all, and a record that names the plan's set
//! where the trial had another.

use crate::rig::{Rig, Running};
use ledger::{Ledger, Trial, TrialStatus};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

const BLOCKS: u32 = 4;
const STACKS: [&str; 2] = ["one", "other"];

fn study(dir: &Path, schedule: &str) -> String {
    let set = |nth: usize| {
        format!(
            "[luns.set{nth}]\nfiles = {{ count = 1, size = \"48MiB\", dir = \"{}\" }}\n",
            dir.display()
        )
    };
    let stack =
        |nth: usize, name: &str| format!("[[stack]]\nname = \"{name}\"\nkind = \"ext4\"\ndata = \"set{nth}\"\n");
    let sets: String = (0..STACKS.len()).map(set).collect();
    let stacks: String = STACKS.iter().enumerate().map(|(nth, name)| stack(nth, name)).collect();
    format!(
        r#"
[study]
name = "rotating"
question = "Who has which LUNs?"
time_limit = "3h"
blocks = {BLOCKS}
seed = 5
schedule = "{schedule}"
{sets}{stacks}
[database]
cache = "2MiB"
schemas = 4
scale = "8MiB"
redo_size = "8MiB"
[[phase]]
name = "updates"
kind = "random"
update_pct = 50
sessions = 4
work_unit = 4
time = "200ms"
"#
    )
}

fn done(result: &Path) -> Vec<Trial> {
    let Ok(ledger) = Ledger::open(result) else {
        return Vec::new();
    };
    let trials = ledger.trials().expect("trials");
    trials
        .into_iter()
        .filter(|trial| trial.status == TrialStatus::Done)
        .collect()
}

#[test]
fn each_stack_has_each_set_equally_often_also_after_a_kill() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    let before = rig.belongings(&[]);
    for schedule in ["whole", "abba"] {
        let (file, result) = (rig.study(schedule, &study(&rig.work(), schedule)), rig.result(schedule));
        let mut running = Running::start(rig.run_command(&file, &result, &["--quiet"]));
        // Killed in the block after the first whole one, by what the file says and not by the clock.
        let mut killed = false;
        while running.let_run(Duration::from_millis(20)) {
            if done(&result).len() >= STACKS.len() {
                running.signal(Signal::KILL);
                killed = true;
                break;
            }
        }
        let ran = running.wait();
        assert!(killed, "it ended before its second block: {}", ran.stderr);
        Running::start(rig.assay(&["clean"])).wait().expect(0, &[]);
        assert_eq!(rig.belongings(&[]), before, "{schedule}: after the kill");
        rig.run(&file, &result, &["--quiet", "--resume"]).expect(0, &[]);
        assert_eq!(rig.belongings(&[]), before, "{schedule}: after the end");

        let trials = done(&result);
        assert_eq!(trials.len(), STACKS.len() * BLOCKS as usize, "{schedule}");
        for trial in &trials {
            let own = STACKS.iter().position(|name| *name == trial.stack).expect("a stack");
            let turn = (own + trial.block as usize) % STACKS.len();
            assert_eq!(trial.lun_set, format!("set{turn}"), "{schedule}: {trial:?}");
        }
    }
}
