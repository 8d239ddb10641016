//! Refresh functions of decision support on a server: an order and its lines go in one batch and one transaction.
//!
//! Takes an address and sets of new orders. Prevents: two round trips for what a program would send in one.

use super::connection::Connection;
use super::error::PostgresError;
use crate::decision_support::{ColumnKind, NewOrder, RefreshSet, Refreshed, Refresher, Table, refresh};
use crate::postgres::login::address::Address;
use std::sync::atomic::AtomicBool;

struct Refreshing(Connection);

/// A row as SQL has it, from cells between tabs.
fn values(table: Table, row: &str) -> String {
    let cell = |(cell, kind): (&str, ColumnKind)| match kind {
        ColumnKind::Int | ColumnKind::Big | ColumnKind::Hundredths => cell.to_owned(),
        ColumnKind::Day | ColumnKind::Fixed(_) | ColumnKind::Varying(_) => format!("'{}'", cell.replace('\'', "''")),
    };
    let kinds = table.columns().iter().map(|column| column.kind);
    let cells: Vec<String> = row.split('\t').zip(kinds).map(cell).collect();
    format!("({})", cells.join(", "))
}

impl Refresher for Refreshing {
    type Error = PostgresError;

    fn insert(&mut self, order: &NewOrder) -> Result<(), PostgresError> {
        let row = values(Table::Orders, &order.order);
        let lines: Vec<String> = order.lines.iter().map(|line| values(Table::LineItem, line)).collect();
        let lines = lines.join(", ");
        self.0.run(&format!(
            "BEGIN; INSERT INTO orders VALUES {row}; INSERT INTO lineitem VALUES {lines}; COMMIT"
        ))?;
        Ok(())
    }

    fn delete(&mut self, key: i64) -> Result<(u64, u64), PostgresError> {
        let gone = |table, column| {
            format!("WITH gone AS (DELETE FROM {table} WHERE {column} = {key} RETURNING 1) SELECT COUNT(*) FROM gone")
        };
        let (lines, order) = (gone("lineitem", "l_orderkey"), gone("orders", "o_orderkey"));
        let counts = self.0.run(&format!("BEGIN; {lines}; {order}; COMMIT"))?;
        let count = |nth: usize| {
            let cell = counts.get(nth).and_then(|row| row.first()?.as_deref());
            cell.and_then(|count| count.parse().ok()).unwrap_or(0)
        };
        Ok((count(1), count(0)))
    }
}

/// Runs pairs of refresh functions one after the other; fewer than there are sets once `cancel` is set.
///
/// # Errors
/// The server's; [`PostgresError::Doubt`]: not as many rows went as came.
pub fn run_refresh(
    address: &Address,
    sets: &[RefreshSet],
    cancel: &AtomicBool,
) -> Result<Vec<Refreshed>, PostgresError> {
    let mut refreshing = Refreshing(Connection::open(address, &[("application_name", "assay")])?);
    let mut all = Vec::new();
    for set in sets {
        match refresh(&mut refreshing, set, cancel)? {
            Some(done) => all.push(done),
            None => break,
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_as_their_columns_need() {
        let row = "1\tAFRICA\tTiresias' 'x";
        assert_eq!(values(Table::Region, row), "(1, 'AFRICA', 'Tiresias'' ''x')");
    }
}
