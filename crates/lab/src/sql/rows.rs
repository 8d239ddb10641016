//! From what a database did to rows of the result file.
//!
//! Prevents: conditions that were never asked passing for conditions that hold, and a time that nobody told.

use super::contract::{Counted, Worked};
use crate::record;
use databases::bulk::{BulkResult, Space};
use databases::order_entry::{CLASSES, CONDITIONS, LIMITS_90_NS};
use databases::sqlite::LockWait;
use ledger::{AskedAt, BulkLoadRow, ConditionRow, GrowthRow, LoadStep, Measure, SpaceRow, TransactionRow, WaitRow};
use workloads::Outcome;

/// The database's own counts.
pub(super) fn counted(counted: &Counted) -> Vec<(Measure, f64)> {
    let known = [
        (Measure::EngineLogicalReads, counted.logical_reads),
        (Measure::EnginePhysicalReads, counted.reads),
        (Measure::EngineReadBytes, counted.read_bytes),
        (Measure::EngineWriteBytes, counted.write_bytes),
        (Measure::EngineRedoBytes, counted.log_bytes),
        (Measure::EngineCommits, counted.commits),
        (Measure::EngineCheckpoints, counted.checkpoints),
        (Measure::DatabaseTempBytes, counted.temp_bytes),
        (Measure::DatabaseTempFileBytes, counted.temp_file_bytes),
        (Measure::DatabaseTempBlockBytes, counted.temp_block_bytes),
    ];
    known
        .into_iter()
        .filter_map(|(measure, value)| Some((measure, value? as f64)))
        .collect()
}

/// All conditions at one moment, those that hold too.
pub(super) fn conditions(moment: AskedAt, broken: &[(u8, u64)]) -> Vec<ConditionRow> {
    let row = |condition: &databases::order_entry::Condition| ConditionRow {
        moment,
        condition: u32::from(condition.number),
        says: condition.says.to_string(),
        found: broken
            .iter()
            .find(|(number, _)| *number == condition.number)
            .map_or(0, |(_, found)| *found),
    };
    CONDITIONS.iter().map(row).collect()
}

/// What order entry came to so far. Of a step of a load curve nothing stays but its row.
#[derive(Default)]
pub(super) struct Entered {
    /// Each step has a row of its own.
    is_curve: bool,
    steps: Vec<LoadStep>,
    refused: [[u64; 2]; 5],
    lock_wait: Option<LockWait>,
    sent: Option<(u64, u64)>,
}

impl Entered {
    /// Nothing yet; `is_curve`: there will be several steps.
    pub(super) fn new(is_curve: bool) -> Entered {
        Entered {
            is_curve,
            ..Entered::default()
        }
    }

    /// Adds what so many users did; gives its outcome back. The row of a step takes milliseconds, which are of no step.
    pub(super) fn add(&mut self, users: u32, step: Worked) -> anyhow::Result<Outcome> {
        if self.is_curve {
            let began_ns = self.steps.last().map_or(0, |step| step.ended_ns);
            self.steps.push(LoadStep {
                users,
                began_ns,
                ended_ns: began_ns + step.outcome.elapsed_ns,
                histograms: record::step_histograms(&step.outcome)?,
            });
        }
        let refused = step.refused.as_flattened();
        for (all, count) in self.refused.as_flattened_mut().iter_mut().zip(refused) {
            *all += count;
        }
        match (&mut self.lock_wait, step.lock_wait) {
            (Some(all), Some(wait)) => all.add(&wait),
            (all, wait) => *all = all.take().or(wait),
        }
        if let Some((trips, statements)) = step.sent {
            let (all_trips, all_statements) = self.sent.get_or_insert((0, 0));
            *all_trips += trips;
            *all_statements += statements;
        }
        Ok(step.outcome)
    }

    /// What was sent to a server.
    pub(super) fn sent(&self) -> Vec<(Measure, f64)> {
        self.sent.map_or_else(Vec::new, |(trips, statements)| {
            vec![
                (Measure::DatabaseRoundTrips, trips as f64),
                (Measure::DatabaseStatements, statements as f64),
            ]
        })
    }

    /// Refusals and limits by kind of transaction.
    pub(super) fn transactions(&self) -> Vec<TransactionRow> {
        CLASSES
            .iter()
            .enumerate()
            .map(|(nth, class)| TransactionRow {
                class: (*class).to_string(),
                serialisation_failures: self.refused[nth][0],
                deadlocks: self.refused[nth][1],
                limit_ns: LIMITS_90_NS[nth],
            })
            .collect()
    }

    /// Waits for the one writer, where there is one.
    pub(super) fn waits(&self) -> anyhow::Result<Vec<WaitRow>> {
        let row = |all: &LockWait| -> anyhow::Result<WaitRow> {
            Ok(WaitRow {
                what: "write lock".to_string(),
                blob: ledger::encode_histogram(&all.wait)?,
                count: all.wait.len(),
                total_ns: all.total_ns,
            })
        };
        self.lock_wait.iter().map(row).collect()
    }

    /// Steps of a load curve; none where there was but one.
    pub(super) fn load_steps(self) -> Vec<LoadStep> {
        self.steps
    }
}

/// What a bulk load's table and indexes take.
pub(super) fn bulk_space(space: &Space) -> Vec<SpaceRow> {
    let row = |kind: &str, name: &str, bytes| SpaceRow {
        kind: kind.to_string(),
        name: name.to_string(),
        bytes,
    };
    vec![
        row("table", databases::bulk::TABLE, space.table_bytes),
        row("index", "bulk_pk", space.primary_key_bytes),
        row("index", "bulk_uk", space.unique_key_bytes),
        row("other", "catalogue and free pages", space.other_bytes),
    ]
}

/// One row count of a bulk load, without its space.
pub(super) fn bulk_load(result: &BulkResult) -> anyhow::Result<BulkLoadRow> {
    Ok(BulkLoadRow {
        rows: result.rows,
        elapsed_ns: result.elapsed_ns,
        settle_ns: result.settle_ns,
        space: Vec::new(),
        growth: result
            .growth
            .iter()
            .map(|step| GrowthRow {
                rows: step.rows,
                at_ns: step.at_ns,
                bytes: step.bytes,
            })
            .collect(),
        histograms: record::step_histograms(&result.outcome)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worked(elapsed_ns: u64) -> Worked {
        let outcome = Outcome {
            began: 5,
            ended: 5 + elapsed_ns,
            elapsed_ns,
            classes: Vec::new(),
            slices: Vec::new(),
            in_time_count: 0,
            in_time_units: 0,
            unsent: 0,
            fairness: (0, 0),
            sessions: 1,
            cancelled: false,
            busy_share: None,
        };
        Worked {
            refused: [[1, 0], [0, 2], [0, 0], [0, 0], [3, 4]],
            sent: Some((10, 20)),
            ..Worked::of(outcome)
        }
    }

    #[test]
    fn steps_follow_each_other_and_their_counts_add_up() {
        let mut curve = Entered::new(true);
        for (users, elapsed_ns) in [(1, 100), (4, 70), (16, 30)] {
            assert_eq!(curve.add(users, worked(elapsed_ns)).unwrap().elapsed_ns, elapsed_ns);
        }
        let sent = [(Measure::DatabaseRoundTrips, 30.0), (Measure::DatabaseStatements, 60.0)];
        assert_eq!(curve.sent(), sent);
        let refused = curve.transactions().into_iter();
        let refused: Vec<_> = refused.map(|row| (row.serialisation_failures, row.deadlocks)).collect();
        assert_eq!(refused, [(3, 0), (0, 6), (0, 0), (0, 0), (9, 12)]);
        assert!(curve.waits().unwrap().is_empty(), "nobody waited for a writer");
        let steps = curve.load_steps().into_iter();
        let steps: Vec<_> = steps.map(|step| (step.users, step.began_ns, step.ended_ns)).collect();
        assert_eq!(steps, [(1, 0, 100), (4, 100, 170), (16, 170, 200)]);
        let mut alone = Entered::new(false);
        alone.add(8, worked(100)).unwrap();
        assert!(alone.load_steps().is_empty(), "one number of users is no curve");
    }
}
