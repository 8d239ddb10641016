//! Rows of file serving: given back as given, and recorded with their phase or not at all.

use ledger::*;

fn point(nth: u64) -> LoadPoint {
    let mut all = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    all.record_n(1_000_000, 5 + nth).unwrap();
    LoadPoint {
        asked_per_s: 500.0 * (nth + 1) as f64,
        began_ns: nth * 10,
        ended_ns: nth * 10 + 9,
        in_time: 5 + nth,
        unsent: nth,
        data_bytes: 50_000_000,
        files: 1_900,
        measures: vec![
            PointMeasure::of(Measure::CpuBusyNs, 12.5),
            PointMeasure::of(Measure::LowReadBytes, 4096.0),
        ],
        histograms: vec![StepHistogram {
            class: "lookup".into(),
            stamp: Stamp::Response,
            blob: encode_histogram(&all).unwrap(),
            count: 5 + nth,
            units: 0,
        }],
    }
}

fn serving() -> FileServing {
    FileServing {
        protocol: ledger::Protocol::Nfs3,
        server: Some("nfs-ganesha 4.3".into()),
        work: "sfs97".into(),
        arrival: ledger::FileArrival::Poisson,
        sessions: 256,
        connections: Some(4),
        transfer_bytes: 8192,
        warm_up_ns: 1,
        limit_ns: Some(15_000_000),
        limit_of: LimitOf::Mean,
        reached_share: 0.95,
        points: (0..3).map(point).collect(),
    }
}

#[test]
fn a_ramp_is_given_back_as_given_and_a_second_of_its_phase_is_not_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("files.assay");
    let mut ledger = Ledger::create(&path, &crate::rows::study()).unwrap();
    ledger.stack(&crate::rows::stack(0, "ext4")).unwrap();
    let trial = ledger.begin_trial(&crate::rows::new_trial(0, "ext4")).unwrap();
    let record = |name: &str, serving| PhaseRecord {
        serving,
        ..PhaseRecord::new(crate::rows::run(trial, 0, name, PhaseKind::Files))
    };
    let without = FileServing {
        limit_ns: None,
        server: None,
        connections: None,
        points: Vec::new(),
        ..serving()
    };
    let first = ledger.record_phase(&record("ramp", Some(serving()))).unwrap();
    let second = ledger.record_phase(&record("other", Some(without.clone()))).unwrap();
    // A class twice at one point: nothing of the phase stays.
    let mut broken = serving();
    let again = broken.points[1].histograms[0].clone();
    broken.points[1].histograms.push(again);
    ledger.record_phase(&record("broken", Some(broken))).unwrap_err();
    drop(ledger);
    let ledger = Ledger::open(&path).unwrap();
    let read: Vec<_> = ledger.file_servings().unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!((read[0].phase, &read[0].row), (first, &serving()));
    assert_eq!((read[1].phase, &read[1].row), (second, &without));
    assert_eq!(read[0].row.points[0].get(Measure::CpuBusyNs), Some(12.5));
    assert_eq!(read[0].row.points[0].get(Measure::CpuUserNs), None);
    assert_eq!(ledger.phases().unwrap().len(), 2);
}
