//! A study on two hosts, end to end: `mpirun -n 2 assay run STUDY`, on hosts that are played by namespaces with clocks
//! 1,000 s apart. Needs root, loop devices and Open MPI.
//!
//! Prevents: instances on several hosts that are added up without their clocks, a host that works on other storage
//! than the run's, and anything left when a rank is lost.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

use ledger::{Ledger, Measure, PhaseStatus};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Loop devices over files, detached when this goes.
struct Devices(Vec<String>);

impl Devices {
    fn new(dir: &Path, name: &str, count: usize) -> Devices {
        let mut devices = Devices(Vec::new());
        for nth in 0..count {
            let path = dir.join(format!("{name}{nth}"));
            let file = std::fs::File::create(&path).unwrap();
            file.set_len(96 << 20).unwrap();
            let attached = Command::new("losetup")
                .args(["--show", "--find"])
                .arg(&path)
                .output()
                .unwrap();
            assert!(attached.status.success(), "{attached:?}");
            devices
                .0
                .push(String::from_utf8(attached.stdout).unwrap().trim().to_string());
        }
        devices
    }

    /// As a list of a study.
    fn listed(&self) -> String {
        let quoted: Vec<String> = self.0.iter().map(|path| format!("{path:?}")).collect();
        format!("[{}]", quoted.join(", "))
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        for device in &self.0 {
            let _ = Command::new("losetup").args(["--detach", device]).status();
        }
    }
}

/// Whether the test can run here. Where `./test` says that all is installed, it must.
fn is_possible() -> bool {
    let has = |command: &str| {
        let ran = Command::new("sh").args(["-c", command]).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    let able = rustix::process::getuid().is_root()
        && has("command -v mpirun.openmpi && command -v losetup && command -v ip && command -v pgrep")
        && has("unshare --time --monotonic 1000 --fork unshare --net --uts --mount ip link add bridge0 type bridge");
    let owed = std::env::var("ASSAY_TEST_MPI").is_ok_and(|word| word == "installed");
    assert!(
        able || !owed,
        "./test has installed Open MPI, and hosts cannot be played"
    );
    if !able {
        eprintln!("skipped: needs root, Open MPI, loop devices and namespaces");
    }
    able
}

/// Two hosts, and what they share.
struct Scene {
    dir: TempDir,
    devices: Devices,
    redo: Devices,
}

impl Scene {
    fn new(devices: usize) -> Option<Scene> {
        if !is_possible() {
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("assay-test-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let (devices, redo) = (
            Devices::new(dir.path(), "data", devices),
            Devices::new(dir.path(), "redo", 1),
        );
        std::fs::create_dir(dir.path().join("shared")).unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        let owner = rustix::fs::Mode::RWXU;
        rustix::fs::chmod(dir.path().join("state"), owner).unwrap();
        Some(Scene { dir, devices, redo })
    }

    fn play(&self, scene: &str, study: &str) -> Output {
        std::fs::write(self.dir.path().join("study.toml"), study).unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let mut command = Command::new("unshare");
        command.args([
            "--net",
            "--uts",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "bash",
        ]);
        command
            .arg(here.join("hosts/scene.sh"))
            .arg(env!("CARGO_BIN_EXE_assay"))
            .args([self.dir.path(), Path::new(scene)])
            .arg(here.join("../../hosts/tests/scenes").canonicalize().unwrap());
        command.output().expect("unshare")
    }

    fn left(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.dir.path().join(name)).ok()?;
        Some(text.trim().to_string())
    }

    fn result(&self) -> PathBuf {
        self.dir.path().join("study.assay")
    }

    /// Nothing of a run is in the shared directory, and no journal has anything to undo.
    fn is_undone(&self, output: &Output) {
        for place in ["shared", "state"] {
            let entries = std::fs::read_dir(self.dir.path().join(place)).unwrap();
            let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            let journals = names.iter().filter(|name| name.to_string_lossy().ends_with(".journal"));
            let count = if place == "state" {
                journals.count()
            } else {
                names.len()
            };
            assert_eq!(count, 0, "{place}: {names:?}\n{}", said(output));
        }
    }
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

fn study(scene: &Scene, via: &str, time: &str) -> String {
    let (devices, shared) = (scene.devices.listed(), scene.dir.path().join("shared"));
    let (shared, redo) = (shared.display(), scene.redo.listed());
    format!(
        r#"
[study]
name = "two hosts"
time_limit = "3h"
blocks = 4
seed = 5
workers = 2
[instances]
count = 2
via = "{via}"
[luns.data]
devices = {devices}
overwrite = true
[luns.redo]
devices = {redo}
overwrite = true
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
[[stack]]
name = "raw"
kind = "raw"
data = "data"
redo = "redo"
[[stack]]
name = "shared"
kind = "directory"
path = "{shared}"
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
"#
    )
}

#[test]
fn two_hosts_share_the_work_by_one_clock_and_leave_nothing() {
    let Some(scene) = Scene::new(2) else { return };
    let output = scene.play("whole", &study(&scene, "mpi", "500ms"));
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        [scene.left("code.0"), scene.left("code.1")],
        [Some("0".into()), Some("0".into())]
    );
    scene.is_undone(&output);
    let ledger = Ledger::open(scene.result()).expect("a result");
    let hosts = ledger.hosts().expect("hosts");
    let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
    assert_eq!(names, ["node1", "node2"]);
    assert_eq!(hosts[0].binary, hosts[1].binary);
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    let rows = ledger.instances().expect("rows");
    assert_eq!(phases.len(), 3 * 4);
    for phase in &phases {
        assert_eq!(phase.run.status, PhaseStatus::Valid);
        let of = |measure| {
            let found = measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
            found.map(|found| found.row.1)
        };
        let each: Vec<_> = rows
            .iter()
            .filter(|row| row.phase == phase.id)
            .map(|row| row.row)
            .collect();
        let sum: u64 = each.iter().map(|row| row.operations).sum();
        assert_eq!(of(Measure::EngineOperations), Some(sum as f64));
        assert!(each.len() == 2 && each.iter().all(|row| row.operations > 0), "{each:?}");
        // Clocks 1,000 s apart that were not brought together have no time in common.
        assert!(of(Measure::InstancesOverlap) > Some(0.0));
        let bound_ns = of(Measure::HostsClockBoundNs).expect("a bound");
        assert!(bound_ns > 0.0 && bound_ns < 500e6, "{bound_ns}");
        assert_eq!(of(Measure::NearWriteBytes), None, "one host sees a part of it");
        eprintln!(
            "overlap {:?}, clocks within {bound_ns} ns",
            of(Measure::InstancesOverlap)
        );
    }
}

/// LUNs join and leave; what the owner tells goes to another host.
#[test]
fn extents_move_while_an_instance_on_another_host_works() {
    let Some(scene) = Scene::new(4) else { return };
    let study = study(&scene, "mpi", "500ms");
    let (head, _) = study.split_once("[luns.redo]").unwrap();
    let study = format!(
        r#"{head}
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
reserve = 2
[database]
cache = "4MiB"
schemas = 8
scale = "32MiB"
redo_size = "8MiB"
checkpoint = "100ms"
[[phase]]
name = "swap"
kind = "rebalance"
add = ["disk2", "disk3"]
drop = ["disk0"]
power = 8
update_pct = 50
sessions = 8
work_unit = 4
before = "200ms"
after = "200ms"
"#
    );
    let output = scene.play("whole", &study);
    assert!(output.status.success(), "{}", said(&output));
    scene.is_undone(&output);
    let ledger = Ledger::open(scene.result()).expect("a result");
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    assert_eq!(phases.len(), 4);
    for phase in &phases {
        assert_eq!(phase.run.status, PhaseStatus::Valid);
        let moved = measures
            .iter()
            .find(|m| m.phase == phase.id && m.row.0 == Measure::RebalanceMovedBytes);
        assert!(moved.is_some_and(|moved| moved.row.1 > 0.0));
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_run_and_nothing_is_left() {
    let Some(scene) = Scene::new(2) else { return };
    let output = scene.play("killed", &study(&scene, "mpi", "120s"));
    assert_eq!(scene.left("code.0").as_deref(), Some("3"), "{}", said(&output));
    assert!(
        said(&output).lines().any(|line| line.trim() == "left:"),
        "{}",
        said(&output)
    );
    scene.is_undone(&output);
    eprintln!("{}", said(&output));
}

#[test]
fn ranks_and_a_study_of_one_host_do_not_fit() {
    let Some(scene) = Scene::new(1) else { return };
    let output = scene.play("whole", &study(&scene, "processes", "500ms"));
    assert_eq!(scene.left("code.0").as_deref(), Some("2"), "{}", said(&output));
    assert_eq!(scene.left("code.1").as_deref(), Some("3"), "{}", said(&output));
    assert!(
        said(&output).contains("write via = \"mpi\" in [instances]"),
        "{}",
        said(&output)
    );
    assert!(!scene.result().exists());
}
