//! Tables of what a real database did: making them, filling them, reading them.
//!
//! Takes and gives the rows of [`crate::rows`]. A phase's rows come with its record, in its transaction. Prevents:
//! readers that have to know SQL, and half of a phase.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::insert::{insert, insert_all};
use crate::rows::columns::columns;
use crate::rows::{
    AnswerRow, BulkLoadRow, ConditionRow, Database, DatabaseId, DatabaseRow, DatabaseSetting, DecisionSupport,
    GrowthRow, InTrial, LoadStep, OfPhase, OfStep, OrderEntry, PhaseId, RefreshRow, SpaceRow, StepHistogram,
    TransactionRow, TrialId, WaitRow,
};
use rusqlite::Connection;
use std::collections::BTreeMap;

impl Ledger {
    /// Records the database of a whole trial. One that served a single phase comes with the phase's record.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn database_of(&mut self, trial: TrialId, database: &Database) -> Result<(), LedgerError> {
        let of = InTrial { trial, phase: None };
        self.act("record the database", |connection| {
            insert_database(connection, of, database)
        })
    }

    /// Databases in the order recorded.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn databases(&self) -> Result<Vec<DatabaseRow>, LedgerError> {
        let mut settings = self.grouped::<DatabaseId, _>("database_setting", "database_used, name")?;
        let rows = self.table::<UsedDatabase, Database>("database_used", "id")?;
        let row = |(used, mut database): (UsedDatabase, Database)| {
            database.settings = settings.remove(&DatabaseId(used.id)).unwrap_or_default();
            DatabaseRow {
                trial: used.of.trial,
                phase: used.of.phase,
                database,
            }
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Order entry of all phases, in the order of the phases.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn order_entries(&self) -> Result<Vec<OfPhase<OrderEntry>>, LedgerError> {
        let mut transactions = self.grouped::<PhaseId, _>("order_transaction", "rowid")?;
        let mut conditions = self.grouped::<PhaseId, _>("order_condition", "rowid")?;
        let mut waits = self.grouped::<PhaseId, _>("order_wait", "rowid")?;
        let mut histograms = self.step_histograms()?;
        let mut steps: BTreeMap<PhaseId, Vec<LoadStep>> = BTreeMap::new();
        for (of, step) in self.table::<OfStep, LoadStep>("load_step", "phase, step")? {
            steps.entry(of.phase).or_default().push(LoadStep {
                histograms: histograms.remove(&of).unwrap_or_default(),
                ..step
            });
        }
        let rows = self.table::<PhaseId, OrderEntry>("order_entry", "phase")?;
        let row = |(phase, work)| OfPhase {
            phase,
            row: OrderEntry {
                transactions: transactions.remove(&phase).unwrap_or_default(),
                conditions: conditions.remove(&phase).unwrap_or_default(),
                waits: waits.remove(&phase).unwrap_or_default(),
                steps: steps.remove(&phase).unwrap_or_default(),
                ..work
            },
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Decision support of all phases, in the order of the phases.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn decision_supports(&self) -> Result<Vec<OfPhase<DecisionSupport>>, LedgerError> {
        let mut answers = self.grouped::<PhaseId, _>("answer", "rowid")?;
        let mut refreshes = self.grouped::<PhaseId, _>("refresh", "rowid")?;
        let rows = self.table::<PhaseId, DecisionSupport>("decision_support", "phase")?;
        let row = |(phase, asked)| OfPhase {
            phase,
            row: DecisionSupport {
                answers: answers.remove(&phase).unwrap_or_default(),
                refreshes: refreshes.remove(&phase).unwrap_or_default(),
                ..asked
            },
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Bulk loads of all phases: in the order of the phases, and inside a phase in the order run.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn bulk_loads(&self) -> Result<Vec<OfPhase<BulkLoadRow>>, LedgerError> {
        let mut space = self.grouped::<OfStep, _>("bulk_space", "rowid")?;
        let mut growth = self.grouped::<OfStep, _>("bulk_growth", "rowid")?;
        let mut histograms = self.step_histograms()?;
        let rows = self.table::<OfStep, BulkLoadRow>("bulk_load", "phase, step")?;
        let row = |(of, load): (OfStep, BulkLoadRow)| OfPhase {
            phase: of.phase,
            row: BulkLoadRow {
                space: space.remove(&of).unwrap_or_default(),
                growth: growth.remove(&of).unwrap_or_default(),
                histograms: histograms.remove(&of).unwrap_or_default(),
                ..load
            },
        };
        Ok(rows.into_iter().map(row).collect())
    }

    pub(crate) fn step_histograms(&self) -> Result<BTreeMap<OfStep, Vec<StepHistogram>>, LedgerError> {
        self.grouped("step_histogram", "rowid")
    }
}

/// A database that was used, and in what.
struct UsedDatabase {
    id: i64,
    of: InTrial,
}

columns!(UsedDatabase: id + of: InTrial);
columns!(Database: engine, version, access, managed; settings);
columns!(DatabaseSetting: name, value, source);
columns!(OrderEntry: users, warehouses, items, customers, isolation, arrival, pauses, home, storage_told_by;
    transactions, conditions, waits, steps);
columns!(DecisionSupport: scale, users, text, limit_ns, past_limit; answers, refreshes);
columns!(AnswerRow: user, question, variant, users, began_ns, elapsed_ns, rows, digest, temp_bytes);
columns!(RefreshRow: orders, lines, insert_ns, delete_ns);
columns!(TransactionRow: class, serialisation_failures, deadlocks, limit_ns);
columns!(ConditionRow: moment, condition, says, found);
columns!(WaitRow: what, blob, count, total_ns);
columns!(LoadStep: users, began_ns, ended_ns; histograms);
columns!(BulkLoadRow: rows, elapsed_ns, settle_ns; space, growth, histograms);
columns!(SpaceRow: kind, name, bytes);
columns!(GrowthRow: rows, at_ns, bytes);
columns!(StepHistogram: class, stamp, blob, count, units);

pub(crate) fn insert_database(connection: &Connection, of: InTrial, database: &Database) -> rusqlite::Result<()> {
    let id = DatabaseId(insert(connection, "database_used", &of, database)?);
    insert_all(connection, "database_setting", &id, &database.settings)
}

pub(crate) fn insert_order_entry(connection: &Connection, phase: PhaseId, work: &OrderEntry) -> rusqlite::Result<()> {
    insert(connection, "order_entry", &phase, work)?;
    insert_all(connection, "order_transaction", &phase, &work.transactions)?;
    insert_all(connection, "order_condition", &phase, &work.conditions)?;
    insert_all(connection, "order_wait", &phase, &work.waits)?;
    for (step, one) in (0..).zip(&work.steps) {
        let of = OfStep { phase, step };
        insert(connection, "load_step", &of, one)?;
        insert_all(connection, "step_histogram", &of, &one.histograms)?;
    }
    Ok(())
}

pub(crate) fn insert_questions(
    connection: &Connection,
    phase: PhaseId,
    asked: &DecisionSupport,
) -> rusqlite::Result<()> {
    insert(connection, "decision_support", &phase, asked)?;
    insert_all(connection, "answer", &phase, &asked.answers)?;
    insert_all(connection, "refresh", &phase, &asked.refreshes)
}

pub(crate) fn insert_bulk_loads(
    connection: &Connection,
    phase: PhaseId,
    loads: &[BulkLoadRow],
) -> rusqlite::Result<()> {
    for (step, load) in (0..).zip(loads) {
        let of = OfStep { phase, step };
        insert(connection, "bulk_load", &of, load)?;
        insert_all(connection, "bulk_space", &of, &load.space)?;
        insert_all(connection, "bulk_growth", &of, &load.growth)?;
        insert_all(connection, "step_histogram", &of, &load.histograms)?;
    }
    Ok(())
}
