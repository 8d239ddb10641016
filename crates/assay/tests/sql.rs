//! SQLite from the study file to the result file, as anyone: order entry with its conditions, a load curve, an open
//! schedule, users who think, bulk loads, random work; through the page cache, past it, and on a disk group of files.
//!
//! Root works on a file system of the test's own: a phase ends when the devices of its file system rest, and on one
//! that others write to that takes as long as they please. Prevents: a phase in SQL whose rows are not in the result
//! file, and a database that is left behind.

use crate::bench::Bench;
use crate::rig::{Rig, assert_blocks, limit, limited};
use ledger::{Ledger, Measure, PhaseKind, PhaseStatus, Stamp};
use std::path::{Path, PathBuf};

/// A place for databases that nobody else writes to, where we may make one.
fn quiet_place(bench: &Bench) -> (Option<Rig>, PathBuf) {
    let Some(mut rig) = Rig::new(&["mkfs.ext4", "losetup", "mount"]) else {
        return (None, bench.path(""));
    };
    let place = rig.small_file_system("quiet", 320);
    (Some(rig), place)
}

fn study(dir: &Path, place: &Path) -> String {
    let (dir, place) = (dir.display(), place.display());
    format!(
        r#"
[study]
name = "sql"
time_limit = "3h"
blocks = 4
workers = 2
[luns.data]
files = {{ count = 2, size = "96MiB", dir = "{dir}" }}
[[stack]]
name = "direct"
kind = "directory"
path = "{place}"
[[stack]]
name = "buffered"
kind = "directory"
path = "{place}"
access = "buffered"
database = {{ journal = "delete", cache = "2MiB" }}
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
[database]
engine = "sqlite"
cache = "4MiB"
scale = "2MiB"
[[phase]]
name = "curve"
kind = "tpcc"
users = [1, 3]
warehouses = 1
company = "reduced"
time = "150ms"
[[phase]]
name = "bulk"
kind = "bulk"
rows = [150, 400]
[[phase]]
name = "random"
kind = "random"
update_pct = 20
sessions = 4
work_unit = 4
time = "100ms"
"#
    )
}

#[test]
fn sqlite_runs_all_its_phases_on_every_way_to_storage() {
    let bench = Bench::new();
    let (rig, place) = quiet_place(&bench);
    bench.write("sql.toml", &limited(&study(&bench.path(""), &place), "5s"));
    let ran = bench.expect(0, &["check", "sql.toml"]);
    assert!(ran.stdout.contains("a disk group for stack group"), "{ran}");
    let before = bench.listing();
    bench.expect(0, &["run", "sql.toml", "--output", "sql.assay"]);
    let mut left: Vec<_> = bench.listing().difference(&before).cloned().collect();
    left.retain(|(path, _)| !path.ends_with("sql.assay") && !path.ends_with("state"));
    assert!(left.is_empty(), "{left:?}");
    if rig.is_some() {
        let left: Vec<_> = std::fs::read_dir(&place)
            .expect("listed")
            .flatten()
            .map(|one| one.file_name())
            .collect();
        assert_eq!(left, ["lost+found"]);
    }

    let ledger = Ledger::open(bench.path("sql.assay")).expect("opens");
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), 3 * 3);
    for phase in &phases {
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{:?}", phase.run);
        assert!(phase.run.elapsed_ns > 0);
    }
    let databases = ledger.databases().expect("databases");
    let blocks = phases.len() / (3 * 3);
    assert_eq!(databases.len(), blocks * 3);
    let ways: std::collections::BTreeSet<&str> = databases.iter().map(|row| row.database.access.as_str()).collect();
    assert_eq!(
        ways.into_iter().collect::<Vec<_>>(),
        ["direct file", "disk group", "page cache"]
    );
    let journal = |row: &ledger::DatabaseRow| {
        let settings = &row.database.settings;
        settings
            .iter()
            .find(|one| one.name == "journal_mode")
            .map(|one| one.value.clone())
    };
    assert!(databases.iter().any(|row| journal(row).as_deref() == Some("delete")));
    orders(&ledger, blocks);
    let loads = ledger.bulk_loads().expect("bulk loads");
    assert_eq!(loads.len(), blocks * 3 * 2);
    for load in &loads {
        assert!([150, 400].contains(&load.row.rows) && load.row.elapsed_ns >= load.row.settle_ns);
        assert!(
            load.row.space.iter().filter(|one| one.bytes > 0).count() >= 3,
            "{:?}",
            load.row.space
        );
    }
    let measures = ledger.measures().expect("measures");
    let of_random = |measure: Measure| {
        let random = phases.iter().filter(|phase| phase.run.kind == PhaseKind::Random);
        let ids: Vec<_> = random.map(|phase| phase.id).collect();
        measures
            .iter()
            .filter(|row| ids.contains(&row.phase) && row.row.0 == measure)
            .count()
    };
    assert_eq!(of_random(Measure::EngineReadBytes), blocks * 3);
    assert_eq!(of_random(Measure::CpuClientUserNs), blocks * 3);
    bench.expect(0, &["report", "sql.assay"]);
    bench.expect(0, &["report", "sql.assay", "--full"]);
    bench.expect(0, &["report", "sql.assay", "--json"]);
}

/// Conditions asked and held, refusals and waits counted, a load curve in steps.
fn orders(ledger: &Ledger, blocks: usize) {
    let entries = ledger.order_entries().expect("order entries");
    assert_eq!(entries.len(), blocks * 3);
    let mut new_orders = 0;
    for entry in &entries {
        let work = &entry.row;
        assert_eq!(
            (work.warehouses, work.items, work.isolation.as_str()),
            (1, 2000, "serializable")
        );
        assert_eq!(work.conditions.len(), 24, "twelve before, twelve after");
        assert!(
            work.conditions.iter().all(|one| one.found == 0),
            "{:?}",
            work.conditions
        );
        assert_eq!(work.transactions.len(), 5);
        assert_eq!(work.waits.len(), 1);
        let users: Vec<u32> = work.steps.iter().map(|step| step.users).collect();
        assert_eq!((work.users, users), (3, vec![1, 3]));
        assert!(work.steps.windows(2).all(|pair| pair[0].ended_ns == pair[1].began_ns));
        for step in &work.steps {
            let of = |h: &&ledger::StepHistogram| h.class == "new order" && h.stamp == Stamp::Response;
            new_orders += step.histograms.iter().find(of).map_or(0, |h| h.units);
        }
    }
    // A disk that others keep busy leaves each user a transaction or two in a step; nearly every other one is a new
    // order.
    assert!(new_orders >= 10 * blocks as u64 / 4, "{new_orders}");
}

#[test]
fn schedules_and_think_time_are_in_the_result() {
    let bench = Bench::new();
    let (_rig, place) = quiet_place(&bench);
    let study = |phases: &str| {
        let (place, limit) = (place.display(), limit("8s"));
        format!(
            "[study]\nname = \"due\"\nblocks = 4\ntime_limit = \"{limit}\"\nworkers = 2\n[[stack]]\nname = \"here\"\n\
             kind = \"directory\"\npath = \"{place}\"\n\
             access = \"buffered\"\n[database]\nengine = \"sqlite\"\nsynchronous = \"normal\"\ncache = \"4MiB\"\n\
             {phases}"
        )
    };
    let phase = |name: &str, more: &str| {
        format!("[[phase]]\nname = \"{name}\"\nkind = \"tpcc\"\nwarehouses = 1\ncompany = \"reduced\"\n{more}\n")
    };
    let phases = phase("on schedule", "users = 6\nrate = 100\ntime = \"300ms\"")
        + &phase("people", "users = 400\nthink_time = true\ntime = \"1s\"");
    bench.write("due.toml", &study(&phases));
    bench.expect(0, &["run", "due.toml", "--output", "due.assay"]);
    let ledger = Ledger::open(bench.path("due.assay")).expect("opens");
    let measures = ledger.measures().expect("measures");
    let histograms = ledger.histograms().expect("histograms");
    for (phase, entry) in ledger
        .phases()
        .expect("phases")
        .iter()
        .zip(ledger.order_entries().expect("order entries"))
    {
        assert_eq!((&phase.run.status, phase.id), (&PhaseStatus::Valid, entry.phase));
        let of_phase = histograms.iter().filter(|row| row.phase == phase.id);
        let count = |stamp| -> u64 {
            of_phase
                .clone()
                .filter(|row| row.row.stamp == stamp)
                .map(|row| row.row.count)
                .sum()
        };
        let (service, response) = (count(Stamp::Service), count(Stamp::Response));
        assert_eq!(service, response);
        let unsent = measures
            .iter()
            .find(|row| row.phase == phase.id && row.row.0 == Measure::EngineUnsent);
        if phase.run.name == "on schedule" {
            assert_eq!((entry.row.arrival.as_str(), entry.row.pauses), ("open", false));
            // 30 due in 300 ms, give or take four times the root of them; sent or not, none is lost.
            let due = response as f64 + unsent.map_or(0.0, |row| row.row.1);
            assert!((due - 30.0).abs() < 22.0, "{due} due");
            assert_eq!(phase.run.kind, PhaseKind::TpccOpen);
        } else {
            assert_eq!((entry.row.arrival.as_str(), entry.row.pauses), ("closed", true));
            // 400 users with 20.99 s from one to the next begin 19 in a second, give or take four times the root.
            // A slow disk makes it fewer, never more.
            assert!((1..=36).contains(&response), "{response} responses");
        }
    }
    let said = bench.expect(0, &["report", "due.assay", "--full"]).stdout;
    assert!(said.contains("think"), "{said}");
    bench.write(
        "both.toml",
        &study(&phase(
            "both",
            "users = 6\nrate = 100\nthink_time = true\ntime = \"300ms\"",
        )),
    );
    bench.expect(2, &["check", "both.toml"]);
}

#[test]
fn what_cannot_be_reached_or_is_not_installed_is_said_with_its_cure() {
    let bench = Bench::new();
    let server = |url: &str| {
        format!(
            "[study]\nname = \"there\"\nblocks = 4\n[[stack]]\nname = \"there\"\nkind = \"server\"\nurl = \"{url}\"\n\
             [[phase]]\nname = \"orders\"\nkind = \"tpcc\"\nusers = 1\nwarehouses = 1\ncompany = \"reduced\"\n\
             time = \"100ms\"\n"
        )
    };
    bench.write("closed.toml", &server("postgres://joe@127.0.0.1:9/shop"));
    let ran = bench.expect(3, &["run", "closed.toml", "--output", "closed.assay"]);
    assert!(ran.stderr.contains("127.0.0.1:9"), "{ran}");
    bench.write(
        "socket.toml",
        &server(&format!("postgres://joe@/shop?host={}", bench.path("none").display())),
    );
    bench.expect(3, &["run", "socket.toml", "--output", "socket.assay"]);
    let text = server("x").replace(
        "kind = \"server\"\nurl = \"x\"",
        &format!("kind = \"directory\"\npath = \"{}\"", bench.path("").display()),
    );
    let text = format!("{text}[database]\nengine = \"postgres\"\nversion = 98\n");
    bench.write("version.toml", &text);
    let ran = bench.expect(3, &["run", "version.toml", "--output", "version.assay"]);
    let said = ran.stderr.contains("PostgreSQL 98 is not installed") || ran.stderr.contains("no PostgreSQL server");
    assert!(said && ran.stderr.contains("install"), "{ran}");
    let ran = bench.run(&["check", "version.toml"]);
    // A user's check is of a study for root; root's ends as the run does.
    assert_eq!(ran.code(), if stacks::is_root() { 3 } else { 0 }, "{ran}");
    assert!(ran.stdout.contains("skipped"), "{ran}");
}
