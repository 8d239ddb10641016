//! Imports in the result file: given back as they were given, added to a finished file.

use ledger::*;

fn study() -> Study {
    Study {
        name: "mine".into(),
        text: "[study]\n".into(),
        seed: 1,
        margin: 0.05,
        blocks_planned: 4,
        comparisons: 1,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "ring".into(),
        ..Study::default()
    }
}

fn text(stack: &str) -> ImportedText {
    ImportedText {
        at_unix_ns: 7,
        stack: stack.into(),
        phase: "fresh read".into(),
        file: "awr.txt".into(),
        sha256: "00ff".into(),
        bytes: 1234,
        format: "awr".into(),
        layout: "statistics".into(),
        facts: vec![ImportedFact {
            name: "release".into(),
            value: "12.1.0.2.0".into(),
            line: 3,
        }],
        figures: vec![
            ImportedFigure {
                report: String::new(),
                name: "statistic.physical read bytes.total".into(),
                value: 201_232_334_848.0,
                text: "201,232,334,848".into(),
                unit: "bytes".into(),
                line: 2,
                comparable: None,
            },
            ImportedFigure {
                report: String::new(),
                name: "statistic.physical read IO requests.per_s".into(),
                value: 80_744.1,
                text: "80,744.1".into(),
                unit: "requests/s".into(),
                line: 1,
                comparable: Some(("reads_per_s".into(), 80_744.1)),
            },
        ],
        notes: vec![ImportNote {
            line: 0,
            text: "a note".into(),
        }],
    }
}

#[test]
fn given_back_as_given_and_the_end_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.assay");
    let mut ledger = Ledger::create(&path, &study()).unwrap();
    let ending = Ending {
        at_unix_ns: 9,
        reason: "decided".into(),
    };
    ledger.finish(&ending).unwrap();
    assert_eq!(ledger.imported().unwrap(), []);
    drop(ledger);
    let mut ledger = Ledger::amend(&path).unwrap();
    ledger.import(&[text("oracle"), text("oracle 2")]).unwrap();
    drop(ledger);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.imported().unwrap(), [text("oracle"), text("oracle 2")]);
    assert_eq!(ledger.ending().unwrap(), Some(ending));
    assert_eq!(ledger.study().unwrap(), study());
}

#[test]
fn a_file_that_is_written_cannot_be_amended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("busy.assay");
    let _writing = Ledger::create(&path, &study()).unwrap();
    let error = Ledger::amend(&path).unwrap_err();
    assert!(matches!(error, LedgerError::InUse { .. }), "{error}");
}
