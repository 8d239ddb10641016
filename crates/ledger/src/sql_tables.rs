//! Tables of what a real database did, version 4 of the schema: making them, filling them, reading them.
//!
//! Takes and gives the rows of [`crate::sql_rows`]. A phase's rows come with its record, in its transaction. Prevents: readers
//! that have to know SQL, and half of a phase.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::read::unknown;
use crate::rows::{OfPhase, PhaseId, Stamp, TrialId};
use crate::sql_rows::*;
use crate::write::stamp_word;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeMap;

/// The tables that version 4 added.
pub(crate) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS database_used (
    id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial(id), phase INTEGER REFERENCES phase(id),
    engine TEXT NOT NULL, version TEXT NOT NULL, access TEXT NOT NULL, managed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS database_setting (
    database_used INTEGER NOT NULL REFERENCES database_used(id), name TEXT NOT NULL, value TEXT NOT NULL,
    source TEXT NOT NULL, PRIMARY KEY (database_used, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS order_entry (
    phase INTEGER PRIMARY KEY REFERENCES phase(id), users INTEGER NOT NULL, warehouses INTEGER NOT NULL,
    items INTEGER NOT NULL, customers INTEGER NOT NULL, isolation TEXT NOT NULL, arrival TEXT NOT NULL,
    pauses INTEGER NOT NULL, home TEXT NOT NULL, storage_told_by TEXT);
CREATE TABLE IF NOT EXISTS order_transaction (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), class TEXT NOT NULL, serialisation_failures INTEGER NOT NULL,
    deadlocks INTEGER NOT NULL, limit_ns INTEGER NOT NULL, PRIMARY KEY (phase, class));
CREATE TABLE IF NOT EXISTS order_condition (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), moment TEXT NOT NULL, condition INTEGER NOT NULL,
    says TEXT NOT NULL, found INTEGER NOT NULL, PRIMARY KEY (phase, moment, condition));
CREATE TABLE IF NOT EXISTS order_wait (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), what TEXT NOT NULL, blob BLOB NOT NULL, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, PRIMARY KEY (phase, what));
CREATE TABLE IF NOT EXISTS load_step (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), step INTEGER NOT NULL, users INTEGER NOT NULL,
    began_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, PRIMARY KEY (phase, step));
CREATE TABLE IF NOT EXISTS bulk_load (
    phase INTEGER NOT NULL REFERENCES phase(id), step INTEGER NOT NULL, rows INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL, settle_ns INTEGER NOT NULL, PRIMARY KEY (phase, step));
CREATE TABLE IF NOT EXISTS bulk_space (
    phase INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('table', 'index', 'other')),
    name TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (phase, step, kind, name),
    FOREIGN KEY (phase, step) REFERENCES bulk_load(phase, step));
CREATE TABLE IF NOT EXISTS bulk_growth (
    phase INTEGER NOT NULL, step INTEGER NOT NULL, rows INTEGER NOT NULL, at_ns INTEGER NOT NULL, bytes INTEGER NOT NULL,
    FOREIGN KEY (phase, step) REFERENCES bulk_load(phase, step));
CREATE INDEX IF NOT EXISTS bulk_growth_by_load ON bulk_growth (phase, step);
CREATE TABLE IF NOT EXISTS step_histogram (
    phase INTEGER NOT NULL REFERENCES phase(id), step INTEGER NOT NULL, class TEXT NOT NULL,
    stamp TEXT NOT NULL CHECK (stamp IN ('service', 'response')), blob BLOB NOT NULL, count INTEGER NOT NULL,
    units INTEGER NOT NULL, PRIMARY KEY (phase, step, class, stamp));
";

impl Ledger {
    /// Records the database of a whole trial. One that served a single phase comes with the phase's record.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn database_of(&mut self, trial: TrialId, database: &Database) -> Result<(), LedgerError> {
        self.act("record the database", |connection| {
            insert_database(connection, trial, None, database)
        })
    }

    /// Databases in the order recorded; nothing in a file of a version that knew none. So with the others.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn databases(&self) -> Result<Vec<DatabaseRow>, LedgerError> {
        if !self.has_database_tables()? {
            return Ok(Vec::new());
        }
        let sql = "SELECT database_used, name, value, source FROM database_setting ORDER BY database_used, name";
        let mut settings = grouped(self.rows(sql, (), |row| {
            let setting = DatabaseSetting {
                name: row.get(1)?,
                value: row.get(2)?,
                source: row.get(3)?,
            };
            Ok((row.get::<_, i64>(0)?, setting))
        })?);
        let sql = "SELECT id, trial, phase, engine, version, access, managed FROM database_used ORDER BY id";
        self.rows(sql, (), |row| {
            Ok(DatabaseRow {
                trial: TrialId(row.get(1)?),
                phase: row.get::<_, Option<i64>>(2)?.map(PhaseId),
                database: Database {
                    engine: row.get(3)?,
                    version: row.get(4)?,
                    access: row.get(5)?,
                    managed: row.get(6)?,
                    settings: settings.remove(&row.get(0)?).unwrap_or_default(),
                },
            })
        })
    }

    /// Order entry of all phases, in the order of the phases.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn order_entries(&self) -> Result<Vec<OfPhase<OrderEntry>>, LedgerError> {
        if !self.has_database_tables()? {
            return Ok(Vec::new());
        }
        let mut transactions = grouped(self.rows(
            "SELECT phase, class, serialisation_failures, deadlocks, limit_ns FROM order_transaction ORDER BY rowid",
            (),
            |row| Ok((phase_of(row)?, transaction(row)?)),
        )?);
        let mut conditions = grouped(self.rows(
            "SELECT phase, moment, condition, says, found FROM order_condition ORDER BY rowid",
            (),
            |row| Ok((phase_of(row)?, condition(row)?)),
        )?);
        let mut waits = grouped(self.rows(
            "SELECT phase, what, blob, count, total_ns FROM order_wait ORDER BY rowid",
            (),
            |row| Ok((phase_of(row)?, wait(row)?)),
        )?);
        let mut histograms = self.step_histograms()?;
        let mut steps = grouped(self.rows(
            "SELECT phase, users, began_ns, ended_ns, step FROM load_step ORDER BY phase, step",
            (),
            |row| {
                let phase = phase_of(row)?;
                let step = LoadStep {
                    users: row.get(1)?,
                    began_ns: row.get(2)?,
                    ended_ns: row.get(3)?,
                    histograms: histograms.remove(&(phase, row.get(4)?)).unwrap_or_default(),
                };
                Ok((phase, step))
            },
        )?);
        let sql = "SELECT phase, users, warehouses, items, customers, isolation, arrival, pauses, home, storage_told_by
            FROM order_entry ORDER BY phase";
        self.rows(sql, (), |row| {
            let phase = phase_of(row)?;
            let row = OrderEntry {
                users: row.get(1)?,
                warehouses: row.get(2)?,
                items: row.get(3)?,
                customers: row.get(4)?,
                isolation: row.get(5)?,
                arrival: row.get(6)?,
                pauses: row.get(7)?,
                home: row.get(8)?,
                storage_told_by: row.get(9)?,
                transactions: transactions.remove(&phase).unwrap_or_default(),
                conditions: conditions.remove(&phase).unwrap_or_default(),
                waits: waits.remove(&phase).unwrap_or_default(),
                steps: steps.remove(&phase).unwrap_or_default(),
            };
            Ok(OfPhase {
                phase: PhaseId(phase),
                row,
            })
        })
    }

    /// Bulk loads of all phases: in the order of the phases, and inside a phase in the order run.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn bulk_loads(&self) -> Result<Vec<OfPhase<BulkLoadRow>>, LedgerError> {
        if !self.has_database_tables()? {
            return Ok(Vec::new());
        }
        let mut space = grouped(self.rows(
            "SELECT phase, step, kind, name, bytes FROM bulk_space ORDER BY rowid",
            (),
            |row| {
                let space = SpaceRow {
                    kind: row.get(2)?,
                    name: row.get(3)?,
                    bytes: row.get(4)?,
                };
                Ok((step_of(row)?, space))
            },
        )?);
        let mut growth = grouped(self.rows(
            "SELECT phase, step, rows, at_ns, bytes FROM bulk_growth ORDER BY rowid",
            (),
            |row| {
                let growth = GrowthRow {
                    rows: row.get(2)?,
                    at_ns: row.get(3)?,
                    bytes: row.get(4)?,
                };
                Ok((step_of(row)?, growth))
            },
        )?);
        let mut histograms = self.step_histograms()?;
        let sql = "SELECT phase, step, rows, elapsed_ns, settle_ns FROM bulk_load ORDER BY phase, step";
        self.rows(sql, (), |row| {
            let key = step_of(row)?;
            let row = BulkLoadRow {
                rows: row.get(2)?,
                elapsed_ns: row.get(3)?,
                settle_ns: row.get(4)?,
                space: space.remove(&key).unwrap_or_default(),
                growth: growth.remove(&key).unwrap_or_default(),
                histograms: histograms.remove(&key).unwrap_or_default(),
            };
            Ok(OfPhase {
                phase: PhaseId(key.0),
                row,
            })
        })
    }

    fn step_histograms(&self) -> Result<BTreeMap<(i64, i64), Vec<StepHistogram>>, LedgerError> {
        let sql = "SELECT phase, step, class, stamp, blob, count, units FROM step_histogram ORDER BY rowid";
        Ok(grouped(self.rows(sql, (), |row| {
            let stamp = match row.get::<_, String>(3)?.as_str() {
                "service" => Stamp::Service,
                "response" => Stamp::Response,
                other => return Err(unknown(3, other)),
            };
            let histogram = StepHistogram {
                class: row.get(2)?,
                stamp,
                blob: row.get(4)?,
                count: row.get(5)?,
                units: row.get(6)?,
            };
            Ok((step_of(row)?, histogram))
        })?))
    }

    fn has_database_tables(&self) -> Result<bool, LedgerError> {
        let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'database_used'";
        Ok(self.rows(there, (), |row| row.get::<_, i64>(0))?.first() == Some(&1))
    }
}

pub(crate) fn grouped<K: Ord, T>(rows: Vec<(K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for (key, row) in rows {
        groups.entry(key).or_default().push(row);
    }
    groups
}

fn phase_of(row: &Row<'_>) -> rusqlite::Result<i64> {
    row.get(0)
}

fn step_of(row: &Row<'_>) -> rusqlite::Result<(i64, i64)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn transaction(row: &Row<'_>) -> rusqlite::Result<TransactionRow> {
    Ok(TransactionRow {
        class: row.get(1)?,
        serialisation_failures: row.get(2)?,
        deadlocks: row.get(3)?,
        limit_ns: row.get(4)?,
    })
}

fn condition(row: &Row<'_>) -> rusqlite::Result<ConditionRow> {
    Ok(ConditionRow {
        moment: row.get(1)?,
        condition: row.get(2)?,
        says: row.get(3)?,
        found: row.get(4)?,
    })
}

fn wait(row: &Row<'_>) -> rusqlite::Result<WaitRow> {
    Ok(WaitRow {
        what: row.get(1)?,
        blob: row.get(2)?,
        count: row.get(3)?,
        total_ns: row.get(4)?,
    })
}

pub(crate) fn insert_database(
    connection: &Connection,
    trial: TrialId,
    phase: Option<PhaseId>,
    database: &Database,
) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO database_used (trial, phase, engine, version, access, managed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            trial.0,
            phase.map(|id| id.0),
            database.engine,
            database.version,
            database.access,
            database.managed,
        ],
    )?;
    let id = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached("INSERT INTO database_setting VALUES (?1, ?2, ?3, ?4)")?;
    for setting in &database.settings {
        insert.execute(params![id, setting.name, setting.value, setting.source])?;
    }
    Ok(())
}

pub(crate) fn insert_order_entry(connection: &Connection, phase: PhaseId, work: &OrderEntry) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO order_entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            phase.0,
            work.users,
            work.warehouses,
            work.items,
            work.customers,
            work.isolation,
            work.arrival,
            work.pauses,
            work.home,
            work.storage_told_by,
        ],
    )?;
    let mut insert = connection.prepare_cached("INSERT INTO order_transaction VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for one in &work.transactions {
        insert.execute(params![
            phase.0,
            one.class,
            one.serialisation_failures,
            one.deadlocks,
            one.limit_ns
        ])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO order_condition VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for one in &work.conditions {
        insert.execute(params![phase.0, one.moment, one.condition, one.says, one.found])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO order_wait VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for one in &work.waits {
        insert.execute(params![phase.0, one.what, one.blob, one.count, one.total_ns])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO load_step VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (nth, one) in work.steps.iter().enumerate() {
        insert.execute(params![phase.0, nth as i64, one.users, one.began_ns, one.ended_ns])?;
        insert_histograms(connection, phase, nth, &one.histograms)?;
    }
    Ok(())
}

pub(crate) fn insert_bulk_loads(
    connection: &Connection,
    phase: PhaseId,
    loads: &[BulkLoadRow],
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO bulk_load VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut space = connection.prepare_cached("INSERT INTO bulk_space VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut growth = connection.prepare_cached("INSERT INTO bulk_growth VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (nth, load) in loads.iter().enumerate() {
        let step = nth as i64;
        insert.execute(params![phase.0, step, load.rows, load.elapsed_ns, load.settle_ns])?;
        for one in &load.space {
            space.execute(params![phase.0, step, one.kind, one.name, one.bytes])?;
        }
        for one in &load.growth {
            growth.execute(params![phase.0, step, one.rows, one.at_ns, one.bytes])?;
        }
        insert_histograms(connection, phase, nth, &load.histograms)?;
    }
    Ok(())
}

fn insert_histograms(
    connection: &Connection,
    phase: PhaseId,
    step: usize,
    histograms: &[StepHistogram],
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO step_histogram VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for one in histograms {
        let stamp = stamp_word(one.stamp);
        insert.execute(params![
            phase.0,
            step as i64,
            one.class,
            stamp,
            one.blob,
            one.count,
            one.units
        ])?;
    }
    Ok(())
}
