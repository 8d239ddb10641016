//! A finished file is held against its seal: an edit of any table is found, and what may be added later is not taken
//! for one.

use ledger::*;
use std::path::{Path, PathBuf};

fn file(dir: &Path) -> (Ledger, PathBuf) {
    let path = dir.join("sealed.assay");
    let study = Study {
        name: "sealed".into(),
        seed: 1,
        margin: 0.05,
        blocks_planned: 4,
        comparisons: 1,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "ring".into(),
        ..Study::default()
    };
    let mut ledger = Ledger::create(&path, &study).unwrap();
    let setting = Setting {
        key: "database.page".into(),
        value: "8KiB".into(),
        written: true,
    };
    ledger.setting(&setting).unwrap();
    (ledger, path)
}

fn finish(ledger: &mut Ledger) {
    let ending = Ending {
        at_unix_ns: 1,
        reason: "all blocks".into(),
    };
    ledger.finish(&ending).unwrap();
}

fn edited(path: &Path, sql: &str) -> Seal {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
    Ledger::open(path).unwrap().seal().unwrap()
}

#[test]
fn an_edit_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, path) = file(dir.path());
    assert_eq!(ledger.seal().unwrap(), Seal::None, "the study goes on");
    finish(&mut ledger);
    drop(ledger);
    let Seal::Whole(digits) = edited(&path, "VACUUM") else {
        panic!("moving rows about is no edit")
    };
    assert_eq!(digits.len(), 16);
    let seal = edited(&path, "UPDATE setting SET value = '9KiB'");
    assert_eq!(seal, Seal::Broken(vec!["setting".into()]));
    let seal = edited(&path, "UPDATE setting SET value = '8KiB'");
    assert_eq!(seal, Seal::Whole(digits), "it is as it was");
    let fact = "INSERT INTO fact VALUES ('host', '', NULL, 'cpu', NULL, NULL, 'another')";
    assert_eq!(edited(&path, fact), Seal::Broken(vec!["fact".into()]));
    assert_eq!(edited(&path, "DELETE FROM seal"), Seal::Broken(vec!["seal".into()]));
}

#[test]
fn what_is_imported_later_is_no_edit_and_a_study_that_goes_on_has_no_seal() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, path) = file(dir.path());
    finish(&mut ledger);
    drop(ledger);
    drop(Ledger::amend(&path).unwrap());
    let later = "INSERT INTO measure_meaning VALUES ('a.later.one', 's', 'of a later version')";
    assert!(matches!(edited(&path, later), Seal::Whole(_)));
    let before = std::fs::read(&path).unwrap();
    drop(Ledger::hold(&path).unwrap());
    assert!(
        std::fs::read(&path).unwrap() == before,
        "a file that is held stays as it is"
    );
    drop(Ledger::resume(&path).unwrap());
    assert_eq!(Ledger::open(&path).unwrap().seal().unwrap(), Seal::None);
}

fn refused(path: &Path) -> String {
    let error = Ledger::resume(path).unwrap_err();
    assert!(matches!(error, LedgerError::Edited { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_study_is_not_resumed_in_a_file_that_was_edited() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, path) = file(dir.path());
    finish(&mut ledger);
    drop(ledger);
    let broken = Seal::Broken(vec!["setting".into()]);
    assert_eq!(edited(&path, "UPDATE setting SET value = '9KiB'"), broken);
    let said = refused(&path);
    assert!(
        said.contains("(setting)") && said.contains("\n  go on with a copy"),
        "{said}"
    );
    assert_eq!(
        Ledger::open(&path).unwrap().seal().unwrap(),
        broken,
        "the edit is still there to be seen"
    );
    assert!(matches!(
        edited(&path, "UPDATE setting SET value = '8KiB'"),
        Seal::Whole(_)
    ));
    let mut ledger = Ledger::resume(&path).unwrap();
    finish(&mut ledger);
    assert!(
        matches!(ledger.seal().unwrap(), Seal::Whole(_)),
        "as its run left it, it goes on"
    );
}

#[test]
fn one_statement_does_not_silence_the_seal() {
    let dir = tempfile::tempdir().unwrap();
    let statements = [
        ("UPDATE study SET ended_unix_ns = NULL", "study"),
        ("DELETE FROM seal WHERE table_name = 'measure'", "seal of measure"),
        ("DELETE FROM seal", "seal"),
        ("DROP TABLE seal", "seal"),
        ("DROP TABLE look", "look"),
        ("DELETE FROM study", "study"),
        ("INSERT INTO seal VALUES ('', 0, '')", "seal"),
    ];
    for (nth, (statement, named)) in statements.into_iter().enumerate() {
        let place = dir.path().join(nth.to_string());
        std::fs::create_dir(&place).unwrap();
        let (mut ledger, path) = file(&place);
        finish(&mut ledger);
        drop(ledger);
        let seal = edited(&path, statement);
        assert_eq!(seal, Seal::Broken(vec![named.into()]), "{statement}");
        refused(&path);
    }
}

#[test]
fn a_reader_sees_the_seal_and_the_end_at_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, path) = file(dir.path());
    finish(&mut ledger);
    drop(ledger);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            loop {
                let seal = Ledger::open(&path).unwrap().seal().unwrap();
                assert!(!matches!(seal, Seal::Broken(_)), "{seal:?}");
                if over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
            }
        });
        for _ in 0..8 {
            finish(&mut Ledger::resume(&path).unwrap());
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
}
