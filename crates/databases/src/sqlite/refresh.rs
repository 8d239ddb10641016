//! Refresh functions of decision support in SQLite: an order and its lines are one transaction.
//!
//! Takes a session and sets of new orders. Prevents: an order that is there without its lines.

use super::error::SqliteError;
use super::place::Session;
use crate::decision_support::{ColumnKind, NewOrder, RefreshSet, Refreshed, Refresher, Table, hundredths, refresh};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};
use std::sync::atomic::AtomicBool;

/// Binds a row, cells between tabs, to a statement with a place for each column.
pub(super) fn bind(table: Table, row: &str, insert: &mut rusqlite::Statement<'_>) -> rusqlite::Result<()> {
    for ((nth, cell), column) in row.split('\t').enumerate().zip(table.columns()) {
        // What is no number would have been no row.
        let bound = match column.kind {
            ColumnKind::Int | ColumnKind::Big => ValueRef::Integer(cell.parse().unwrap_or_default()),
            ColumnKind::Hundredths => ValueRef::Integer(hundredths(cell).unwrap_or_default()),
            ColumnKind::Day | ColumnKind::Fixed(_) | ColumnKind::Varying(_) => ValueRef::Text(cell.as_bytes()),
        };
        insert.raw_bind_parameter(nth + 1, ToSqlOutput::Borrowed(bound))?;
    }
    Ok(())
}

/// The statement that inserts a row.
pub(super) fn insert_sql(table: Table) -> String {
    let places = vec!["?"; table.columns().len()].join(", ");
    format!("INSERT INTO {} VALUES ({places})", table.name())
}

struct Refreshing<'a>(&'a Session);

impl Refreshing<'_> {
    /// Does all of it in a transaction, or nothing.
    fn all<T>(&self, what: &str, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, SqliteError> {
        let sql = self.0.sql();
        let done = sql.execute_batch("BEGIN IMMEDIATE").and_then(|()| act(sql));
        let done = done.and_then(|done| sql.execute_batch("COMMIT").map(|()| done));
        done.map_err(|error| {
            if !sql.is_autocommit() {
                // The first error is told.
                let _ = sql.execute_batch("ROLLBACK");
            }
            self.0.error(what, error)
        })
    }
}

impl Refresher for Refreshing<'_> {
    type Error = SqliteError;

    fn insert(&mut self, order: &NewOrder) -> Result<(), SqliteError> {
        self.all("insert an order", |sql| {
            let put = |table, rows: &[String]| -> rusqlite::Result<()> {
                let mut insert: CachedStatement<'_> = sql.prepare_cached(&insert_sql(table))?;
                for row in rows {
                    bind(table, row, &mut insert)?;
                    insert.raw_execute()?;
                }
                Ok(())
            };
            put(Table::Orders, std::slice::from_ref(&order.order))?;
            put(Table::LineItem, &order.lines)
        })
    }

    fn delete(&mut self, key: i64) -> Result<(u64, u64), SqliteError> {
        self.all("delete an order", |sql| {
            let gone = |text: &str| sql.prepare_cached(text)?.execute([key]);
            let lines = gone("DELETE FROM lineitem WHERE l_orderkey = ?")?;
            Ok((gone("DELETE FROM orders WHERE o_orderkey = ?")? as u64, lines as u64))
        })
    }
}

/// Runs pairs of refresh functions one after the other; fewer than there are sets once `cancel` is set.
///
/// # Errors
/// SQLite's; [`SqliteError::Doubt`]: not as many rows went as came.
pub fn run_refresh(session: &Session, sets: &[RefreshSet], cancel: &AtomicBool) -> Result<Vec<Refreshed>, SqliteError> {
    let mut all = Vec::new();
    for set in sets {
        match refresh(&mut Refreshing(session), set, cancel)? {
            Some(done) => all.push(done),
            None => break,
        }
    }
    Ok(all)
}
