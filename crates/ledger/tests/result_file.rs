//! The result file as its users meet it: written as a run goes, killed in the middle, read again, and refused when it
//! is not what it should be.

use crate::rows::{new_trial, run, stack, study};
use ledger::*;
use std::path::{Path, PathBuf};

fn record(trial: TrialId, ordinal: u32, name: &str) -> PhaseRecord {
    let mut record = PhaseRecord::new(run(trial, ordinal, name, PhaseKind::Random));
    record.measures = vec![(Measure::EngineOperations, 1000.0), (Measure::CpuIdleShare, 0.25)];
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    histogram.record_n(150_000, 1000).unwrap();
    record.histograms = vec![HistogramRow {
        class: "select".into(),
        stamp: Stamp::Response,
        blob: encode_histogram(&histogram).unwrap(),
        count: 1000,
        units: 64_000,
    }];
    record.slices = vec![
        Slice {
            at_ns: 1_000,
            count: 3,
            units: 9,
        },
        Slice {
            at_ns: 2_000,
            count: 4,
            units: 12,
        },
    ];
    record.samples = vec![Sample {
        at_ns: 7,
        name: "memory.dirty_bytes".into(),
        value: 4096.0,
    }];
    record.user_scans = vec![UserScan {
        schema: 3,
        bytes: 8192,
        began_ns: 1,
        ended_ns: 2,
    }];
    record.extents = vec![ExtentSummary {
        file: "data".into(),
        extents: 17,
        bytes: 1 << 30,
    }];
    record.events = vec![Event {
        at_unix_ns: 11,
        trial: None,
        phase: None,
        severity: Severity::Warning,
        text: "slow".into(),
    }];
    record
}

fn lying(extents: u64) -> FileLayout {
    FileLayout {
        on_stack: None,
        file: "data 0".into(),
        bytes: 1 << 20,
        extents,
        runs: extents,
        page_bytes: 8192,
        pairs: 127,
        pairs_apart: 3,
        pairs_striped: 1,
        read_bytes: 131_072,
        reads: 8,
        pieces: 9,
        estimated: false,
        devices: 1,
        span_bytes: 1 << 30,
        places: (0..PLACES as u16).map(|n| n * 100).chain([NOWHERE]).collect(),
        adjacent: vec![255; BUCKETS],
    }
}

fn fresh(dir: &Path) -> (PathBuf, Ledger) {
    let path = dir.join("a study.assay");
    let mut ledger = Ledger::create(&path, &study()).unwrap();
    ledger.stack(&stack(0, "ext4")).unwrap();
    ledger.stack(&stack(1, "btrfs")).unwrap();
    (path, ledger)
}

#[test]
fn the_study_and_its_stacks_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let skipped = Skipped {
        reason: "mkfs.xfs not found".into(),
        cure: "install xfsprogs".into(),
    };
    ledger
        .stack(&Stack {
            skipped: Some(skipped),
            injected: Some("late 20 %".into()),
            ..stack(2, "xfs")
        })
        .unwrap();
    ledger
        .setting(&Setting {
            key: "database.page".into(),
            value: "8KiB".into(),
            written: false,
        })
        .unwrap();
    ledger
        .fact(&Fact {
            scope: Scope::Host,
            key: FactName::Kernel.into(),
            value: "6.1".into(),
        })
        .unwrap();
    ledger
        .fact(&Fact {
            scope: Scope::Host,
            key: FactName::Kernel.into(),
            value: "6.18".into(),
        })
        .unwrap();
    let ending = Ending {
        at_unix_ns: 100,
        reason: "time limit".into(),
    };
    ledger.finish(&ending).unwrap();
    drop(ledger);

    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.study().unwrap(), study());
    assert_eq!(ledger.ending().unwrap(), Some(ending));
    let stacks = ledger.stacks().unwrap();
    assert_eq!(stacks.len(), 3);
    assert_eq!(stacks[0], stack(0, "ext4"));
    assert_eq!(stacks[2].skipped.as_ref().unwrap().cure, "install xfsprogs");
    assert_eq!(stacks[2].injected.as_deref(), Some("late 20 %"));
    assert_eq!(ledger.facts().unwrap().len(), 1);
    assert_eq!(ledger.facts().unwrap()[0].value, "6.18".into());
    assert_eq!(ledger.settings().unwrap()[0].value, "8KiB");
}

#[test]
fn phases_and_all_their_rows_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    let wanted = record(trial, 0, "update");
    let phase = ledger.record_phase(&wanted).unwrap();
    let mut invalid = record(trial, 1, "scan");
    invalid.run.status = PhaseStatus::Invalid("too short".into());
    ledger.record_phase(&invalid).unwrap();
    ledger
        .end_trial(trial, 99, &TrialStatus::Failed("EIO on loop0".into()))
        .unwrap();
    drop(ledger);

    let ledger = Ledger::open(&path).unwrap();
    let trials = ledger.trials().unwrap();
    assert_eq!((trials[0].seed, trials[0].ended_unix_ns), (1 << 63, Some(99)));
    assert_eq!(trials[0].status, TrialStatus::Failed("EIO on loop0".into()));
    let phases = ledger.phases().unwrap();
    assert_eq!(
        phases[0],
        Phase {
            id: phase,
            run: wanted.run.clone()
        }
    );
    assert_eq!(phases[1].run.status, PhaseStatus::Invalid("too short".into()));
    let measures: Vec<_> = ledger
        .measures()
        .unwrap()
        .into_iter()
        .filter(|m| m.phase == phase)
        .map(|m| m.row)
        .collect();
    assert!(measures.contains(&(Measure::EngineOperations, 1000.0)) && measures.len() == 2);
    let histograms = ledger.histograms().unwrap();
    assert_eq!(histograms[0].row, wanted.histograms[0]);
    assert_eq!(decode_histogram(&histograms[0].row.blob).unwrap().len(), 1000);
    assert_eq!(ledger.slices().unwrap()[1].row, wanted.slices[1]);
    assert_eq!(ledger.samples_of(phase).unwrap(), wanted.samples);
    let name = &wanted.samples[0].name;
    let series = ledger.samples_named(name).unwrap();
    let own: Vec<_> = wanted.samples.iter().filter(|sample| sample.name == *name).collect();
    let found = series.iter().filter(|one| one.phase == phase).map(|one| &one.row);
    assert_eq!(found.collect::<Vec<_>>(), own);
    assert!(ledger.samples_named("no.such").unwrap().is_empty());
    assert_eq!(ledger.user_scans().unwrap()[0].row, wanted.user_scans[0]);
    assert_eq!(ledger.extents().unwrap()[0].summary, wanted.extents[0]);
}

#[test]
fn looks_and_events_are_read_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    let phase = ledger.record_phase(&record(trial, 0, "update")).unwrap();
    let look = Look {
        after_block: 4,
        stack: "btrfs".into(),
        base: "ext4".into(),
        phase: "update".into(),
        n: 4,
        ratio: 0.8,
        low: 0.7,
        high: 0.9,
        verdict: "worse".into(),
        alpha: 0.001,
    };
    ledger.look(&look).unwrap();
    let event = Event {
        at_unix_ns: 1,
        trial: Some(trial),
        phase: None,
        severity: Severity::Info,
        text: "began".into(),
    };
    ledger.event(&event).unwrap();
    drop(ledger);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.looks().unwrap(), vec![look]);
    let events = ledger.events().unwrap();
    assert_eq!((events[0].trial, events[0].phase), (Some(trial), Some(phase)));
    assert_eq!(events[1], event);
}

#[test]
fn the_finished_file_is_one_file_and_explains_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    ledger.record_phase(&record(trial, 0, "update")).unwrap();
    let names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(
        names,
        ["a study.assay"],
        "nothing may stand beside the file between transactions"
    );
    let connection = rusqlite::Connection::open(&path).unwrap();
    let row: (String, String, String, String, String, i64) = connection
        .query_row(
            "SELECT host, instance, lun_set, stack, phase, total_ns FROM phase_full",
            [],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?)),
        )
        .unwrap();
    assert_eq!(
        row,
        (
            "h1".into(),
            "1".into(),
            "data".into(),
            "ext4".into(),
            "update".into(),
            61_000_000_000
        )
    );
    let unit: String = connection
        .query_row(
            "SELECT unit FROM measure_full WHERE name = 'engine.operations'",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(unit, "operations");
}

#[test]
fn a_result_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ledger) = fresh(dir.path());
    drop(ledger);
    let before = std::fs::read(&path).unwrap();
    let error = Ledger::create(&path, &study()).unwrap_err();
    assert!(matches!(error, LedgerError::Exists { .. }));
    assert!(error.to_string().contains("--resume"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_phase_is_recorded_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    ledger.record_phase(&record(trial, 0, "update")).unwrap();
    let mut broken = record(trial, 1, "scan");
    broken.measures.push(broken.measures[0]);
    let error = ledger.record_phase(&broken).unwrap_err();
    assert!(matches!(error, LedgerError::Row { .. }), "{error}");
    drop(ledger);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.phases().unwrap().len(), 1);
    assert_eq!(ledger.measures().unwrap().len(), 2);
    assert_eq!(ledger.events().unwrap().len(), 1);
}

#[test]
fn a_dropped_run_is_resumed_with_its_trial_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    ledger.record_phase(&record(trial, 0, "update")).unwrap();
    drop(ledger);
    assert_eq!(
        Ledger::open(&path).unwrap().trials().unwrap()[0].status,
        TrialStatus::Running
    );
    let mut ledger = Ledger::resume(&path).unwrap();
    assert_eq!(ledger.trials().unwrap()[0].status, TrialStatus::Interrupted);
    let again = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    ledger.record_phase(&record(again, 0, "update")).unwrap();
    ledger.end_trial(again, 50, &TrialStatus::Done).unwrap();
    assert_eq!(ledger.trials().unwrap().len(), 2);
    assert_eq!(ledger.phases().unwrap().len(), 2);
}

#[test]
fn one_writer_and_any_number_of_readers() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    assert!(matches!(Ledger::resume(&path).unwrap_err(), LedgerError::InUse { .. }));
    assert!(Ledger::is_being_written(&path).unwrap());
    let reader = Ledger::open(&path).unwrap();
    assert_eq!(reader.trials().unwrap().len(), 0);
    ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    assert_eq!(reader.trials().unwrap().len(), 1);
    drop(ledger);
    assert!(!Ledger::is_being_written(&path).unwrap());
    Ledger::resume(&path).unwrap();
}

#[test]
fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ledger) = fresh(dir.path());
    drop(ledger);
    let mut reader = Ledger::open(&path).unwrap();
    assert!(matches!(
        reader.begin_trial(&new_trial(0, "ext4")).unwrap_err(),
        LedgerError::NotWritable { .. }
    ));
}

#[test]
fn other_files_are_refused_with_a_cure() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    assert!(matches!(
        Ledger::open(at("none")).unwrap_err(),
        LedgerError::Missing { .. }
    ));
    assert!(matches!(
        Ledger::resume(at("none")).unwrap_err(),
        LedgerError::Missing { .. }
    ));
    assert!(!at("none").exists(), "looking for a file must not make it");
    assert!(matches!(
        Ledger::open(dir.path()).unwrap_err(),
        LedgerError::NotAssay { .. }
    ));
    std::fs::write(at("text"), "[study]\nname = \"x\"\n".repeat(100)).unwrap();
    let error = Ledger::open(at("text")).unwrap_err();
    assert!(matches!(error, LedgerError::NotAssay { .. }), "{error}");
    assert!(
        error.to_string().contains("text") && error.to_string().lines().count() == 2,
        "{error}"
    );
    std::fs::write(at("empty"), "").unwrap();
    assert!(Ledger::open(at("empty")).unwrap_err().to_string().contains("empty"));
    let other = rusqlite::Connection::open(at("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(other);
    assert!(matches!(
        Ledger::open(at("other.db")).unwrap_err(),
        LedgerError::NotAssay { .. }
    ));
}

#[test]
fn another_schema_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ledger) = fresh(dir.path());
    drop(ledger);
    let edit = rusqlite::Connection::open(&path).unwrap();
    for (version, cure) in [
        (SCHEMA_VERSION + 1, "a newer one"),
        (SCHEMA_VERSION - 1, "run the study again"),
        (1, "run the study again"),
    ] {
        edit.pragma_update(None, "user_version", version).unwrap();
        for opened in [Ledger::open(&path), Ledger::resume(&path), Ledger::amend(&path)] {
            let error = opened.unwrap_err();
            assert_eq!(
                matches!(error, LedgerError::Newer { .. }),
                version > SCHEMA_VERSION,
                "{error}"
            );
            let said = error.to_string();
            assert!(
                said.contains(&format!("version {version},")) && said.contains(cure),
                "{said}"
            );
        }
    }
}

/// Such a file was once taken for a mistake of ours, and the reader was asked to report it.
#[test]
fn an_earlier_build_without_one_of_the_tables_is_refused_by_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ledger) = fresh(dir.path());
    drop(ledger);
    let edit = rusqlite::Connection::open(&path).unwrap();
    edit.execute_batch("DROP TABLE refresh").unwrap();
    let damaged = Ledger::open(&path).unwrap().decision_supports().unwrap_err();
    assert!(matches!(damaged, LedgerError::Damaged { .. }), "{damaged}");
    edit.pragma_update(None, "user_version", SCHEMA_VERSION - 1).unwrap();
    let said = Ledger::open(&path).unwrap_err().to_string();
    assert!(
        said.ends_with("run the study again, or use the version of assay that wrote it"),
        "{said}"
    );
}

/// A name of a later version is left out; a value that its type does not have is damage, and neither is a panic.
#[test]
fn facts_of_another_hand_are_left_out_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let known = Fact {
        scope: Scope::Stack("ext4".into()),
        key: FactName::ReadsGo.on(Role::Data),
        value: Way::Around.into(),
    };
    ledger.fact(&known).unwrap();
    drop(ledger);
    let edit = rusqlite::Connection::open(&path).unwrap();
    let later = "INSERT INTO fact_meaning VALUES ('later', '', 'text', 'of a later version');
        INSERT INTO fact VALUES ('host', '', NULL, 'later', NULL, NULL, 'x')";
    edit.execute_batch(later).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().facts().unwrap(), [known]);
    for wrong in [
        "UPDATE fact SET value = 'sideways' WHERE name = 'reads go'",
        "UPDATE fact SET value = 'around', scope = 'moon' WHERE name = 'reads go'",
        "UPDATE fact SET scope = 'stack', role = 'index' WHERE name = 'reads go'",
        "UPDATE fact SET role = 'data', number = -1 WHERE name = 'reads go'",
    ] {
        edit.execute_batch(wrong).unwrap();
        let error = Ledger::open(&path).unwrap().facts().unwrap_err();
        assert!(matches!(error, LedgerError::Damaged { .. }), "{wrong}: {error}");
    }
    for wrong in [
        "layers = 'model all'",
        "layers = 'x', access = 'direct'",
        "access = 'by hand'",
    ] {
        let (path, ledger) = fresh(&tempfile::tempdir_in(dir.path()).unwrap().keep());
        drop(ledger);
        let edit = rusqlite::Connection::open(&path).unwrap();
        edit.execute_batch(&format!("UPDATE stack SET {wrong}")).unwrap();
        let error = Ledger::open(&path).unwrap().stacks().unwrap_err();
        assert!(matches!(error, LedgerError::Damaged { .. }), "{wrong}: {error}");
    }
}

#[test]
fn damage_is_told_not_read_over() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    for block in 0..20 {
        let trial = ledger.begin_trial(&new_trial(block, "ext4")).unwrap();
        ledger.record_phase(&record(trial, 0, "update")).unwrap();
    }
    drop(ledger);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(Ledger::open(&path).unwrap_err(), LedgerError::Damaged { .. }));
    let mut rubbed = whole.clone();
    let half = rubbed.len() / 2;
    rubbed[4096..half].fill(0xa5);
    std::fs::write(&path, &rubbed).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error}");
    std::fs::write(&path, &whole).unwrap();
    let edit = rusqlite::Connection::open(&path).unwrap();
    edit.execute_batch("UPDATE phase SET kind = 'dance' WHERE id = 3")
        .unwrap();
    drop(edit);
    let error = Ledger::open(&path).unwrap().phases().unwrap_err();
    assert!(
        matches!(error, LedgerError::Damaged { .. }) && error.to_string().contains("dance"),
        "{error}"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let error = Ledger::create("/proc/nowhere.assay", &study()).unwrap_err();
    assert!(matches!(error, LedgerError::NotWritable { .. }));
    assert!(error.to_string().contains("/proc/nowhere.assay"), "{error}");
    if Path::new("/dev/full").exists() {
        let error = Ledger::open("/dev/full").unwrap_err();
        assert!(matches!(error, LedgerError::NotAssay { .. }), "{error}");
    }
}

#[test]
fn an_unknown_measure_of_a_later_version_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    ledger.record_phase(&record(trial, 0, "update")).unwrap();
    drop(ledger);
    let edit = rusqlite::Connection::open(&path).unwrap();
    edit.execute_batch(
        "INSERT INTO measure_meaning VALUES ('moon.phase', 'share', 'lit part of the moon');
         INSERT INTO measure VALUES (1, 'moon.phase', 0.5);",
    )
    .unwrap();
    drop(edit);
    assert_eq!(Ledger::open(&path).unwrap().measures().unwrap().len(), 2);
}

#[test]
fn layouts_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut ledger) = fresh(dir.path());
    let trial = ledger.begin_trial(&new_trial(0, "ext4")).unwrap();
    ledger.layouts_of(trial, &[lying(4)]).unwrap();
    let mut after = record(trial, 0, "ageing");
    after.layouts = vec![FileLayout {
        on_stack: Some("xfs".into()),
        ..lying(77)
    }];
    let phase = ledger.record_phase(&after).unwrap();
    let back = ledger.layouts().unwrap();
    assert_eq!(
        back[0],
        FileLayoutRow {
            trial,
            phase: None,
            layout: lying(4)
        }
    );
    assert_eq!((back[1].phase, &back[1].layout), (Some(phase), &after.layouts[0]));
}
