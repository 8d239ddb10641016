//! Studies with pools of zfs-fuse, through the program: the page engine and SQLite on files of a pool, PostgreSQL
//! killed with its run, a daemon that dies in a phase, a phase that the ARC served, cuts of the power
//! (`ASSAY_TEST_SIZE=full`: many). Needs root, loop devices, FUSE and zfs-fuse (`./test` unpacks Debian's package
//! beside the system and sets ASSAY_ZFS_FUSE).
//!
//! Prevents: a daemon, a mount or a loop device that outlives its run, an old ZFS that is passed off as a new one, and
//! what its cache served taken for what its devices did.

use crate::rig::{Rig, Running, assert_blocks, blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus};
use rustix::process::{Pid, Signal};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

fn rig() -> Option<Rig> {
    let rig = is_able().then(|| Rig::new(&[])).flatten()?;
    // The server's user has to get to its data.
    std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o711)).expect("opened");
    Some(rig)
}

fn is_able() -> bool {
    let [_, fuse] = stacks::zfs_ways();
    if !fuse.able {
        // Where `./test` unpacked it, a test without it is a failure.
        let asked = std::env::var_os("ASSAY_TEST_ZFS_FUSE").is_some() && stacks::is_root();
        assert!(!asked, "zfs-fuse is unpacked: {}\n{}", fuse.reason, fuse.cure);
        eprintln!("SKIPPED: {}: {}", fuse.reason, fuse.cure);
    }
    fuse.able
}

fn study(dir: &Path, stacks: &str, phase: &str) -> String {
    format!(
        r#"
[study]
name = "fuse"
blocks = 4
time_limit = "3h"
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

/// Where zfs-fuse shows its counters; in the host's root only a daemon of its own may have put it, before.
const KSTAT: &str = "/zfs-kstat";

fn has_kstat() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("read");
    Path::new(KSTAT).exists() || mounts.contains(KSTAT)
}

fn update(time: &str) -> String {
    format!(
        "[[phase]]\nname = \"update\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 4\nwork_unit = 4\n\
         time = \"{time}\"\n"
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
        assert!(begin.elapsed() < crate::rig::PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// In each phase of a study, as many as these.
fn the_cache_is_counted(ledger: &Ledger, phases: usize) {
    let measures = ledger.measures().expect("measures");
    let of = |measure: Measure| {
        measures
            .iter()
            .filter(move |row| row.row.0 == measure)
            .map(|row| row.row.1)
    };
    assert_eq!(
        of(Measure::ArcMaxBytes).collect::<Vec<_>>(),
        vec![(32 << 20) as f64; phases]
    );
    for measure in [Measure::ArcBytes, Measure::ArcHits, Measure::ArcDataHits] {
        let found: Vec<f64> = of(measure).collect();
        assert!(
            found.len() == phases && found.iter().all(|value| *value > 0.0),
            "{}: {found:?}",
            measure.name()
        );
    }
    for measure in [
        Measure::ArcMisses,
        Measure::ArcDataMisses,
        Measure::ArcAheadMisses,
        Measure::ArcEvictedBytes,
    ] {
        assert_eq!(of(measure).count(), phases, "{}", measure.name());
    }
}

#[test]
fn the_page_engine_works_on_files_of_an_old_pool_which_is_called_one() {
    // The kernel shows no device below LUN files in memory.
    let Some(rig) = is_able().then(|| Rig::on_disk(&[])).flatten() else {
        return;
    };
    let path = rig.study("fuse", &limited(&study(&rig.work(), POOL, &update("150ms")), "1s"));
    let before = rig.belongings(&[]);
    let result = rig.result("fuse");
    let ran = rig.run(&path, &result, &["--full"]);
    ran.expect(0, &[]);
    // In its own lines, however they are broken.
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = "old ZFS: pool: is zfs-fuse (pool version 23): the ZFS of about 2010, not today's OpenZFS";
    assert!(said.contains(label), "{}", ran.stdout);
    assert_eq!(rig.belongings(&[]), before);
    assert_eq!(daemons_under(&rig.work()), Vec::<u32>::new());
    let ledger = Ledger::open(&result).expect("opened");
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), 1);
    assert!(phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
    let facts = ledger.facts().expect("facts");
    let fact = |key: &str| -> String {
        let found = facts
            .iter()
            .find(|fact| fact.scope.to_string() == "stack:pool" && fact.key.to_string() == key);
        found.map(|fact| fact.value.to_string()).unwrap_or_default()
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
            found.len() == phases.len() && found.iter().all(|value| *value > 0.0),
            "{}: {found:?}",
            measure.name()
        );
    }
    the_cache_is_counted(&ledger, phases.len());
    let arc = fact("data reads and the ARC");
    assert!(arc.starts_with("through it: O_DIRECT is taken and ignored"), "{arc}");
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
    let (before, kstat) = (rig.belongings(&[]), has_kstat());
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
    assert_eq!(has_kstat(), kstat, "counters of the daemon are left in the host's root");
}

/// Of the cache, for its reader, however much neighbours moved on the disk below meanwhile.
fn the_report_tells_shares(rig: &Rig, result: &Path) {
    let report = Running::start(rig.assay(&["report", crate::rig::text(result), "--json"])).wait();
    report.expect(0, &[]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("JSON");
    let cells = report["report"]["phases"].as_array().expect("phases").iter();
    let cells: Vec<_> = cells
        .flat_map(|phase| phase["cells"].as_array().expect("cells"))
        .collect();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        let share = cell["provenance"]["arc_share"].as_f64().expect("a share");
        let is_kept = cell["stack"] == "kept";
        assert!(if is_kept { share > 0.9 } else { share < 0.1 }, "{cell}");
    }
}

/// One pool whose ARC holds all data, and its twin whose ARC is told to hold none: both are read twice.
#[test]
fn a_phase_that_the_arc_served_is_labelled_so_and_one_that_it_did_not_is_not() {
    let Some(rig) = rig() else { return };
    let pool = |name: &str, more: &str| {
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"zfs\"\nvia = \"fuse\"\nrecordsize = \"8KiB\"\n\
             arc_max = \"64MiB\"\ndata = \"data\"\n{more}"
        )
    };
    let stacks = pool("kept", "") + &pool("passed", "primarycache = \"metadata\"\n");
    let scan = |name: &str| format!("[[phase]]\nname = \"{name}\"\nkind = \"scan\"\nusers = 4\n");
    let text = study(&rig.work(), &stacks, &(scan("first") + &scan("second")));
    let text = text.replace("scale = \"8MiB\"", "scale = \"16MiB\"");
    let log = text.find("[luns.redo]").expect("a set that no stack uses");
    let text = text[..log].to_owned() + &text[text.find("\n[[stack]]").expect("stacks")..];
    let path = rig.study("served", &limited(&text, "1s"));
    let (before, kstat) = (rig.belongings(&[]), has_kstat());
    let result = rig.result("served");
    let run = Running::start(rig.run_command(&path, &result, &[]));
    until("a daemon that shows its counters", || {
        let daemon = daemons_under(&rig.work()).first().copied()?;
        let size = format!("/proc/{daemon}/root{KSTAT}/zfs/arcstats/size");
        std::fs::read_to_string(size).ok()
    });
    assert_eq!(has_kstat(), kstat, "counters of the daemon are in the host's root");
    let ran = run.wait();
    ran.expect(0, &[]);
    assert_eq!((rig.belongings(&[]), has_kstat()), (before, kstat));

    let ledger = Ledger::open(&result).expect("opened");
    let (phases, trials) = (ledger.phases().expect("phases"), ledger.trials().expect("trials"));
    assert_blocks(phases.len(), 4);
    let blocks = phases.len() / 4;
    assert!(phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
    let measures = ledger.measures().expect("measures");
    let sum = |stack: &str, measure: Measure| -> f64 {
        let of_stack = |id| trials.iter().any(|trial| trial.id == id && trial.stack == stack);
        let here = |id| phases.iter().any(|phase| phase.id == id && of_stack(phase.run.trial));
        let rows = measures.iter().filter(|row| row.row.0 == measure && here(row.phase));
        rows.map(|row| row.row.1).sum()
    };
    let asked = 2.0 * blocks as f64 * (16 << 20) as f64 / 8192.0;
    let (hits, misses) = (sum("kept", Measure::ArcDataHits), sum("kept", Measure::ArcDataMisses));
    assert!(
        hits > 0.9 * asked && misses < 0.1 * asked,
        "{hits} hits, {misses} misses, {asked} records"
    );
    let (hits, misses) = (
        sum("passed", Measure::ArcDataHits),
        sum("passed", Measure::ArcDataMisses),
    );
    let ahead = sum("passed", Measure::ArcAheadMisses);
    assert!(
        misses + ahead > 0.9 * asked,
        "{hits} hits, {misses} and {ahead} misses, {asked} records"
    );

    let label = "the ARC served ";
    let events = ledger.events().expect("events");
    let labelled = |stack: &str| {
        let of_stack = |id| trials.iter().any(|trial| trial.id == id && trial.stack == stack);
        let told = events.iter().filter(|event| event.text.starts_with(label));
        told.filter(|event| event.trial.is_some_and(of_stack)).count()
    };
    assert_eq!((labelled("kept"), labelled("passed")), (2 * blocks, 0), "{events:?}");
    the_report_tells_shares(&rig, &result);
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

/// Killed with its LUNs' power, started again, its pools imported: four times, at full size ten times in each block.
#[test]
fn nothing_acknowledged_is_lost_when_the_power_of_a_pool_fails() {
    let is_full = crate::machine::is_full();
    let cuts = if is_full { 10 } else { 4 };
    let Some(rig) = rig() else { return };
    let cut = format!(
        "[[phase]]\nname = \"cut\"\nkind = \"power_cut\"\ncuts = {cuts}\nsessions = 4\nwork_unit = 4\n\
         update_pct = 100\nearliest = \"100ms\"\nlatest = \"400ms\"\n"
    );
    let volatile = "\" }\nmodel = \"plain\"\nvolatile = \"32MiB\"\n";
    let text = study(&rig.work(), POOL, &cut).replace("\" }\n", volatile);
    let path = rig.study("cut", &limited(&text, "1ms"));
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
    assert_eq!(sum(Measure::CutsMade), f64::from(blocks() * cuts));
    assert!(sum(Measure::CutsAcknowledged) > 0.0);
    // A few cuts may find everything flushed.
    assert!(!is_full || sum(Measure::CutsUnflushed) > 0.0);
    assert_eq!([Measure::CutsLosing, Measure::CutsNotUp].map(sum), [0.0; 2]);
}
