//! PostgreSQL from the study file to the result file: a server on ext4 on a loop device, killed, filled up, and left
//! behind by a run that was killed. `ASSAY_TEST_SIZE=full` also fills one in a phase. Needs root, loop devices,
//! mkfs.ext4 and PostgreSQL 15 or newer.
//!
//! Prevents: a server that outlives its run, and a crash in a phase that is recorded as a slow one.

use crate::rig::{Rig, Running, assert_blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus};
use rustix::process::{Pid, Signal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn rig() -> Option<Rig> {
    let installed = databases::postgres::choose(None);
    if let Err(missing) = installed {
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
        return None;
    }
    let rig = Rig::new(&["mkfs.ext4"])?;
    // The server's user has to get to its data.
    std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o711)).expect("opened");
    Some(rig)
}

fn study(dir: &Path, lun_mib: u64, phases: &str) -> String {
    format!(
        r#"
[study]
name = "server"
time_limit = "3h"
blocks = 4
[luns.data]
files = {{ size = "{lun_mib}MiB", dir = "{}" }}
[memory]
budget = "256MiB"
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
[database]
engine = "postgres"
cache = "16MiB"
scale = "4MiB"
settings = {{ max_wal_size = "64MB", min_wal_size = "32MB" }}
{phases}"#,
        dir.display()
    )
}

fn orders(time: &str) -> String {
    format!(
        "[[phase]]\nname = \"orders\"\nkind = \"tpcc\"\nusers = 8\nwarehouses = 1\ncompany = \"reduced\"\n\
         time = \"{time}\"\n"
    )
}

/// Servers whose data lie below `dir`: every process works in its data directory.
fn servers_under(dir: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("listed").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir)))
        .filter(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.starts_with("postgres")
        })
        .collect()
}

/// Numbers come round again: the lowest need not be the first.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn private_dirs(pid: u32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir()).expect("listed").flatten();
    let mine = format!("assay-pg-{pid}-");
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&mine))
        })
        .collect()
}

/// Waits until the phase of a run is under way: many sessions, for a second.
fn wait_for_phase(dir: &Path) -> Vec<u32> {
    let begin = Instant::now();
    loop {
        let found = servers_under(dir);
        // Eight users beside the server's own.
        if found.len() >= 13 {
            return found;
        }
        assert!(begin.elapsed() < crate::rig::PATIENCE, "no phase came: {found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn postgres_runs_its_phases_and_leaves_nothing() {
    let Some(rig) = rig() else { return };
    let phases = orders("400ms")
        + "[[phase]]\nname = \"random\"\nkind = \"random\"\nupdate_pct = 20\nsessions = 4\nwork_unit = 4\n\
             time = \"200ms\"\n[[phase]]\nname = \"bulk\"\nkind = \"bulk\"\nrows = [150, 400]\n";
    let path = rig.study("server", &limited(&study(&rig.work(), 192, &phases), "3s"));
    let (before, result) = (rig.belongings(&[]), rig.result("server"));
    rig.run(&path, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before);
    assert!(servers_under(&rig.path("")).is_empty());
    let ledger = Ledger::open(&result).expect("opens");
    for phase in ledger.phases().expect("phases") {
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{:?}", phase.run);
    }
    let databases = ledger.databases().expect("databases");
    assert_blocks(databases.len(), 1);
    let buffers = databases[0]
        .database
        .settings
        .iter()
        .find(|one| one.name == "shared_buffers");
    assert_eq!(buffers.map(|one| one.value.as_str()), Some("16MB"));
    let entries = ledger.order_entries().expect("order entries");
    assert_blocks(entries.len(), 1);
    let whole =
        |entry: &ledger::OrderEntry| entry.conditions.len() == 24 && entry.conditions.iter().all(|c| c.found == 0);
    assert!(entries.iter().all(|entry| whole(&entry.row)), "{entries:?}");
    let measures = ledger.measures().expect("measures");
    for wanted in [
        Measure::CpuServerUserNs,
        Measure::MemoryServerBytesPeak,
        Measure::DatabaseRoundTrips,
    ] {
        assert!(
            measures.iter().any(|row| row.row.0 == wanted && row.row.1 > 0.0),
            "{wanted:?}"
        );
    }
}

#[test]
fn a_server_that_dies_or_has_no_room_is_an_error_with_its_log() {
    let Some(rig) = rig() else { return };
    let path = rig.study("dies", &study(&rig.work(), 192, &orders("60s")));
    let before = rig.belongings(&[]);
    let running = Running::start(rig.run_command(&path, &rig.result("dies"), &[]));
    let pid = running.pid();
    let found = wait_for_phase(&rig.path(""));
    let parent = found
        .iter()
        .find(|pid| parent_of(**pid).is_none_or(|parent| !found.contains(&parent)));
    let parent = parent.copied().expect("a server");
    let parent = Pid::from_raw(i32::try_from(parent).expect("a process")).expect("a process");
    rustix::process::kill_process(parent, Signal::KILL).expect("killed");
    let ran = running.wait();
    ran.expect(3, &["the end of its log", "signal: 9"]);
    assert_eq!(rig.belongings(&[pid]), before);
    assert!(servers_under(&rig.path("")).is_empty() && private_dirs(pid).is_empty());

    let path = rig.study("full", &study(&rig.work(), 40, &orders("1s")));
    let ran = rig.run(&path, &rig.result("full"), &[]);
    ran.expect(3, &["the file system is full"]);
    assert_eq!(rig.belongings(&[]), before);
}

/// The server that has no space for its log dies of it; the study goes on all the same. Four servers are made for it,
/// which takes a while.
#[test]
fn a_server_that_fills_its_stack_in_a_phase_is_a_result() {
    if !crate::machine::is_full() {
        return;
    }
    let Some(rig) = rig() else { return };
    let phases = "[[phase]]\nname = \"bulk\"\nkind = \"bulk\"\nrows = [300000]\n\
                  [[phase]]\nname = \"after\"\nkind = \"bulk\"\nrows = [100]\n";
    let path = rig.study("fills", &study(&rig.work(), 104, phases));
    let (before, result) = (rig.belongings(&[]), rig.result("fills"));
    rig.run(&path, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before);
    assert!(servers_under(&rig.path("")).is_empty());
    let ledger = Ledger::open(&result).expect("opens");
    let phases = ledger.phases().expect("phases");
    assert_eq!(phases.len(), 4, "{phases:?}");
    for phase in phases {
        let full = PhaseStatus::Failed("ran out of space".to_string());
        assert_eq!((phase.run.name.as_str(), phase.run.status), ("bulk", full));
    }
}

#[test]
fn a_killed_run_leaves_no_server_once_it_is_cleaned_up() {
    let Some(rig) = rig() else { return };
    let path = rig.study("killed", &study(&rig.work(), 192, &orders("60s")));
    let before = rig.belongings(&[]);
    let running = Running::start(rig.run_command(&path, &rig.result("killed"), &[]));
    let pid = running.pid();
    wait_for_phase(&rig.path(""));
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code(), 137);
    Running::start(rig.assay(&["clean"])).wait().expect(0, &[]);
    assert!(servers_under(&rig.path("")).is_empty() && private_dirs(pid).is_empty());
    assert_eq!(rig.belongings(&[pid]), before);
}
