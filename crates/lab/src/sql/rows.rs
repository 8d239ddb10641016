//! From what a database did to rows of the result file.
//!
//! Prevents: conditions that were never asked passing for conditions that hold, and a time that nobody told.

use super::contract::{Counted, Worked};
use crate::record;
use databases::bulk::BulkResult;
use databases::order_entry::{CLASSES, CONDITIONS, LIMITS_90_NS};
use ledger::{BulkLoadRow, ConditionRow, GrowthRow, LoadStep, Measure, SpaceRow, TransactionRow, WaitRow};

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
        (Measure::DatabaseTempBlockBytes, counted.temp_block_bytes),
    ];
    known
        .into_iter()
        .filter_map(|(measure, value)| Some((measure, value? as f64)))
        .collect()
}

/// What was sent to a server.
pub(super) fn sent(worked: &[(u32, Worked)]) -> Vec<(Measure, f64)> {
    let mut sums = None;
    for (_, one) in worked {
        if let Some((trips, statements)) = one.sent {
            let (all_trips, all_statements) = sums.get_or_insert((0, 0));
            *all_trips += trips;
            *all_statements += statements;
        }
    }
    sums.map_or_else(Vec::new, |(trips, statements)| {
        vec![
            (Measure::DatabaseRoundTrips, trips as f64),
            (Measure::DatabaseStatements, statements as f64),
        ]
    })
}

/// All conditions at one moment, those that hold too.
pub(super) fn conditions(moment: &str, broken: &[(u8, u64)]) -> Vec<ConditionRow> {
    let row = |condition: &databases::order_entry::Condition| ConditionRow {
        moment: moment.to_string(),
        condition: u32::from(condition.number),
        says: condition.says.to_string(),
        found: broken
            .iter()
            .find(|(number, _)| *number == condition.number)
            .map_or(0, |(_, found)| *found),
    };
    CONDITIONS.iter().map(row).collect()
}

/// Refusals and limits by kind of transaction.
pub(super) fn transactions(worked: &[(u32, Worked)]) -> Vec<TransactionRow> {
    let sum = |class: usize, what: usize| worked.iter().map(|(_, one)| one.refused[class][what]).sum();
    CLASSES
        .iter()
        .enumerate()
        .map(|(nth, class)| TransactionRow {
            class: (*class).to_string(),
            serialisation_failures: sum(nth, 0),
            deadlocks: sum(nth, 1),
            limit_ns: LIMITS_90_NS[nth],
        })
        .collect()
}

/// Waits for the one writer, where there is one.
pub(super) fn waits(worked: &[(u32, Worked)]) -> anyhow::Result<Vec<WaitRow>> {
    let mut waits = worked.iter().filter_map(|(_, one)| one.lock_wait.as_ref());
    let Some(first) = waits.next() else {
        return Ok(Vec::new());
    };
    let mut all = first.clone();
    waits.for_each(|wait| all.add(wait));
    Ok(vec![WaitRow {
        what: "write lock".to_string(),
        blob: ledger::encode_histogram(&all.wait)?,
        count: all.wait.len(),
        total_ns: all.total_ns,
    }])
}

/// Steps of a load curve; none where there was but one.
pub(super) fn load_steps(worked: &[(u32, Worked)]) -> anyhow::Result<Vec<LoadStep>> {
    if worked.len() < 2 {
        return Ok(Vec::new());
    }
    let mut at_ns = 0;
    let mut steps = Vec::new();
    for (users, one) in worked {
        let ended_ns = at_ns + one.outcome.elapsed_ns;
        steps.push(LoadStep {
            users: *users,
            began_ns: at_ns,
            ended_ns,
            histograms: record::step_histograms(&one.outcome)?,
        });
        at_ns = ended_ns;
    }
    Ok(steps)
}

/// One row count of a bulk load.
pub(super) fn bulk_load(result: &BulkResult) -> anyhow::Result<BulkLoadRow> {
    let space = &result.space;
    let row = |kind: &str, name: &str, bytes| SpaceRow {
        kind: kind.to_string(),
        name: name.to_string(),
        bytes,
    };
    Ok(BulkLoadRow {
        rows: result.rows,
        elapsed_ns: result.elapsed_ns,
        settle_ns: result.settle_ns,
        space: vec![
            row("table", databases::bulk::TABLE, space.table_bytes),
            row("index", "bulk_pk", space.primary_key_bytes),
            row("index", "bulk_uk", space.unique_key_bytes),
            row("other", "catalogue and free pages", space.other_bytes),
        ],
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
