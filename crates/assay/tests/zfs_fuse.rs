//! Studies with pools of zfs-fuse, through the program: the page engine and SQLite on files of a pool, PostgreSQL killed with its run,
//! a daemon that dies in a phase; `ASSAY_TEST_SIZE=full` also cuts the power.
//! Needs root, loop devices, FUSE and zfs-fuse (`./test` unpacks Debian's package beside the system and sets ASSAY_ZFS_FUSE).
//!
//! Prevents: a daemon, a mount or a loop device that outlives its run, and an old ZFS that is passed off as a new one.
#![allow(clippy::print_stderr)] // why a test is skipped

mod rig;

use ledger::{Ledger, Measure, PhaseStatus};
use rig::{Rig, Running};
use rustix::process::{Pid, Signal};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

fn rig() -> Option<Rig> {
    let [_, fuse] = stacks::zfs_ways();
    if !fuse.able {
        // Where `./test` unpacked it, a test without it is a failure.
        let asked = std::env::var_os("ASSAY_TEST_ZFS_FUSE").is_some() && stacks::is_root();
        assert!(!asked, "zfs-fuse is unpacked: {}\n{}", fuse.reason, fuse.cure);
        eprintln!("SKIPPED: {}: {}", fuse.reason, fuse.cure);
        return None;
    }
    let rig = Rig::new(&[])?;
    // The server's user has to get to its data.
    std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o711)).expect("opened");
    Some(rig)
}

fn study(dir: &Path, stacks: &str, phase: &str) -> String {
    format!(
        r#"
[study]
name = "fuse"
blocks = 4
time_limit = "10m"
seed = 5
[memory]
budget = "384MiB"
[luns.data]
files = {{ count = 2, size = "128MiB", dir = "{dir}" }}
[luns.redo]
files = {{ count = 1, size = "128MiB", dir = "{dir}" }}
{stacks}
[database]
cache = "4MiB"
schemas = 4
scale = "8MiB"
redo_size = "8MiB"
{phase}"#,
        dir = dir.display()
    )
}

const POOL: &str = r#"
[[stack]]
name = "pool"
kind = "zfs"
via = "fuse"
vdevs = "mirror"
recordsize = "8KiB"
compression = "lzjb"
atime = "off"
arc_max = "32MiB"
data = "data"
redo = "redo"
"#;

fn update(time: &str) -> String {
    format!(
        "[[phase]]\nname = \"update\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 4\nwork_unit = 4\ntime = \"{time}\"\n"
    )
}

/// Daemons that work below `dir`.
fn daemons_under(dir: &Path) -> Vec<u32> {
    named_under(dir, "zfs-fuse")
}

fn named_under(dir: &Path, name: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("listed").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir)))
        .filter(|pid| {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            comm.trim() == name
        })
        .collect()
}

/// Waits until something is so.
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(90), "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_page_engine_works_on_files_of_an_old_pool_which_is_called_one() {
    let Some(rig) = rig() else { return };
    let path = rig.study("fuse", &study(&rig.work(), POOL, &update("150ms")));
    let before = rig.belongings(&[]);
    let result = rig.result("fuse");
    let ran = rig.run(&path, &result, &[]);
    ran.expect(0, &[]);
    // In its own lines, however they are broken.
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = "old ZFS: pool: is zfs-fuse (pool version 23): the ZFS of about 2010, not today's OpenZFS";
    assert!(said.contains(label), "{}", ran.stdout);
    assert_eq!(rig.belongings(&[]), before);
    assert_eq!(daemons_under(&rig.work()), Vec::<u32>::new());
    let ledger = Ledger::open(&result).expect("opened");
    let phases = ledger.phases().expect("phases");
    assert_eq!(phases.len(), 4);
    assert!(phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
    let facts = ledger.facts().expect("facts");
    let fact = |key: &str| -> String {
        let found = facts.iter().find(|fact| fact.scope == "stack:pool" && fact.key == key);
        found.map(|fact| fact.value.clone()).unwrap_or_default()
    };
    let said = [
        "pool version",
        "dataset recordsize",
        "dataset compression",
        "dataset atime",
        "dataset checksum",
        "redo log",
    ]
    .map(fact);
    assert_eq!(said, ["23", "8KiB", "lzjb", "off", "on", "a pool of its own"]);
    assert!(
        fact("way to ZFS").contains("not today's OpenZFS"),
        "{}",
        fact("way to ZFS")
    );
    assert_eq!(fact("dataset sync"), "", "a property that the version does not have");
    let measures = ledger.measures().expect("measures");
    for measure in [
        Measure::NearWriteBytes,
        Measure::LunUsedBytes,
        Measure::PoolProcessBytes,
    ] {
        let found: Vec<f64> = measures
            .iter()
            .filter(|row| row.row.0 == measure)
            .map(|row| row.row.1)
            .collect();
        assert!(
            found.len() == 4 && found.iter().all(|value| *value > 0.0),
            "{}: {found:?}",
            measure.name()
        );
    }
    // Data on two mirrored LUNs and a log on a third: what was written twice is two copies, not inflation.
    let copies = measures.iter().find(|row| row.row.0 == Measure::StackDataCopies);
    assert_eq!(copies.map(|row| row.row.1), Some(2.0));
}

#[test]
fn what_a_killed_run_leaves_of_a_server_on_a_pool_is_cleaned_up() {
    let Some(rig) = rig() else { return };
    if databases::postgres::choose(None).is_err() {
        eprintln!("skipped: no PostgreSQL");
        return;
    }
    let server = POOL.replace(
        "data = \"data\"",
        "data = \"data\"\ndatabase = { engine = \"postgres\", cache = \"16MiB\" }",
    );
    let study = study(&rig.work(), &server, &update("60s"));
    let study = study
        .replace("schemas = 4\n", "")
        .replace("redo_size = \"8MiB\"\n", "")
        .replace("cache = \"4MiB\"\n", "");
    let path = rig.study("killed", &study);
    let before = rig.belongings(&[]);
    let run = Running::start(rig.run_command(&path, &rig.result("killed"), &["--quiet"]));
    let daemon = until("a server on a pool", || {
        let servers = named_under(&rig.work(), "postgres");
        (servers.len() > 5).then(|| daemons_under(&rig.work()).first().copied())?
    });
    // As one that waits for a device: it answers nobody any more, and whoever uses its files waits for it.
    let stopped = Pid::from_raw(daemon as i32).expect("a process");
    rustix::process::kill_process(stopped, Signal::STOP).expect("stopped");
    run.signal(Signal::KILL);
    let pid = run.pid();
    drop(run);
    let cleaned = Running::start(rig.assay(&["clean"])).wait();
    cleaned.expect(0, &[]);
    assert_eq!(rig.belongings(&[pid]), before);
    assert!(
        std::fs::read_link(format!("/proc/{daemon}/cwd")).is_err(),
        "the daemon outlives the clean-up"
    );
    let leftovers = stacks::leftovers(&rig.path("state")).expect("listed");
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

#[test]
fn a_daemon_that_dies_in_a_phase_is_named_and_nothing_is_left_of_it() {
    let Some(rig) = rig() else { return };
    let path = rig.study("died", &study(&rig.work(), POOL, &update("60s")));
    let before = rig.belongings(&[]);
    let run = Running::start(rig.run_command(&path, &rig.result("died"), &["--quiet"]));
    let daemon = until("a pool in work", || {
        let daemon = daemons_under(&rig.work()).first().copied()?;
        let busy = std::fs::read_to_string(format!("/proc/{daemon}/io")).ok()?;
        let written: u64 = busy
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())?;
        (written > 16 << 20).then_some(daemon)
    });
    let daemon = Pid::from_raw(daemon as i32).expect("a process");
    rustix::process::kill_process(daemon, Signal::KILL).expect("killed");
    let ran = run.wait();
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("zfs-fuse has ended"), "{}", ran.stderr);
    assert_eq!(rig.belongings(&[]), before);
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_of_a_pool_fails() {
    if std::env::var_os("ASSAY_TEST_SIZE").is_none_or(|size| size != "full") {
        return;
    }
    let Some(rig) = rig() else { return };
    let cut = "[[phase]]\nname = \"cut\"\nkind = \"power_cut\"\ncuts = 10\nsessions = 4\nwork_unit = 4\nupdate_pct = 100\n\
               earliest = \"100ms\"\nlatest = \"400ms\"\n";
    let volatile = "\" }\nmodel = \"plain\"\nvolatile = \"32MiB\"\n";
    let text = study(&rig.work(), POOL, cut).replace("\" }\n", volatile);
    let path = rig.study("cut", &text);
    let result = rig.result("cut");
    rig.run(&path, &result, &["--quiet"]).expect(0, &[]);
    let ledger = Ledger::open(&result).expect("opened");
    let sum = |measure: Measure| -> f64 {
        let rows = ledger.measures().expect("measures");
        rows.iter()
            .filter(|row| row.row.0 == measure)
            .map(|row| row.row.1)
            .sum()
    };
    assert_eq!(sum(Measure::CutsMade), 40.0);
    assert!(sum(Measure::CutsUnflushed) > 0.0 && sum(Measure::CutsAcknowledged) > 0.0);
    assert_eq!(sum(Measure::CutsLosing), 0.0);
}
