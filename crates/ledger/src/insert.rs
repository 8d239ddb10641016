//! Writing rows into their tables.
//!
//! Takes rows with the columns that each type has, and what they belong to. Prevents: an INSERT whose values stand in
//! another order than its columns.

use crate::rows::Alone;
use crate::rows::columns::{Columns, quoted};
use rusqlite::Connection;

/// Writes rows that all belong to one thing; one that is there already is an error.
pub(crate) fn insert_all<'a, K: Columns, T: Columns + 'a>(
    connection: &Connection,
    table: &str,
    key: &K,
    rows: impl IntoIterator<Item = &'a T>,
) -> rusqlite::Result<()> {
    write_all(connection, ["INSERT INTO", table, ""], key, rows)
}

/// Writes one row; gives its place, which is its identity where the table has one.
pub(crate) fn insert<K: Columns, T: Columns>(
    connection: &Connection,
    table: &str,
    key: &K,
    row: &T,
) -> rusqlite::Result<i64> {
    insert_all(connection, table, key, [row])?;
    Ok(connection.last_insert_rowid())
}

/// Writes rows in the place of those that are there already.
pub(crate) fn replace_all<'a, T: Columns + 'a>(
    connection: &Connection,
    table: &str,
    rows: impl IntoIterator<Item = &'a T>,
) -> rusqlite::Result<()> {
    write_all(connection, ["INSERT OR REPLACE INTO", table, ""], &Alone, rows)
}

/// Writes a row, or the values of one that is there already and that others refer to.
pub(crate) fn update<T: Columns>(connection: &Connection, table: &str, key: &str, row: &T) -> rusqlite::Result<()> {
    let sets: Vec<String> = T::names()
        .iter()
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let or = format!("ON CONFLICT ({key}) DO UPDATE SET {}", sets.join(", "));
    write_all(connection, ["INSERT INTO", table, &or], &Alone, [row])
}

fn write_all<'a, K: Columns, T: Columns + 'a>(
    connection: &Connection,
    [verb, table, or]: [&str; 3],
    key: &K,
    rows: impl IntoIterator<Item = &'a T>,
) -> rusqlite::Result<()> {
    let names = quoted::<K, T>();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("{verb} {table} ({}) VALUES ({marks}) {or}", names.join(", "));
    let mut write = connection.prepare_cached(&sql)?;
    let key = key.values()?;
    for row in rows {
        let own = row.values()?;
        write.execute(rusqlite::params_from_iter(key.iter().chain(&own)))?;
    }
    Ok(())
}
