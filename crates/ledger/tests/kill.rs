//! A run that is killed: the file opens, with every phase that was reported finished, and can be gone on with.
//!
//! The victim is this test program itself, started again with `LEDGER_VICTIM` set; it says on stdout which phases are
//! recorded, and is killed with SIGKILL at moments that a fixed seed spreads over its writes.

use ledger::*;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const VICTIM: &str = "LEDGER_VICTIM";

fn study() -> Study {
    Study {
        name: "killed".into(),
        seed: 1,
        margin: 0.05,
        blocks_planned: 4,
        comparisons: 1,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "pread".into(),
        modelled: true,
        ..Study::default()
    }
}

fn record(trial: TrialId, ordinal: u32) -> PhaseRecord {
    let mut record = PhaseRecord::new(PhaseRun {
        trial,
        ordinal,
        name: format!("phase {ordinal}"),
        kind: PhaseKind::Scan,
        ranked: true,
        began_unix_ns: 0,
        elapsed_ns: 1,
        drain_ns: 1,
        status: PhaseStatus::Valid,
    });
    record.measures = Measure::ALL.iter().map(|m| (*m, f64::from(ordinal))).collect();
    // Enough rows that a kill often falls inside a transaction.
    record.slices = (0..4000)
        .map(|i| Slice {
            at_ns: i,
            count: i,
            units: i,
        })
        .collect();
    record
}

/// Not a test of its own: the process to be killed. Does nothing unless told to.
#[test]
fn victim() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let mut ledger = Ledger::create(PathBuf::from(path), &study()).unwrap();
    let stack = Stack {
        ordinal: 0,
        name: "model".into(),
        kind: "model".into(),
        layers: Layers::plain(["model"]),
        database: None,
        data_lun_set: None,
        redo_lun_set: None,
        access: Access::Direct,
        injected: None,
        skipped: None,
    };
    ledger.stack(&stack).unwrap();
    let trial = NewTrial {
        block: 0,
        position: 0,
        stack: "model".into(),
        seed: 1,
        host: "h".into(),
        instance: "1".into(),
        lun_set: "data".into(),
        began_unix_ns: 0,
    };
    let trial = ledger.begin_trial(&trial).unwrap();
    for ordinal in 0..100_000 {
        ledger.record_phase(&record(trial, ordinal)).unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "recorded {ordinal}").unwrap();
        out.flush().unwrap();
    }
}

fn kill_after(path: &Path, phases: usize, extra: Duration) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::victim", "--nocapture", "--test-threads=1"])
        .env(VICTIM, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut recorded = 0;
    while recorded < phases {
        let line = lines.next().expect("the victim lives until it is killed").unwrap();
        recorded += usize::from(line.contains("recorded "));
    }
    std::thread::sleep(extra);
    child.kill().unwrap();
    child.wait().unwrap();
    recorded
        + lines
            .map_while(Result::ok)
            .filter(|line| line.contains("recorded "))
            .count()
}

#[test]
fn finished_phases_survive_sigkill() {
    let mut journals = 0;
    for round in 0..12u64 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("killed.assay");
        // Steps that share no factor with the time of a write fall at different places in it.
        let said = kill_after(&path, 1 + (round as usize % 3), Duration::from_micros(round * 1_370));
        journals += usize::from(std::fs::metadata(dir.path().join("killed.assay-journal")).is_ok_and(|m| m.len() > 0));
        let ledger = Ledger::open(&path).unwrap();
        let phases = ledger.phases().unwrap();
        assert!(
            phases.len() >= said,
            "{said} phases were said to be recorded, {} are there",
            phases.len()
        );
        assert!(
            phases.len() <= said + 1,
            "only the phase under way may have been finished unsaid"
        );
        assert_eq!(ledger.slices().unwrap().len(), phases.len() * 4000);
        assert_eq!(ledger.measures().unwrap().len(), phases.len() * Measure::ALL.len());
        drop(ledger);
        let ledger = Ledger::resume(&path).unwrap();
        assert_eq!(ledger.trials().unwrap()[0].status, TrialStatus::Interrupted);
    }
    assert!(journals > 0, "no kill fell inside a write: the test has lost its teeth");
}
