//! Studies that go by the kernel's module of OpenZFS, in a machine that QEMU emulates: what is offered and counted,
//! what a run leaves behind, also when it is killed, and which devices it does not take. Opt-in (`ASSAY_TEST_GUEST`);
//! see `prepare` in `crates/zpool/tests/guest`.
//!
//! Prevents: a way that works as long as no module answers.

use crate::guest::{Guest, run};
use ledger::{Ledger, Measure, PhaseStatus};
use std::path::PathBuf;

const DISK_MIB: u64 = 192;

/// What all studies do.
const WORK: &str = r#"
[database]
cache = "4MiB"
schemas = 4
scale = "8MiB"
redo_size = "8MiB"
[[phase]]
name = "update"
kind = "random"
update_pct = 50
sessions = 4
work_unit = 4
time = "2s"
[[phase]]
name = "age"
kind = "age"
sessions = 4
work_unit = 4
[[phase]]
name = "scan"
kind = "scan"
users = 4
"#;

const ON_DEVICES: &str = r#"
[study]
name = "devices"
blocks = 4
time_limit = "2h"
seed = 5
[memory]
budget = "512MiB"
[luns.data]
devices = ["/dev/vda", "/dev/vdb"]
[luns.redo]
devices = ["/dev/vdc"]
[[stack]]
name = "pools"
kind = "zfs"
via = "kernel"
vdevs = "mirror"
recordsize = "8KiB"
compression = "lz4"
checksum = "sha256"
atime = "off"
arc_max = "64MiB"
data = "data"
redo = "redo"
[[stack]]
name = "tuned"
kind = "zfs"
via = "kernel"
preset = "tuned"
vdevs = "raidz1"
ashift = 13
sync = "always"
prefetch = false
arc_max = "96MiB"
arc_min = "48MiB"
redo_as = "log"
data = "data"
redo = "redo"
"#;

/// Loop devices on files, and no way said.
const ON_FILES: &str = r#"
[study]
name = "files"
blocks = 4
time_limit = "2h"
seed = 5
[luns.data]
files = { count = 2, size = "128MiB", dir = "/lab" }
[[stack]]
name = "zfs"
kind = "zfs"
arc_max = "64MiB"
data = "data"
"#;

/// Facts and measures of one stack in a result file that came back.
struct Told {
    facts: Vec<(String, String)>,
    measures: Vec<(Measure, f64)>,
}

impl Told {
    fn of(ledger: &Ledger, stack: &str) -> Told {
        let scope = format!("stack:{stack}");
        let facts = ledger.facts().expect("facts").into_iter();
        let trials = ledger.trials().expect("trials");
        let phases = ledger.phases().expect("phases");
        let here = |phase: &ledger::Phase| {
            trials
                .iter()
                .any(|trial| trial.id == phase.run.trial && trial.stack == stack)
        };
        let ours: Vec<_> = phases.iter().filter(|phase| here(phase)).collect();
        assert!(ours.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
        let measures = ledger.measures().expect("measures").into_iter();
        let of_ours = measures.filter(|row| ours.iter().any(|phase| phase.id == row.phase));
        Told {
            facts: facts
                .filter(|fact| fact.scope.to_string() == scope)
                .map(|fact| (fact.key.to_string(), fact.value.to_string()))
                .collect(),
            measures: of_ours.map(|row| row.row).collect(),
        }
    }

    fn fact(&self, key: &str) -> &str {
        let found = self.facts.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// What the data's dataset says of itself.
    fn set(&self) -> [&str; 6] {
        [
            "dataset recordsize",
            "dataset compression",
            "dataset checksum",
            "dataset atime",
            "dataset primarycache",
            "dataset sync",
        ]
        .map(|name| self.fact(name))
    }

    fn all(&self, measure: Measure) -> Vec<f64> {
        let rows = self.measures.iter().filter(|(found, _)| *found == measure);
        rows.map(|(_, value)| *value).collect()
    }

    /// Four blocks of three phases, each counted by the module.
    fn expect_counted(&self, arc_max_mib: u64) {
        for measure in [Measure::ArcBytes, Measure::LunUsedBytes, Measure::NearWriteBytes] {
            let found = self.all(measure);
            assert!(
                found.len() == 12 && found.iter().sum::<f64>() > 0.0,
                "{}: {found:?}",
                measure.name()
            );
        }
        assert!(self.all(Measure::ArcHits).iter().sum::<f64>() > 0.0);
        assert!(
            self.all(Measure::ArcMaxBytes)
                .iter()
                .all(|bytes| *bytes == (arc_max_mib << 20) as f64)
        );
        assert!(
            self.fact("way to ZFS").starts_with("kernel: its module, version 2.1."),
            "{:?}",
            self.facts
        );
        let seen = self.fact("data reads and the ARC");
        assert!(
            seen.starts_with("through it: O_DIRECT is taken and ignored"),
            "OpenZFS 2.1 reads through its cache: {seen:?}"
        );
    }
}

#[test]
fn studies_go_by_the_module_and_leave_the_machine_as_it_was() {
    let Some(guest) = Guest::here() else { return };
    let mut disks: Vec<PathBuf> = (0..3).map(|nth| guest.disk(&format!("disk{nth}"), DISK_MIB)).collect();
    let (work, back) = (guest.disk("work", 1024), guest.disk("back", 64));
    run("mke2fs", &["-q", "-F", "-t", "ext4", crate::guest::text(&work)]);
    disks.extend([work, back.clone()]);
    let studies = guest.path("files/studies");
    std::fs::create_dir_all(&studies).expect("made");
    let devices = format!("{ON_DEVICES}{WORK}");
    let long = devices.replace("\"2s\"", "\"1h\"").replace("\"2h\"", "\"12h\"");
    for (name, study) in [
        ("devices", devices),
        ("files", format!("{ON_FILES}{WORK}")),
        ("killed", long),
    ] {
        std::fs::write(studies.join(format!("{name}.toml")), study).expect("written");
    }
    let log = guest.boot(
        "studies",
        Some(env!("CARGO_BIN_EXE_assay")),
        &guest.path("files"),
        &disks,
    );
    let steps = [
        "up at",
        "offered",
        "ran devices",
        "ran files",
        "killed",
        "cleaned",
        "refused imported",
        "refused exported",
    ];
    crate::guest::expect(&log, &steps);

    let results = guest.path("results");
    std::fs::create_dir(&results).expect("made");
    run(
        "tar",
        &["-xf", crate::guest::text(&back), "-C", crate::guest::text(&results)],
    );
    let devices = Ledger::open(results.join("devices.assay")).expect("opened");
    let pools = Told::of(&devices, "pools");
    pools.expect_counted(64);
    assert_eq!(pools.set(), ["8KiB", "lz4", "sha256", "off", "all", "standard"]);
    assert_eq!(pools.fact("redo log"), "a pool of its own");
    let tuned = Told::of(&devices, "tuned");
    tuned.expect_counted(96);
    assert_eq!(tuned.set(), ["8KiB", "lz4", "on", "off", "metadata", "always"]);
    assert_eq!(tuned.fact("redo log"), "a dataset of the data's pool");
    let files = Ledger::open(results.join("files.assay")).expect("opened");
    Told::of(&files, "zfs").expect_counted(64);
}
