//! The engine is killed on real LUNs and in directories: what was acknowledged is there, a file system that the study
//! made is forced down and one of the user's is not touched, and what was never flushed is found missing. Needs root
//! and loop devices. `ASSAY_TEST_SIZE=full` makes more kills on more stacks.

use crate::machine::is_full;
use crate::rig::{Rig, blocks, limit};
use ledger::{Ledger, Measure, PhaseKind, PhaseStatus, Severity};
use std::collections::BTreeMap;
use std::path::Path;

/// The smallest that XFS takes and a log fits into that nothing empties, and enough for the others: each trial writes
/// it anew.
fn lun(stacks: &str) -> &'static str {
    let is_large = ["\"xfs\"", "\"postgres\"", "\"sqlite\""]
        .iter()
        .any(|word| stacks.contains(word));
    if is_large { "304MiB" } else { "128MiB" }
}

/// In each block.
fn kills() -> u32 {
    if is_full() { 25 } else { 4 }
}

/// Databases in SQL take a second or two to come up.
fn kills_in_sql() -> u32 {
    if is_full() { 5 } else { 4 }
}

fn study(dir: &Path, stacks: &str, database: &str, work: &str, kills: u32) -> String {
    let (dir, limit, lun) = (dir.display(), limit("1ms"), lun(stacks));
    let sets: String = ["data", "redo"]
        .iter()
        .filter(|set| stacks.contains(&format!("\"{set}\"")))
        .map(|set| format!("[luns.{set}]\nfiles = {{ size = \"{lun}\", dir = \"{dir}\" }}\n"))
        .collect();
    format!(
        "[study]\nname = \"kills\"\ntime_limit = \"{limit}\"\nblocks = 4\nseed = 3\n{sets}{stacks}{database}\
         [[phase]]\nname = \"kills\"\nkind = \"kill\"\nkills = {kills}\nearliest = \"200ms\"\nlatest = \"400ms\"\n\
         {work}"
    )
}

const PAGES: &str =
    "[database]\ncache = \"2MiB\"\nschemas = 8\nscale = \"6MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"100ms\"\n";
const WORK: &str = "sessions = 8\nwork_unit = 4\n";
const ROWS: &str = "sessions = 4\n";

fn stack(name: &str, kind: &str, more: &str) -> String {
    format!("[[stack]]\nname = \"{name}\"\nkind = \"{kind}\"\n{more}\n")
}

/// Sums of the kills' measures by stack.
type Sums = BTreeMap<String, BTreeMap<Measure, f64>>;

struct Found {
    sums: Sums,
    events: Vec<ledger::Event>,
    said: String,
}

impl Found {
    /// How many kills, how many of them with the file system forced down, how many that lost something; some were
    /// acknowledged.
    fn kills(&self, stack: &str) -> [f64; 3] {
        let of = &self.sums[stack];
        let told: Vec<&str> = self.events.iter().map(|event| event.text.as_str()).collect();
        eprintln!("{stack}: {of:?}");
        assert!(
            of[&Measure::CutsAcknowledged] > 0.0,
            "{stack}: nothing to lose: {of:?}\n{told:#?}"
        );
        // What lay in the caches of devices is not known, and nothing is said of it.
        assert!(!of.contains_key(&Measure::CutsUnflushed), "{of:?}");
        [Measure::CutsMade, Measure::CutsForcedDown, Measure::CutsLosing].map(|measure| of[&measure])
    }

    fn made(&self) -> f64 {
        f64::from(blocks() * kills())
    }

    fn losses(&self) -> Vec<&str> {
        let lost = |event: &&ledger::Event| event.severity == Severity::Warning && event.text.contains("DATA LOST");
        self.events
            .iter()
            .filter(lost)
            .map(|event| event.text.as_str())
            .collect()
    }
}

fn run(rig: &Rig, text: &str) -> Found {
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("kills", text), rig.result("kills"));
    let ran = rig.run(&study, &result, &["--full"]);
    ran.expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let mut sums = Sums::new();
    for phase in ledger.phases().expect("phases") {
        assert_eq!(phase.run.kind, PhaseKind::Kill);
        let trial = trials.iter().find(|t| t.id == phase.run.trial).expect("its trial");
        let of = sums.entry(trial.stack.clone()).or_default();
        for row in measures.iter().filter(|row| row.phase == phase.id) {
            *of.entry(row.row.0).or_default() += row.row.1;
        }
    }
    Found {
        sums,
        events: ledger.events().expect("events"),
        said: ran.stdout.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

#[test]
fn what_is_acknowledged_survives_a_file_system_that_is_forced_down() {
    let Some(rig) = Rig::new(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) else {
        return;
    };
    let mut stacks = stack("ext4", "ext4", "data = \"data\"") + &stack("xfs", "xfs", "data = \"data\"");
    if is_full() {
        stacks += &stack("btrfs", "btrfs", "data = \"data\"");
        stacks += &stack("two", "ext4", "data = \"data\"\nredo = \"redo\"\naccess = \"buffered\"");
        stacks += &stack("raw", "raw", "data = \"data\"\nredo = \"redo\"");
        stacks += &stack("group", "diskgroup", "data = \"data\"\nredo = \"redo\"");
    }
    let found = run(&rig, &study(&rig.work(), &stacks, PAGES, WORK, kills()));
    for stack in found.sums.keys() {
        let [made, forced, losing] = found.kills(stack);
        assert_eq!((made, losing), (found.made(), 0.0), "{stack}: {:#?}", found.losses());
        match stack.as_str() {
            "ext4" | "xfs" | "two" => assert_eq!(forced, made, "{stack}"),
            // What a kernel can do with it is its own.
            "btrfs" => {}
            _ => assert_eq!(forced, 0.0, "{stack}"),
        }
    }
    let said = &found.said;
    assert!(said.contains("(file system forced down): kept all"), "{said}");
    assert!(said.contains("weaker than a power cut"), "{said}");
    let durability = said.split("durability").nth(1).unwrap_or_default();
    assert!(durability.contains("only killed in kills"), "{said}");
    assert!(!said.contains("VALID durability"), "{said}");
}

#[test]
fn what_was_never_flushed_is_lost_where_a_file_system_is_forced_down_and_nowhere_else() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let place = rig.small_file_system("place", 64);
    std::fs::write(place.join("mine"), "of the user").expect("written");
    let lazy = "access = \"buffered\"\ninject = { flush_lost = true }";
    let stacks = stack("forced down", "ext4", &format!("data = \"data\"\n{lazy}"))
        + &stack(
            "killed",
            "directory",
            &format!("path = \"{}\"\n{lazy}", place.display()),
        );
    let found = run(&rig, &study(&rig.work(), &stacks, PAGES, WORK, kills()));
    let [made, forced, losing] = found.kills("forced down");
    assert_eq!(forced, made);
    // Who empties the caches of this machine meanwhile, such as a test beside this one, writes all files out.
    let owed = if is_full() { 0.9 } else { 0.5 };
    assert!(losing >= owed * made, "{losing} of {made} kills");
    assert!(
        !found.losses().is_empty() && found.said.contains("LOST DATA"),
        "{}",
        found.said
    );
    // The page cache outlives a process: this is what makes a kill the weaker check.
    let [_, forced, losing] = found.kills("killed");
    assert_eq!((forced, losing), (0.0, 0.0), "{:#?}", found.losses());
    // Nobody shut down or unmounted what is not the study's.
    let mine = std::fs::read_to_string(place.join("mine")).expect("still mounted");
    assert_eq!(mine, "of the user");
    std::fs::write(place.join("more"), "x").expect("still written to");
}

/// An I/O of the work fails: by its number after the load and after the survey of the 768 pages, and long before the
/// engine is killed.
#[test]
fn work_that_fails_before_the_kill_fails_the_phase_and_is_no_kill() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let before = rig.belongings(&[]);
    let stacks = stack("ext4", "ext4", "data = \"data\"\ninject = { error_at = 7000 }");
    let text = study(&rig.work(), &stacks, PAGES, WORK, 1).replace("\"400ms\"", "\"10m\"");
    let text = text.replace("\"200ms\"", "\"10m\"");
    let (study, result) = (rig.study("kills", &text), rig.result("kills"));
    rig.run(&study, &result, &[]).expect(3, &["nput/output error"]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let phases = ledger.phases().expect("phases");
    let failed = |status: &PhaseStatus| matches!(status, PhaseStatus::Failed(why) if why.contains("nput/output error"));
    assert!(phases.len() == 1 && failed(&phases[0].run.status), "{phases:?}");
    let measures = ledger.measures().expect("measures");
    assert!(
        measures.iter().all(|row| row.row.0 != Measure::CutsMade),
        "{measures:?}"
    );
}

/// SQLite, or PostgreSQL, that flushes, and one that does not.
fn in_sql(engine: &str, lazy: &str) {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let place = rig.small_file_system("place", 192);
    let on = |name: &str, kind: &str, place: &str, more: &str| {
        let database = format!("access = \"buffered\"\ndatabase = {{ engine = \"{engine}\"{more} }}");
        stack(name, kind, &format!("{place}\n{database}"))
    };
    let (luns, path) = ("data = \"data\"", format!("path = \"{}\"", place.display()));
    let stacks =
        on("ext4", "ext4", luns, "") + &on("ext4 lazy", "ext4", luns, lazy) + &on("directory", "directory", &path, "");
    let found = run(&rig, &study(&rig.work(), &stacks, "", ROWS, kills_in_sql()));
    let [made, forced, losing] = found.kills("ext4");
    assert_eq!((forced, losing), (made, 0.0), "{:#?}", found.losses());
    let [made, forced, losing] = found.kills("ext4 lazy");
    assert_eq!(forced, made);
    assert!(losing >= 0.95 * made, "{losing} of {made} kills");
    let [_, forced, losing] = found.kills("directory");
    assert_eq!((forced, losing), (0.0, 0.0), "{:#?}", found.losses());
}

#[test]
fn what_sqlite_acknowledged_survives_a_kill() {
    in_sql("sqlite", ", synchronous = \"normal\", wal_autocheckpoint = 100000");
}

#[test]
fn what_postgres_acknowledged_survives_a_kill() {
    if !is_full() {
        eprintln!("skipped: ASSAY_TEST_SIZE=full runs it; SQLite goes the same way");
        return;
    }
    in_sql("postgres", ", cache = \"16MiB\", settings = { fsync = \"off\" }");
}

#[test]
fn a_pool_is_imported_after_its_process_was_killed() {
    let Some(rig) = Rig::new(&[]).filter(|_| crate::rig::has_openzfs()) else {
        return;
    };
    let stacks = stack(
        "pool",
        "zfs",
        "data = \"data\"\nvia = \"userspace\"\narc_max = \"64MiB\"",
    );
    let found = run(&rig, &study(&rig.work(), &stacks, PAGES, WORK, kills()));
    let [made, forced, losing] = found.kills("pool");
    assert_eq!(
        (made, forced, losing),
        (found.made(), found.made(), 0.0),
        "{:#?}",
        found.losses()
    );
    let said = &found.said;
    assert!(said.contains("the process of its pool ended too"), "{said}");
    assert!(!said.contains("file system forced down"), "{said}");
}

#[test]
fn a_check_says_what_a_kill_takes_with_it() {
    let Some(rig) = Rig::new(&[]) else { return };
    let place = rig.work();
    let stacks = stack("fs", "ext4", "data = \"data\"")
        + &stack("place", "directory", &format!("path = \"{}\"", place.display()));
    let text = study(&place, &stacks, PAGES, WORK, kills());
    let check = |text: &str| {
        let study = rig.study("check", text);
        let ran = rig
            .assay(&["check", &study.display().to_string()])
            .output()
            .expect("run");
        let said = [ran.stdout, ran.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (ran.status.code(), said.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, said) = check(&text);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("fs: the engine; the file system is forced down"),
        "{said}"
    );
    assert!(said.contains("place: the engine alone"), "{said}");
    assert!(said.contains("weaker than a power cut"), "{said}");
    // Whoever asks for more than there can be is told of it.
    let (code, said) = check(&text.replace("kind = \"kill\"\nkills =", "kind = \"power_cut\"\ncuts ="));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("kind = \"kill\" is the weaker check"), "{said}");
}
