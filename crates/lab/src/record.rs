//! From what a phase did to rows of the result file.

use crate::full;
use crate::not_kept::NotKept;
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use databases::postgres::PostgresError;
use databases::sqlite::SqliteError;
use ledger::{HistogramRow, Measure, PhaseRecord, PhaseRun, Severity, Slice, Stamp, StepHistogram, UserScan};
use pages::{Counters, PagesError};
use std::time::{SystemTime, UNIX_EPOCH};
use workloads::Outcome;

/// Wall time, for rows that say when.
pub fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

/// The whole record of a finished phase; `fixed`: measures that are the same in all phases of its trial.
pub(crate) fn finished(run: PhaseRun, fixed: &[(Measure, f64)], done: Done) -> anyhow::Result<PhaseRecord> {
    let (seen, mut record) = (done.seen, PhaseRecord::new(run));
    record.measures = fixed.to_vec();
    record.measures.extend(done.measures);
    record.order_entry = done.order_entry;
    record.questions = done.questions;
    record.bulk_loads = done.bulk_loads;
    record.serving = done.serving;
    record.instances = done.instances;
    record.measures.extend(done.counters.iter().flat_map(engine));
    record.measures.extend(seen.measures);
    record.samples = seen.samples;
    record.layouts = seen.layouts;
    if let Some(driven) = &done.driven {
        record.measures.extend(operations(&driven.outcome));
        record.histograms = histograms(&driven.outcome)?;
        record.slices = slices(&driven.outcome);
        record.user_scans = user_scans(driven);
    }
    let notes = seen.notes.into_iter().map(|text| (Severity::Warning, text));
    let remarks = seen.remarks.into_iter().map(|text| (Severity::Info, text));
    record.events = notes
        .chain(remarks)
        .map(|(severity, text)| ledger::Event {
            at_unix_ns: unix_ns(),
            trial: Some(record.run.trial),
            phase: None,
            severity,
            text,
        })
        .collect();
    Ok(record)
}

/// The record of a phase that ended in an error; what came back wrong is counted: a page, a table, an answer.
pub(crate) fn failed(run: PhaseRun, error: &anyhow::Error) -> PhaseRecord {
    let mut record = PhaseRecord::new(run);
    let lost = error.chain().find_map(wrong).filter(|_| !full::ran_out_of_space(error));
    record.measures.extend(lost.map(|measure| (measure, 1.0)));
    record
}

/// What a cause says came back otherwise than it was written. A refused I/O or a server that ended is no loss yet: only
/// after a power cut or a kill it is one ([`crate::not_kept::is_loss`]).
fn wrong(cause: &(dyn std::error::Error + 'static)) -> Option<Measure> {
    if cause.is::<NotKept>() || matches!(cause.downcast_ref(), Some(PagesError::DataLoss { .. })) {
        return Some(Measure::EnginePagesBad);
    }
    match cause.downcast_ref() {
        Some(PostgresError::Answer(_)) => return Some(Measure::DatabaseAnswersWrong),
        Some(PostgresError::Doubt(_)) => return Some(Measure::DatabaseTablesWrong),
        Some(error) => return PostgresError::is_damaged(error).then_some(Measure::EnginePagesBad),
        None => {}
    }
    match cause.downcast_ref()? {
        SqliteError::Answer(_) => Some(Measure::DatabaseAnswersWrong),
        SqliteError::Doubt(_) => Some(Measure::DatabaseTablesWrong),
        error => error.is_damaged().then_some(Measure::EnginePagesBad),
    }
}

fn user_scans(driven: &Driven) -> Vec<UserScan> {
    let since = |at: u64| at.saturating_sub(driven.outcome.began);
    let scan = |scan: &pages::UserScan| UserScan {
        schema: scan.schema,
        bytes: scan.bytes,
        began_ns: since(scan.began),
        ended_ns: since(scan.ended),
    };
    driven.user_scans.iter().map(scan).collect()
}

fn operations(outcome: &Outcome) -> Vec<(Measure, f64)> {
    vec![
        (Measure::EngineOperations, outcome.count() as f64),
        (Measure::EngineUnsent, outcome.unsent as f64),
        (Measure::EngineDue, (outcome.unsent + outcome.count()) as f64),
    ]
}

/// The engine's own counts.
fn engine(counters: &Counters) -> Vec<(Measure, f64)> {
    let reads = counters.physical_reads + counters.multiblock_reads;
    let read_bytes = counters.physical_read_bytes + counters.multiblock_read_bytes;
    [
        (Measure::EngineLogicalReads, counters.logical_reads),
        (Measure::EnginePhysicalReads, reads),
        (Measure::EngineReadBytes, read_bytes),
        (Measure::EngineMultiblockReads, counters.multiblock_reads),
        (Measure::EngineMultiblockBytes, counters.multiblock_read_bytes),
        (Measure::EngineWrites, counters.data_writes),
        (Measure::EngineWriteBytes, counters.data_write_bytes),
        (Measure::EngineRedoBytes, counters.redo_write_bytes),
        (Measure::EngineRedoWrites, counters.redo_writes),
        (Measure::EngineRedoFlushes, counters.redo_flushes),
        (Measure::EngineCommits, counters.commits),
        (Measure::EnginePageImages, counters.page_images),
        (Measure::EnginePageImageBytes, counters.page_image_bytes),
        (Measure::EngineDoublewriteBytes, counters.doublewrite_bytes),
        (Measure::EngineCheckpoints, counters.checkpoints),
        (Measure::EnginePagesVerified, counters.verified_pages),
        // The first bad page ends the phase, and that one is recorded as [`failed`].
        (Measure::EnginePagesBad, 0),
    ]
    .into_iter()
    .map(|(measure, count)| (measure, count as f64))
    .collect()
}

/// Those of a part of a phase: a step of a load curve, a point of a ramp.
pub(crate) fn step_histograms(outcome: &Outcome) -> anyhow::Result<Vec<StepHistogram>> {
    let of_step = |row: HistogramRow| StepHistogram {
        class: row.class,
        stamp: row.stamp,
        blob: row.blob,
        count: row.count,
        units: row.units,
    };
    Ok(histograms(outcome)?.into_iter().map(of_step).collect())
}

/// Latencies of each class of operation that ended.
pub(crate) fn histograms(outcome: &Outcome) -> anyhow::Result<Vec<HistogramRow>> {
    let mut rows = Vec::new();
    for class in outcome.classes.iter().filter(|c| c.count > 0) {
        for (stamp, histogram) in [(Stamp::Service, &class.service), (Stamp::Response, &class.response)] {
            rows.push(HistogramRow {
                class: class.name.clone(),
                stamp,
                blob: ledger::encode_histogram(histogram)?,
                count: class.count,
                units: class.units,
            });
        }
    }
    Ok(rows)
}

fn slices(outcome: &Outcome) -> Vec<Slice> {
    outcome
        .slices
        .iter()
        .enumerate()
        .map(|(i, slice)| Slice {
            // The ledger marks a slice by its end, the loop by its beginning.
            at_ns: outcome.slices.get(i + 1).map_or(outcome.elapsed_ns, |next| next.at_ns),
            count: slice.count,
            units: slice.units,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use databases::decision_support::{Answer, Checksums, Held, Question, Table};
    use ledger::{PhaseKind, PhaseStatus, TrialId};
    use targets::FileId;

    #[test]
    fn a_scan_read_that_is_repeated_is_counted_once() {
        let counters = Counters {
            physical_reads: 5,
            multiblock_reads: 7,
            scan_rereads: 2,
            ..Counters::default()
        };
        let all = engine(&counters);
        let reads = all.iter().find(|(measure, _)| *measure == Measure::EnginePhysicalReads);
        assert_eq!(
            reads.map(|(_, count)| *count),
            Some(12.0),
            "the repeated are among the seven"
        );
    }

    #[test]
    fn a_page_that_came_back_wrong_is_counted() {
        let run = PhaseRun {
            trial: TrialId(1),
            ordinal: 0,
            name: "work".into(),
            kind: PhaseKind::Random,
            ranked: true,
            began_unix_ns: 0,
            elapsed_ns: 0,
            drain_ns: 0,
            status: PhaseStatus::Failed("x".into()),
        };
        let bad = |error: anyhow::Error| failed(run.clone(), &error).measures;
        let wrong = PagesError::DataLoss {
            file: FileId(0),
            offset: 0,
            schema: 0,
            page: 1,
            expected: "a page".into(),
            found: "zeros".into(),
        };
        let lost = Err::<(), _>(wrong).context("drain").expect_err("it was one");
        assert_eq!(bad(lost), [(Measure::EnginePagesBad, 1.0)]);
        let of_sql = anyhow::Error::from(NotKept("malformed".into())).context("SQLite stopped");
        assert_eq!(bad(of_sql), [(Measure::EnginePagesBad, 1.0)]);
        assert!(bad(anyhow::anyhow!("a device went away")).is_empty());
        // Of databases: an answer that is none, a table that lost rows, a damaged page; and what is none of these.
        let question = Question::new(1).expect("one of 22");
        let no_answer = || Answer::new(question, vec![Vec::new()]).expect_err("no columns");
        let held = Held {
            rows: 1,
            sums: Vec::new(),
        };
        let doubt = || Checksums::new(Table::Region).compare(&held).expect_err("a row more");
        let tables = [(Measure::DatabaseTablesWrong, 1.0)];
        let answers = [(Measure::DatabaseAnswersWrong, 1.0)];
        assert_eq!(bad(SqliteError::from(doubt()).into()), tables);
        assert_eq!(
            bad(anyhow::Error::from(PostgresError::from(doubt())).context("refresh")),
            tables
        );
        assert_eq!(bad(SqliteError::from(no_answer()).into()), answers);
        assert_eq!(bad(PostgresError::from(no_answer()).into()), answers);
        let refused = |code: &str| {
            let (severity, during) = ("ERROR".to_string(), "question 9".to_string());
            let (code, message) = (code.to_string(), "x".to_string());
            let cure = "";
            anyhow::Error::from(PostgresError::Refused {
                during,
                severity,
                code,
                message,
                cure,
            })
        };
        assert_eq!(bad(refused("XX001")), [(Measure::EnginePagesBad, 1.0)]);
        let none = ["53100", "58030", "40001"].map(|code| bad(refused(code)).len());
        assert_eq!(none, [0; 3], "no space, a refused I/O, a conflict");
        let fine = engine(&Counters::default());
        assert!(fine.contains(&(Measure::EnginePagesBad, 0.0)), "and none is said too");
    }
}
