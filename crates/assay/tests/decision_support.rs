//! Decision support from the study file to the result file: PostgreSQL and SQLite on ext4, SQLite on a disk group, one
//! user, streams and a load curve of users, at a scale of a hundredth. Needs root, loop devices, mkfs.ext4 and
//! PostgreSQL 15 or newer.
//!
//! Prevents: answers that nobody keeps, a generator that is left behind, and a question without end.

use crate::rig::{Rig, text};
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
    let rig = Rig::new(&["mkfs.ext4"])?;
    // The server's user has to get to its data.
    std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o711)).expect("opened");
    Some(rig)
}

fn study(dir: &Path, phases: &str) -> String {
    format!(
        r#"
[study]
name = "questions"
time_limit = "20m"
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
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
[database]
engine = "sqlite"
cache = "16MiB"
{phases}"#,
        dir.display()
    )
}

#[test]
fn every_engine_gives_the_same_answers_alone_and_together() {
    let Some(rig) = rig() else { return };
    let phases = "[[phase]]\nname = \"alone\"\nkind = \"tpch\"\nscale = 0.01\n\
                  [[phase]]\nname = \"streams\"\nkind = \"tpch\"\nstreams = 2\n\
                  [[phase]]\nname = \"users\"\nkind = \"tpch\"\nusers = [1, 3]\neach = 2\n";
    let path = rig.study("questions", &study(&rig.work(), phases));
    let (before, result) = (rig.belongings(&[]), rig.result("questions"));
    rig.run(&path, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before);
    let ledger = Ledger::open(&result).expect("opens");
    let phases = ledger.phases().expect("phases");
    crate::rig::assert_four_blocks(phases.len(), 3 * 3);
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
        assert!([22, 44, 8].contains(&many), "{many} answers");
        for answer in &of.row.answers {
            let first = digests
                .entry((answer.question, answer.variant))
                .or_insert_with(|| answer.digest.clone());
            assert_eq!(*first, answer.digest, "question {}", answer.question);
            assert!(answer.elapsed_ns > 0 && answer.elapsed_ns < of.row.limit_ns);
        }
    }
    let measures = ledger.measures().expect("measures");
    let spilled = measures.iter().filter(|row| row.row.0 == Measure::DatabaseTempBytes);
    assert!(spilled.map(|row| row.row.1).sum::<f64>() > 0.0, "the server spills");
    let told = rig
        .assay(&["report", text(&result), "--full"])
        .output()
        .expect("a report");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for words in [
        "no TPC result",
        "2, 17, 20 and 22 in grouped form",
        "geometric mean",
        "/hour",
    ] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
}

#[test]
fn a_question_past_its_limit_ends_its_phase_by_name() {
    let Some(rig) = rig() else { return };
    let phases = "[[phase]]\nname = \"hurry\"\nkind = \"tpch\"\nscale = 0.01\nlimit = \"1ms\"\n";
    let path = rig.study("hurry", &study(&rig.work(), phases));
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
