//! Rows of real databases: given back as given and recorded with their phase or not at all.

use ledger::*;
use std::path::{Path, PathBuf};

fn fresh(dir: &Path) -> (PathBuf, Ledger, TrialId) {
    let path = dir.join("sql.assay");
    let mut ledger = Ledger::create(&path, &crate::rows::study()).unwrap();
    ledger.stack(&crate::rows::stack(0, "ext4")).unwrap();
    let trial = ledger.begin_trial(&crate::rows::new_trial(0, "ext4")).unwrap();
    (path, ledger, trial)
}

fn run(trial: TrialId, ordinal: u32, kind: PhaseKind) -> PhaseRun {
    crate::rows::run(trial, ordinal, &format!("phase {ordinal}"), kind)
}

fn postgres() -> Database {
    let setting = |name: &str, value: &str, source: &str| DatabaseSetting {
        name: name.into(),
        value: value.into(),
        source: source.into(),
    };
    Database {
        engine: ledger::DatabaseEngine::Postgres,
        version: "15.18".into(),
        access: "page cache".into(),
        managed: true,
        settings: vec![
            setting("fsync", "on", "default"),
            setting("shared_buffers", "262144 8kB", "configuration file"),
        ],
    }
}

fn histogram(class: &str, stamp: Stamp, ns: u64, count: u64, units: u64) -> StepHistogram {
    let mut all = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    all.record_n(ns, count).unwrap();
    StepHistogram {
        class: class.into(),
        stamp,
        blob: encode_histogram(&all).unwrap(),
        count,
        units,
    }
}

fn orders() -> OrderEntry {
    let condition = |moment: AskedAt, condition: u32, found: u64| ConditionRow {
        moment,
        condition,
        says: "what a warehouse took in is its history".into(),
        found,
    };
    let step = |nth: u64, users: u32| LoadStep {
        users,
        began_ns: nth * 1_000,
        ended_ns: nth * 1_000 + 900,
        histograms: vec![
            histogram("new order", Stamp::Response, 5_000 * u64::from(users), 100, 99),
            histogram("new order", Stamp::Service, 5_000, 100, 99),
        ],
    };
    OrderEntry {
        users: 8,
        warehouses: 10,
        items: 100_000,
        customers: 3_000,
        isolation: ledger::Isolation::ReadCommitted,
        arrival: ledger::Arrival::Closed,
        pauses: false,
        home: ledger::Home::Any,
        storage_told_by: Some("the volume".into()),
        transactions: ["new order", "stock level"]
            .map(|class| TransactionRow {
                class: class.into(),
                serialisation_failures: 3,
                deadlocks: 1,
                limit_ns: 5_000_000_000,
            })
            .into(),
        conditions: vec![condition(AskedAt::Before, 8, 0), condition(AskedAt::After, 8, 2)],
        waits: vec![WaitRow {
            what: "write lock".into(),
            blob: histogram("", Stamp::Service, 77, 5, 0).blob,
            count: 5,
            total_ns: 385,
        }],
        steps: vec![step(0, 1), step(1, 8)],
    }
}

fn load(rows: u64) -> BulkLoadRow {
    let space = |kind: &str, name: &str, bytes: u64| SpaceRow {
        kind: kind.into(),
        name: name.into(),
        bytes,
    };
    BulkLoadRow {
        rows,
        elapsed_ns: rows * 9_000,
        settle_ns: 500_000,
        space: vec![
            space("table", "bulk", rows * 240),
            space("index", "bulk_pk", rows * 31),
            space("index", "bulk_uk", rows * 31),
            space("other", "catalogue and free pages", 8192),
        ],
        growth: vec![
            GrowthRow {
                rows: 100,
                at_ns: 10,
                bytes: 8192,
            },
            GrowthRow {
                rows,
                at_ns: 900,
                bytes: rows * 302,
            },
        ],
        histograms: vec![histogram(
            "commit of 100 rows",
            Stamp::Service,
            900_000,
            rows / 100,
            rows,
        )],
    }
}

#[test]
fn order_entry_and_bulk_loads_are_given_back_as_given() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut ledger, trial) = fresh(dir.path());
    ledger.database_of(trial, &postgres()).unwrap();
    let mut tpcc = PhaseRecord::new(run(trial, 0, PhaseKind::Tpcc));
    tpcc.order_entry = Some(orders());
    let tpcc = ledger.record_phase(&tpcc).unwrap();
    let mut bulk = PhaseRecord::new(run(trial, 1, PhaseKind::Bulk));
    bulk.bulk_loads = vec![load(10_000), load(100_000)];
    let own = Database {
        engine: ledger::DatabaseEngine::Sqlite,
        managed: false,
        settings: Vec::new(),
        ..postgres()
    };
    bulk.database = Some(own.clone());
    let bulk = ledger.record_phase(&bulk).unwrap();
    ledger
        .record_phase(&PhaseRecord::new(run(trial, 2, PhaseKind::TpccOpen)))
        .unwrap();
    drop(ledger);

    let ledger = Ledger::open(&path).unwrap();
    let databases = ledger.databases().unwrap();
    assert_eq!((databases[0].phase, &databases[0].database), (None, &postgres()));
    assert_eq!((databases[1].phase, &databases[1].database), (Some(bulk), &own));
    assert_eq!(
        ledger.order_entries().unwrap(),
        [OfPhase {
            phase: tpcc,
            row: orders()
        }]
    );
    let loads = ledger.bulk_loads().unwrap();
    assert_eq!(
        loads.iter().map(|l| &l.row).collect::<Vec<_>>(),
        [&load(10_000), &load(100_000)]
    );
    assert!(loads.iter().all(|l| l.phase == bulk));
    let kinds: Vec<PhaseKind> = ledger.phases().unwrap().iter().map(|p| p.run.kind).collect();
    assert_eq!(kinds, [PhaseKind::Tpcc, PhaseKind::Bulk, PhaseKind::TpccOpen]);
}

#[test]
fn a_phase_is_recorded_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut ledger, trial) = fresh(dir.path());
    let mut record = PhaseRecord::new(run(trial, 0, PhaseKind::Bulk));
    let mut twice = load(10_000);
    twice.space.push(twice.space[0].clone());
    record.bulk_loads = vec![load(10_000), twice];
    assert!(ledger.record_phase(&record).is_err());
    assert!(ledger.phases().unwrap().is_empty() && ledger.bulk_loads().unwrap().is_empty());
}
