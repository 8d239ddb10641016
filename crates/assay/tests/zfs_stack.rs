//! A study with pools of OpenZFS in user space, through the program: phases, facts, counters; and nothing left after a
//! kill.
//!
//! Prevents: a pool or a process of OpenZFS that outlives its run.

use crate::bench::Bench;
use crate::machine::{Turn, turn};
use crate::rig::{assert_blocks, blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STUDY: &str = r#"
[study]
name = "pools"
blocks = 4
time_limit = "3h"
seed = 5
[luns.data]
files = { count = 1, size = "128MiB", dir = "." }
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
[[stack]]
name = "zfs"
kind = "zfs"
via = "userspace"
recordsize = "8KiB"
compression = "lz4"
arc_max = "64MiB"
data = "data"
[database]
cache = "4MiB"
schemas = 8
scale = "16MiB"
redo_size = "8MiB"
checkpoint = "200ms"
[[phase]]
name = "update"
kind = "random"
update_pct = 50
sessions = 8
work_unit = 4
time = "200ms"
[[phase]]
name = "age"
kind = "age"
sessions = 8
work_unit = 8
[[phase]]
name = "scan"
kind = "scan"
users = 8
"#;

/// The server of a pool in the middle of something.
fn server_at_work(run: u32) -> String {
    let began = Instant::now();
    loop {
        // In a directory of its own works the pool's; the one that only asks for the library is not journalled, for it
        // holds nothing.
        let serving = |pid: &String| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let place = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("serve-openzfs") && place.to_string_lossy().ends_with(".openzfs")
        };
        if let Some(pid) = servers(run).into_iter().find(serving) {
            std::thread::sleep(Duration::from_millis(500));
            return pid;
        }
        assert!(
            began.elapsed() < crate::rig::PATIENCE,
            "no process of OpenZFS was started"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes of this program's server.
fn servers(of: u32) -> Vec<String> {
    let children = format!("/proc/{of}/task/{of}/children");
    let text = std::fs::read_to_string(children).unwrap_or_default();
    text.split_whitespace().map(str::to_string).collect()
}

#[test]
fn a_pool_goes_through_all_phases_and_tells_what_it_did() {
    if !crate::rig::has_openzfs() {
        return;
    }
    let _turn = turn(Turn::Beside);
    let bench = Bench::new();
    bench.write("study.toml", &limited(STUDY, "2s"));
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", "out.assay"]);
    let ledger = Ledger::open(bench.path("out.assay")).unwrap();
    let phases = ledger.phases().unwrap();
    assert_blocks(phases.len(), 2 * 3);
    assert!(phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
    let trials = ledger.trials().unwrap();
    let measures = ledger.measures().unwrap();
    let of = |name: &str, measure: Measure| -> Vec<f64> {
        let here = |id| phases.iter().find(|phase| phase.id == id && phase.run.name == name);
        let on_zfs = |id| trials.iter().any(|trial| trial.id == id && trial.stack == "zfs");
        measures
            .iter()
            .filter(|row| row.row.0 == measure && here(row.phase).is_some_and(|phase| on_zfs(phase.run.trial)))
            .map(|row| row.row.1)
            .collect()
    };
    for measure in [
        Measure::ArcHits,
        Measure::ArcBytes,
        Measure::ZilCommits,
        Measure::TxgsSynced,
        Measure::LunUsedBytes,
    ] {
        let found = of("update", measure);
        assert!(
            found.len() >= blocks() as usize && found.iter().all(|value| *value > 0.0),
            "{}: {found:?}",
            measure.name()
        );
    }
    assert!(
        of("age", Measure::ArcMaxBytes)
            .iter()
            .all(|bytes| *bytes == (64 << 20) as f64)
    );
    let fact = |key: &str| {
        let facts = ledger.facts().unwrap();
        facts
            .into_iter()
            .find(|fact| fact.scope.to_string() == "stack:zfs" && fact.key.to_string() == key)
            .map(|fact| fact.value.to_string())
    };
    assert!(fact("way to ZFS").is_some_and(|way| way.starts_with("userspace")));
    assert!(fact("OpenZFS").is_some_and(|version| version.starts_with("2.1.")));
}

/// From a disk group, from a file system and from another pool into a pool, and on there.
#[test]
fn a_database_moves_to_a_pool_from_wherever_it_was() {
    if !crate::rig::has_openzfs() || !rustix::process::geteuid().is_root() {
        return;
    }
    let _turn = turn(Turn::Beside);
    let bench = Bench::new();
    let head = STUDY.split("[[phase]]").next().unwrap();
    let other = "[luns.other]\nfiles = { count = 1, size = \"128MiB\", dir = \".\" }\n[[stack]]\nname = \"ext4\"\n\
         kind = \"ext4\"\ndata = \"data\"\n[database]";
    let phases = "[[phase]]\nname = \"move\"\nkind = \"copy\"\nto = \"zfs\"\ndata = \"other\"\n\
                  [[phase]]\nname = \"scan\"\nkind = \"scan\"\nusers = 8\n";
    let text = head.replace("[database]", other) + phases;
    bench.write("study.toml", &limited(&text, "2s"));
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", "out.assay"]);
    let ledger = Ledger::open(bench.path("out.assay")).unwrap();
    let phases = ledger.phases().unwrap();
    assert_blocks(phases.len(), 3 * 2);
    assert!(phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
    let trials = ledger.trials().unwrap();
    let processes = |stack: &str| -> Vec<f64> {
        let of = |id| phases.iter().find(|phase| phase.id == id && phase.run.name == "move");
        let here = |id| of(id).is_some_and(|phase| trials.iter().any(|t| t.id == phase.run.trial && t.stack == stack));
        let measures = ledger.measures().unwrap();
        let wanted = measures
            .iter()
            .filter(|row| row.row.0 == Measure::PoolProcessBytes && here(row.phase));
        wanted.map(|row| row.row.1).collect()
    };
    let (one, two) = (processes("group"), processes("zfs"));
    assert!(
        one.len() == two.len() && one.len() >= blocks() as usize,
        "{one:?} {two:?}"
    );
    assert!(
        two.iter().sum::<f64>() > 1.5 * one.iter().sum::<f64>(),
        "both pools' processes count: {one:?} {two:?}"
    );
}

#[test]
fn what_a_killed_run_leaves_of_openzfs_is_cleaned_up() {
    if !crate::rig::has_openzfs() {
        return;
    }
    let _turn = turn(Turn::Beside);
    let bench = Bench::new();
    bench.write("study.toml", &STUDY.replace("time = \"200ms\"", "time = \"60s\""));
    let mut run = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["run", "study.toml", "--quiet", "-o", "out.assay"])
        .current_dir(bench.path("."))
        .env("ASSAY_STATE_DIR", bench.path("state"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = server_at_work(run.id());
    // As one that waits for a device: it does not see that its run has gone.
    let signal = |how: &str| {
        let sent = Command::new("kill").args([how, &server]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    run.kill().unwrap();
    run.wait().unwrap();
    bench.expect(0, &["clean"]);
    // One that has ended has no working directory, also before somebody has waited for it.
    assert!(
        std::fs::read_link(format!("/proc/{server}/cwd")).is_err(),
        "process {server} outlives the clean-up"
    );
}

#[test]
fn a_process_that_dies_in_a_phase_is_named_and_nothing_is_left_of_it() {
    if !crate::rig::has_openzfs() {
        return;
    }
    let _turn = turn(Turn::Beside);
    let bench = Bench::new();
    bench.write("study.toml", &STUDY.replace("time = \"200ms\"", "time = \"60s\""));
    let run = crate::bench::Running::start(bench.command(&["run", "study.toml", "--quiet", "-o", "out.assay"]));
    let server = server_at_work(run.pid());
    let killed = Command::new("kill").args(["-KILL", &server]).status().unwrap();
    assert!(killed.success());
    let ran = run.wait();
    assert_ne!(ran.code(), 0, "{ran}");
    assert!(ran.stderr.contains("the process that runs OpenZFS has ended"), "{ran}");
    assert_eq!(
        bench.left_behind(&["study.toml", "out.assay"]),
        Vec::<std::path::PathBuf>::new()
    );
}
