//! The power fails under the page engine on every stack: what was acknowledged is there, and the controls are found
//! out. Needs root, loop devices and /dev/fuse. `ASSAY_TEST_SIZE=full` makes 200 cuts on each stack.

use crate::machine::is_full;
use crate::rig::{Rig, blocks, limit};
use ledger::{Ledger, Measure, Severity};
use std::collections::BTreeMap;
use std::path::Path;

/// In each block.
fn cuts() -> u32 {
    if is_full() { 50 } else { 4 }
}

/// LUN sets by size: the smallest that each file system takes, for what is written anew for each trial takes most of
/// the time.
const SETS: [(&str, u32); 3] = [("small", 32), ("middle", 128), ("large", 304)];

/// A LUN set, if one of the stacks stands on it.
fn lun_set(dir: &Path, name: &str, mib: u32, stacks: &str) -> String {
    if !stacks.contains(&format!("\"{name}\"")) {
        return String::new();
    }
    let dir = dir.display();
    format!("[luns.{name}]\nfiles = {{ size = \"{mib}MiB\", dir = \"{dir}\" }}\nmodel = \"plain\"\n")
}

fn study(dir: &Path, stacks: &str) -> String {
    let mut sets = String::new();
    for (name, mib) in SETS {
        for part in ["data", "redo"] {
            let set = format!("{name}-{part}");
            sets += &lun_set(dir, &set, mib, stacks);
        }
    }
    format!(
        r#"
[study]
name = "cuts"
time_limit = "{}"
blocks = 4
seed = 3
io = "ring"
{sets}
{stacks}
[database]
cache = "2MiB"
schemas = 8
scale = "6MiB"
redo_size = "4MiB"
checkpoint = "100ms"
[[phase]]
name = "cuts"
kind = "power_cut"
cuts = {}
earliest = "50ms"
latest = "300ms"
sessions = 8
work_unit = 4
"#,
        limit("1ms"),
        cuts()
    )
}

/// The redo log has a LUN of its own, so that its flushes leave pages unflushed.
fn stack(name: &str, kind: &str, more: &str) -> String {
    let set = match kind {
        "xfs" => "large",
        "btrfs" | "diskgroup" | "zfs" => "middle",
        _ => "small",
    };
    // A pool has its intent log among its data.
    let redo = if kind == "zfs" {
        String::new()
    } else {
        format!("redo = \"{set}-redo\"\n")
    };
    format!("[[stack]]\nname = \"{name}\"\nkind = \"{kind}\"\ndata = \"{set}-data\"\n{redo}{more}\n")
}

/// Sums of the cuts' measures by stack.
type Sums = BTreeMap<String, BTreeMap<Measure, f64>>;

fn run(rig: &Rig, text: &str) -> Option<(Sums, Vec<ledger::Event>, String)> {
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("cuts", text), rig.result("cuts"));
    let ran = rig.run(&study, &result, &["--full"]);
    ran.expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let mut sums = Sums::new();
    for phase in ledger.phases().expect("phases") {
        let trial = trials.iter().find(|t| t.id == phase.run.trial).expect("its trial");
        let of = sums.entry(trial.stack.clone()).or_default();
        for row in measures.iter().filter(|row| row.phase == phase.id) {
            *of.entry(row.row.0).or_default() += row.row.1;
        }
    }
    Some((sums, ledger.events().expect("events"), ran.stdout))
}

fn able() -> Option<Rig> {
    if !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: needs /dev/fuse");
        return None;
    }
    Rig::new(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"])
}

#[test]
fn what_is_acknowledged_survives_the_power_on_every_stack() {
    let Some(rig) = able() else { return };
    let mut stacks = stack("ext4", "ext4", "");
    if is_full() {
        for kind in ["xfs", "btrfs", "raw", "diskgroup"] {
            stacks += &stack(kind, kind, "");
        }
    }
    let Some((sums, events, said)) = run(&rig, &study(&rig.work(), &stacks)) else {
        return;
    };
    assert_eq!(sums.len(), if is_full() { 5 } else { 1 });
    for (stack, of) in &sums {
        assert_eq!(of[&Measure::CutsMade], f64::from(blocks() * cuts()), "{stack}");
        assert!(of[&Measure::CutsAcknowledged] > 0.0, "{stack}: nothing to lose: {of:?}");
        let lost = [
            Measure::CutsLosing,
            Measure::CutsLost,
            Measure::CutsHalf,
            Measure::CutsOlder,
        ];
        let told: Vec<&str> = events.iter().map(|e| e.text.as_str()).collect();
        assert!(lost.iter().all(|m| of[m] == 0.0), "{stack}: {of:?}\n{told:#?}");
        eprintln!(
            "{stack}: {} cuts, {} with writes unflushed, {} bytes of {} lost, {} acknowledged, all kept",
            of[&Measure::CutsMade],
            of[&Measure::CutsUnflushed],
            of[&Measure::CutsLostBytes],
            of[&Measure::CutsUnflushedBytes],
            of[&Measure::CutsAcknowledged]
        );
    }
    // The cuts must have had something to lose, or they prove nothing. Of a few it is luck whether one hits a write.
    for (stack, of) in sums.iter().filter(|_| is_full()) {
        assert!(of[&Measure::CutsLostBytes] > 0.0, "{stack}: no cut lost a byte: {of:?}");
    }
    assert!(events.iter().any(|e| e.text.contains("kept all")), "{events:?}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("kept all"), "{said}");
}

#[test]
fn an_engine_without_flushes_and_file_systems_without_barriers_are_found_out() {
    let Some(rig) = able() else { return };
    let mut stacks = stack("ext4 without", "ext4", "mount_options = [\"nobarrier\"]");
    if is_full() {
        stacks += &stack("raw without flush", "raw", "inject = { flush_lost = true }");
        stacks += &stack("no flush", "xfs", "inject = { flush_lost = true }");
        stacks += &stack("btrfs without", "btrfs", "mount_options = [\"nobarrier\"]");
    }
    let Some((sums, events, said)) = run(
        &rig,
        &study(&rig.work(), &stacks).replace("earliest = \"50ms\"", "earliest = \"200ms\""),
    ) else {
        return;
    };
    for (stack, of) in &sums {
        let (made, hit, losing) = (
            of[&Measure::CutsMade],
            of[&Measure::CutsUnflushed],
            of[&Measure::CutsLosing],
        );
        eprintln!("{stack}: {made} cuts, {hit} with writes unflushed, {losing} lost data");
        assert!(
            hit > 0.0 && losing >= 0.95 * hit,
            "{stack}: {losing} of {hit} cuts: {of:?}"
        );
    }
    let lost = |e: &&ledger::Event| e.severity == Severity::Warning && e.text.contains("DATA LOST");
    assert!(events.iter().filter(lost).count() > 0);
    // A line may end between the two words.
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(
        words
            .windows(2)
            .any(|two| two[0] == "LOST" && two[1].starts_with("DATA")),
        "{said}"
    );
}

/// Databases in SQL: cuts on each stack, fifty or a hundredth of the page engine's.
fn in_sql(dir: &Path, stacks: &str) -> String {
    let (cuts, limit) = (if is_full() { 13 } else { 4 }, limit("1ms"));
    let sets: String = [("sql", 160), ("large", 304)]
        .map(|(name, mib)| lun_set(dir, name, mib, stacks))
        .concat();
    format!(
        r#"
[study]
name = "cuts"
time_limit = "{limit}"
blocks = 4
seed = 5
{sets}
{stacks}
[[phase]]
name = "cuts"
kind = "power_cut"
cuts = {cuts}
earliest = "100ms"
latest = "400ms"
sessions = 4
"#
    )
}

fn sql_stack(name: &str, kind: &str, more: &str) -> String {
    // A log that nothing empties grows with each commit.
    let is_large = kind == "xfs" || name.ends_with("lazy");
    let set = if is_large { "large" } else { "sql" };
    format!("[[stack]]\nname = \"{name}\"\nkind = \"{kind}\"\ndata = \"{set}\"\n{more}\n")
}

const SQLITE: &str = "access = \"buffered\"\ndatabase = { engine = \"sqlite\" }";
const SQLITE_LAZY: &str =
    "access = \"buffered\"\ndatabase = { engine = \"sqlite\", synchronous = \"normal\", wal_autocheckpoint = 100000 }";
const POSTGRES: &str = "access = \"buffered\"\ndatabase = { engine = \"postgres\", cache = \"16MiB\" }";
const POSTGRES_LAZY: &str = "access = \"buffered\"\ndatabase = { engine = \"postgres\", cache = \"16MiB\", \
    settings = { synchronous_commit = \"off\", wal_writer_delay = \"10s\" } }";

fn kept_and_lost(stacks: &str) {
    let Some(rig) = able() else { return };
    let Some((sums, events, _)) = run(&rig, &in_sql(&rig.work(), stacks)) else {
        return;
    };
    let told: Vec<&str> = events.iter().map(|e| e.text.as_str()).collect();
    for (stack, of) in &sums {
        let (made, losing) = (of[&Measure::CutsMade], of[&Measure::CutsLosing]);
        let (hit, acknowledged) = (of[&Measure::CutsUnflushed], of[&Measure::CutsAcknowledged]);
        let half = of[&Measure::CutsHalf];
        eprintln!(
            "{stack}: {made} cuts, {hit} hit, {losing} lost data, {acknowledged} acknowledged, {half} half there, {:?} \
             temporary files removed",
            of.get(&Measure::CutsTempRemoved)
        );
        // Of a few it is luck whether one hits a temporary file.
        let removed = of.get(&Measure::CutsTempRemoved).copied();
        assert_eq!(removed.is_some(), stack == "group", "{stack}: {of:?}");
        assert!(!is_full() || removed.is_none_or(|files| files > 0.0), "{stack}: {of:?}");
        assert!(acknowledged > 0.0, "{stack}: nothing to lose: {of:?}");
        if stack.contains("lazy") {
            assert!(losing >= 0.95 * made, "{stack}: {losing} of {made} cuts\n{told:#?}");
        } else {
            assert_eq!(losing, 0.0, "{stack}: {of:?}\n{told:#?}");
        }
    }
}

#[test]
fn what_sqlite_acknowledged_survives_the_power() {
    let mut stacks = sql_stack("ext4", "ext4", SQLITE) + &sql_stack("ext4 lazy", "ext4", SQLITE_LAZY);
    // Temporary files come and go on it meanwhile.
    stacks += &sql_stack("group", "diskgroup", "database = { engine = \"sqlite\" }");
    if is_full() {
        stacks += &sql_stack("xfs", "xfs", SQLITE);
        stacks += &sql_stack("btrfs", "btrfs", SQLITE);
        stacks += &sql_stack("direct", "ext4", "database = { engine = \"sqlite\" }");
    }
    kept_and_lost(&stacks);
}

#[test]
fn what_postgres_acknowledged_survives_the_power() {
    if !is_full() {
        eprintln!("skipped: ASSAY_TEST_SIZE=full runs it; SQLite goes the same way");
        return;
    }
    let mut stacks = sql_stack("ext4", "ext4", POSTGRES) + &sql_stack("ext4 lazy", "ext4", POSTGRES_LAZY);
    stacks += &sql_stack("xfs", "xfs", POSTGRES);
    stacks += &sql_stack("btrfs", "btrfs", POSTGRES);
    kept_and_lost(&stacks);
}

#[test]
fn a_pool_keeps_what_is_acknowledged() {
    let Some(rig) = able().filter(|_| crate::rig::has_openzfs()) else {
        return;
    };
    let pool = |name, more| stack(name, "zfs", &format!("arc_max = \"64MiB\"\n{more}"));
    let mut stacks = pool("pool", "");
    let mut here = Vec::new();
    if is_full() {
        stacks += &pool("no sync", "sync = \"disabled\"\n");
        // So little is written in the time of a cut that no transaction group is closed for its size, which a small
        // pool does after a few MiB (it reserves 24 times as much): without sync all of it is to be lost.
        here.push(("checkpoint = \"100ms\"", "checkpoint = \"10s\"\ntorn_pages = \"none\""));
        here.push(("cache = \"2MiB\"", "cache = \"16MiB\""));
        here.push(("size = \"128MiB\"", "size = \"384MiB\""));
    }
    let mut text = study(&rig.work(), &stacks);
    for (usual, other) in here {
        assert!(text.contains(usual), "the study has no {usual} any more");
        text = text.replace(usual, other);
    }
    let Some((sums, events, _)) = run(&rig, &text) else {
        return;
    };
    for (stack, of) in &sums {
        let [made, acknowledged, losing, lost, not_up, held_bytes] = [
            Measure::CutsMade,
            Measure::CutsAcknowledged,
            Measure::CutsLosing,
            Measure::CutsLost,
            Measure::CutsNotUp,
            Measure::CutsUnflushedBytes,
        ]
        .map(|measure| of[&measure]);
        eprintln!(
            "{stack}: {made} cuts, {losing} losing, {not_up} not up; {acknowledged} acknowledged, {lost} of them lost; \
             {held_bytes} bytes unflushed, {} of them lost",
            of[&Measure::CutsLostBytes]
        );
        assert_eq!(made, f64::from(blocks() * cuts()), "{stack}");
        let least = if is_full() { 20.0 } else { 0.0 };
        assert!(acknowledged > least, "{stack}: too little to lose: {of:?}");
    }
    let told: Vec<&str> = events.iter().map(|e| e.text.as_str()).collect();
    let kept = &sums["pool"];
    for measure in [
        Measure::CutsLosing,
        Measure::CutsLost,
        Measure::CutsHalf,
        Measure::CutsOlder,
    ] {
        assert_eq!(kept[&measure], 0.0, "{}: {told:#?}", measure.name());
    }
    if let Some(control) = sums.get("no sync") {
        // An acknowledgement waits for nothing: every cut hits writes that lie in the process's memory.
        let (made, losing) = (control[&Measure::CutsMade], control[&Measure::CutsLosing]);
        assert!(losing >= 0.95 * made, "{control:?}\n{told:#?}");
    }
}
