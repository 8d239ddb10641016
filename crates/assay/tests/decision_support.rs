//! Decision support from the study file to the result file: PostgreSQL and SQLite on ext4, SQLite on a disk group, one
//! user, streams and a load curve of users, at a scale of a hundredth. Needs root, loop devices, mkfs.ext4 and
//! PostgreSQL 15 or newer.
//!
//! Prevents: answers that nobody keeps, a generator that is left behind, and a question without end.

use crate::machine::is_full;
use crate::rig::{Rig, assert_blocks, limit, text};
use ledger::{Ledger, Measure, PhaseKind, PhaseStatus};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn rig() -> Option<Rig> {
    if let Err(missing) = databases::postgres::choose(None) {
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
        return None;
    }
    Rig::new(&["mkfs.ext4"]).map(opened)
}

/// The server's user has to get to its data.
fn opened(rig: Rig) -> Rig {
    std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o711)).expect("opened");
    rig
}

const GROUP: &str = "[[stack]]\nname = \"group\"\nkind = \"diskgroup\"\ndata = \"data\"\n";

fn study(dir: &Path, phases: &str) -> String {
    let limit = limit("1s");
    format!(
        r#"
[study]
name = "questions"
time_limit = "{limit}"
blocks = 4
[luns.data]
files = {{ size = "192MiB", dir = "{}" }}
[memory]
budget = "320MiB"
[[stack]]
name = "server"
kind = "ext4"
data = "data"
database = {{ engine = "postgres", settings = {{ max_wal_size = "64MB", min_wal_size = "32MB", work_mem = "64kB" }} }}
[[stack]]
name = "lite"
kind = "ext4"
data = "data"
{GROUP}[database]
engine = "sqlite"
cache = "16MiB"
{phases}"#,
        dir.display()
    )
}

#[test]
fn every_engine_gives_the_same_answers_alone_and_together() {
    let Some(rig) = rig() else { return };
    let phases = "[[phase]]\nname = \"alone\"\nkind = \"tpch\"\nscale = 0.01\nrefresh = 2\n\
                  [[phase]]\nname = \"streams\"\nkind = \"tpch\"\nstreams = 2\n\
                  [[phase]]\nname = \"users\"\nkind = \"tpch\"\nusers = [1, 3]\neach = 2\n";
    let path = rig.study("questions", &study(&rig.work(), phases));
    let (before, result) = (rig.belongings(&[]), rig.result("questions"));
    rig.run(&path, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before);
    let ledger = Ledger::open(&result).expect("opens");
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), 3 * 3);
    for phase in &phases {
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{:?}", phase.run);
    }
    let alone = phases.iter().filter(|phase| phase.run.kind == PhaseKind::Tpch).count();
    assert_eq!(alone * 3, phases.len());
    let mut digests: BTreeMap<(u32, u32), String> = BTreeMap::new();
    let asked = ledger.decision_supports().expect("decision support");
    assert_eq!(asked.len(), phases.len());
    for of in &asked {
        let many = of.row.answers.len();
        let pairs = of.row.refreshes.len();
        assert_eq!(pairs, if many == 22 { 2 } else { 0 });
        assert!(
            of.row
                .refreshes
                .iter()
                .all(|pair| pair.orders == 15 && pair.insert_ns > 0)
        );
        // Each step of the curve asks each question once.
        assert!([22, 44].contains(&many), "{many} answers");
        for users in of.row.answers.iter().map(|answer| answer.users) {
            let of_step = of.row.answers.iter().filter(|answer| answer.users == users);
            assert_eq!(of_step.count(), if users == 2 { 44 } else { 22 }, "{users} users");
        }
        for answer in &of.row.answers {
            let first = digests
                .entry((answer.question, answer.variant))
                .or_insert_with(|| answer.digest.clone());
            assert_eq!(*first, answer.digest, "question {}", answer.question);
            assert!(answer.elapsed_ns > 0 && answer.elapsed_ns < of.row.limit_ns);
        }
    }
    let measures = ledger.measures().expect("measures");
    let spilled = measures
        .iter()
        .filter(|row| row.row.0 == Measure::DatabaseTempFileBytes);
    assert!(spilled.map(|row| row.row.1).sum::<f64>() > 0.0, "the server spills");
    let told = rig
        .assay(&["report", text(&result), "--full"])
        .output()
        .expect("a report");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for words in [
        "no TPC result",
        "2, 13, 17, 20 and 22 in grouped form",
        "geometric mean",
        "/hour",
        "new orders",
        "deleted in",
    ] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
}

/// LUN and scale of a database whose sorts and groups spill: a smaller one in the usual size.
fn size() -> (&'static str, &'static str) {
    if is_full() {
        ("384MiB", "0.05")
    } else {
        ("256MiB", "0.02")
    }
}

/// Four users whose sorts and groups spill: beside the data, and to LUNs of their own.
fn spilling(dir: &Path) -> String {
    let limit = limit("1s");
    let (lun, scale) = size();
    let server = "database = { engine = \"postgres\", settings = { max_wal_size = \"64MB\", min_wal_size = \"32MB\", \
                  work_mem = \"64kB\" } }";
    let loading = server.replace("= { engine", "= { load = \"insert\", engine");
    format!(
        r#"
[study]
name = "temporary"
time_limit = "{limit}"
blocks = 4
[luns.data]
files = {{ size = "{lun}", dir = "{0}" }}
[luns.temp]
files = {{ size = "96MiB", dir = "{0}" }}
[memory]
budget = "320MiB"
[[stack]]
name = "beside"
kind = "ext4"
data = "data"
{loading}
[[stack]]
name = "server"
kind = "ext4"
data = "data"
temp = "temp"
{server}
[[stack]]
name = "file"
kind = "ext4"
data = "data"
temp = "temp"
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
temp = "temp"
[database]
engine = "sqlite"
cache = "2MiB"
[[phase]]
name = "four users"
kind = "tpch"
scale = {scale}
users = 4
each = 1
questions = [1, 17]
"#,
        dir.display()
    )
}

/// Bytes asked beside bytes moved: temporary files have LUNs of their own, and what the database wrote to them its
/// devices were sent, as far as no page cache lies between. What that keeps, the report names.
#[test]
fn temporary_files_have_a_place_of_their_own() {
    // The kernel shows no device below LUN files in memory. Without a server nothing here is of use.
    let on_disk = rig().and_then(|_| Rig::on_disk(&["mkfs.ext4"]));
    let Some(rig) = on_disk.map(opened) else { return };
    let path = rig.study("temporary", &spilling(&rig.work()));
    let (before, result) = (rig.belongings(&[]), rig.result("temporary"));
    rig.run(&path, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before);
    let ledger = Ledger::open(&result).expect("opens");
    temporary_bytes(&temporary_sums(&ledger));
    tables_came_as_asked(&ledger);
    assert_eq!(share_named(&rig, &result, "beside"), None);
    for stack in ["server", "file", "group"] {
        let share = share_named(&rig, &result, stack).expect("a share");
        // How much of the server's a page cache keeps, and when the kernel writes it back, is the machine's affair.
        let least = if stack == "server" { 0.0 } else { 0.95 };
        assert!(share > least, "{stack}: {share}");
    }
}

/// One stack loads its tables itself, the others take copies, and all give the same answers.
fn tables_came_as_asked(ledger: &Ledger) {
    let stacks: BTreeMap<_, _> = ledger
        .trials()
        .expect("trials")
        .into_iter()
        .map(|trial| (trial.id, trial.stack))
        .collect();
    let databases = ledger.databases().expect("databases");
    assert!(databases.len() >= 4, "{} databases", databases.len());
    for row in databases {
        let settings = row.database.settings;
        let came = settings.iter().find(|setting| setting.name == "tables of questions");
        let expected = match stacks[&row.trial].as_str() {
            "beside" => "inserted in each stack",
            _ => "copied: loaded once beside the stacks",
        };
        assert_eq!(
            came.map(|came| came.value.as_str()),
            Some(expected),
            "{}",
            stacks[&row.trial]
        );
    }
    let mut digests = BTreeMap::new();
    for of in ledger.decision_supports().expect("decision support") {
        for answer in &of.row.answers {
            let first = digests.entry((answer.question, answer.variant));
            assert_eq!(*first.or_insert_with(|| answer.digest.clone()), answer.digest);
        }
    }
    assert!(!digests.is_empty());
}

/// Bytes of temporary files over all blocks, by stack: asked, in whole blocks, sent to the devices of their own, and
/// sizes of files. `None`: not every run tells.
type TemporarySums = BTreeMap<String, [Option<f64>; 4]>;

fn temporary_sums(ledger: &Ledger) -> TemporarySums {
    let wanted = [
        Measure::DatabaseTempBytes,
        Measure::DatabaseTempBlockBytes,
        Measure::TempDeviceWriteBytes,
        Measure::DatabaseTempFileBytes,
    ];
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let mut sums = TemporarySums::new();
    for phase in ledger.phases().expect("phases") {
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{:?}", phase.run);
        let trial = trials.iter().find(|trial| trial.id == phase.run.trial);
        let stack = trial.expect("its trial").stack.clone();
        let of = |wanted: Measure| {
            let found = measures.iter().find(|row| row.phase == phase.id && row.row.0 == wanted);
            found.map(|row| row.row.1)
        };
        let of_stack = sums.entry(stack).or_insert([Some(0.0); 4]);
        for (sum, measure) in of_stack.iter_mut().zip(wanted) {
            *sum = sum.zip(of(measure)).map(|(sum, one)| sum + one);
        }
    }
    sums
}

/// What each stack asked, and what its devices were sent.
fn temporary_bytes(sums: &TemporarySums) {
    assert_eq!(sums.len(), 4, "{sums:?}");
    for (stack, [asked, blocks, moved, sizes]) in sums {
        eprintln!("{stack}: {asked:?} bytes asked, {blocks:?} in whole blocks, {moved:?} moved, {sizes:?} in files");
        assert!(
            asked.is_some() != sizes.is_some(),
            "{stack}: the server tells sizes alone"
        );
        let asked = asked.or(*sizes).expect("counted");
        assert!(asked > 1e6, "{stack}: {asked} bytes");
        let of_asked = moved.map(|moved| moved / asked);
        let of_blocks = moved.zip(*blocks).map(|(moved, blocks)| moved / blocks);
        match (stack.as_str(), of_asked, of_blocks) {
            // Beside the data they are not told apart.
            ("beside", None, None) => {}
            // The page cache keeps what is gone soon, and what changes after it was written back is written again.
            ("server", Some(share), None) => assert!(share > 0.0, "{stack}: {share}"),
            // Beyond whole blocks there is only what the file system and the group note for themselves.
            ("file" | "group", Some(of_asked), Some(of_blocks)) => {
                assert!((of_blocks - 1.0).abs() < 0.05, "{stack}: {of_blocks} of the blocks");
                assert!((of_asked - 1.0).abs() < 0.05, "{stack}: {of_asked} of the bytes");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The share of a stack's temporary bytes that met their device, as the report has it; a page cache kept the rest.
fn share_named(rig: &Rig, result: &Path, stack: &str) -> Option<f64> {
    let told = rig.assay(&["report", text(result), "--json"]).output();
    let told = told.expect("a report").stdout;
    let told: serde_json::Value = serde_json::from_slice(&told).expect("JSON");
    let cells = told["report"]["phases"][0]["cells"].as_array().expect("cells");
    let mine = cells.iter().find(|cell| cell["stack"] == stack).expect("its cell");
    mine["questions"]["temp_device_share"]["median"].as_f64()
}

/// Temporary space that runs out is a result of its stack, and no end of the run.
#[test]
fn temporary_space_that_runs_out_is_reported() {
    let Some(rig) = rig() else { return };
    let (dir, limit) = (rig.work(), limit("1s"));
    let (lun, scale) = size();
    let text = format!(
        r#"
[study]
name = "full"
time_limit = "{limit}"
blocks = 4
[luns.data]
files = {{ size = "{lun}", dir = "{0}" }}
[luns.temp]
files = {{ size = "2MiB", dir = "{0}" }}
[memory]
budget = "192MiB"
[[stack]]
name = "server"
kind = "ext4"
data = "data"
temp = "temp"
# The LUN files are in memory here: a copy beside them would take more of the budget than it has.
[stack.database]
engine = "postgres"
load = "insert"
settings = {{ max_wal_size = "64MB", min_wal_size = "32MB", work_mem = "64kB" }}
[[stack]]
name = "file"
kind = "ext4"
data = "data"
temp = "temp"
[database]
engine = "sqlite"
cache = "2MiB"
[[phase]]
name = "alone"
kind = "tpch"
scale = {scale}
"#,
        dir.display()
    );
    let path = rig.study("full", &text);
    let (before, result) = (rig.belongings(&[]), rig.result("full"));
    rig.run(&path, &result, &[]).expect(0, &["ran out of space"]);
    assert_eq!(rig.belongings(&[]), before);
    let phases = Ledger::open(&result).expect("opens").phases().expect("phases");
    let both = !phases.is_empty() && phases.len().is_multiple_of(2);
    assert!(both, "the run ends before its second stack: {phases:?}");
    for phase in &phases {
        assert_eq!(
            phase.run.status,
            PhaseStatus::Failed("ran out of space".to_string()),
            "{phase:?}"
        );
    }
}

#[test]
fn a_question_past_its_limit_ends_its_phase_by_name() {
    let Some(rig) = rig() else { return };
    let phases = "[[phase]]\nname = \"hurry\"\nkind = \"tpch\"\nscale = 0.01\nlimit = \"1ms\"\n";
    let mut text = study(&rig.work(), phases);
    if !is_full() {
        // Below the engine nothing asks for the time.
        text = text.replace(GROUP, "");
    }
    let path = rig.study("hurry", &text);
    let result = rig.result("hurry");
    let ran = rig.run(&path, &result, &[]);
    let ledger = Ledger::open(&result).expect("opens");
    let phases = ledger.phases().expect("phases");
    let named = |status: &PhaseStatus| match status {
        PhaseStatus::Invalid(why) => why.starts_with("question ") && why.contains("ran past its limit of 1ms"),
        _ => false,
    };
    assert!(
        !phases.is_empty() && phases.iter().all(|phase| named(&phase.run.status)),
        "{phases:?}\n{}",
        ran.code()
    );
}
