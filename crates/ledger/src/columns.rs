//! Rows as columns: the one list of a row's columns, from which it is written and read.
//!
//! Takes a row type with the names of its fields, which are the columns' names too; gives its INSERT and its SELECT.
//! What a row belongs to (its phase, its trial) is a key of its own before it. Prevents: a column that is written and
//! not read, and two that change places because three lists of them are kept.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::rows::{PhaseId, TrialId};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Type, ValueRef};
use rusqlite::{Connection, Error, Row, ToSql};
use std::collections::BTreeMap;

/// What stands in columns of a table, in one order.
pub(crate) trait Columns: Sized {
    /// The columns.
    fn names() -> Vec<&'static str>;
    /// Their values.
    fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>>;
    /// Takes them from a row, whose first column is the given one.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self>;
}

/// `columns!(Type: field, field as form + field: Type; left, out)`: a form is a module with `put` and `get`; after the plus
/// stands what takes several columns; what is left out is filled from tables of its own.
macro_rules! columns {
    ($type:ty: $($field:ident $(as $form:ident)?),+ $(+ $inner:ident: $inner_type:ty)? $(; $($left:ident),+)?) => {
        impl $crate::columns::Columns for $type {
            fn names() -> Vec<&'static str> {
                let own = vec![$(stringify!($field)),+];
                $(let own = [own, <$inner_type as $crate::columns::Columns>::names()].concat();)?
                own
            }

            fn values(&self) -> rusqlite::Result<Vec<rusqlite::types::ToSqlOutput<'_>>> {
                let own = vec![$($crate::columns::put!(self.$field $(, $form)?)),+];
                $(let own = own.into_iter().chain($crate::columns::Columns::values(&self.$inner)?).collect();)?
                Ok(own)
            }

            fn read(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Self> {
                let mut next = first..;
                let mut nth = || next.next().unwrap_or(first);
                Ok(Self {
                    $($field: $crate::columns::get!(row, nth() $(, $form)?),)+
                    $($inner: $crate::columns::Columns::read(row, nth())?,)?
                    $($($left: Default::default(),)+)?
                })
            }
        }
    };
}

macro_rules! put {
    ($value:expr) => {
        rusqlite::ToSql::to_sql(&$value)?
    };
    ($value:expr, $form:ident) => {
        $form::put(&$value)
    };
}

macro_rules! get {
    ($row:ident, $nth:expr) => {
        $row.get($nth)?
    };
    ($row:ident, $nth:expr, $form:ident) => {
        $form::get($row, $nth)?
    };
}

pub(crate) use {columns, get, put};

/// Seeds: decimal text, for SQLite's integers have one bit too few.
pub(crate) mod decimal {
    use super::{Row, ToSqlOutput, no_meaning_at};

    pub(crate) fn put(seed: &u64) -> ToSqlOutput<'_> {
        seed.to_string().into()
    }

    pub(crate) fn get(row: &Row<'_>, nth: usize) -> rusqlite::Result<u64> {
        let text: String = row.get(nth)?;
        text.parse().map_err(|_| no_meaning_at(nth, &text))
    }
}

macro_rules! identities {
    ($($id:ident in $column:literal;)+) => {
        $(
            impl ToSql for $id {
                fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                    Ok(self.0.into())
                }
            }

            impl FromSql for $id {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<$id> {
                    value.as_i64().map($id)
                }
            }

            impl Columns for $id {
                fn names() -> Vec<&'static str> {
                    vec![$column]
                }

                fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>> {
                    Ok(vec![self.to_sql()?])
                }

                fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
                    row.get(first)
                }
            }
        )+
    };
}

/// Identity of a database that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DatabaseId(pub(crate) i64);

/// Identity of a text that was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImportId(pub(crate) i64);

/// Identity of a row in its own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnId(pub(crate) i64);

identities! {
    TrialId in "trial";
    PhaseId in "phase";
    DatabaseId in "database_used";
    ImportId in "import";
    OwnId in "id";
}

/// A row that belongs to nothing.
pub(crate) struct Alone;

impl Columns for Alone {
    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>> {
        Ok(Vec::new())
    }

    fn read(_: &Row<'_>, _: usize) -> rusqlite::Result<Self> {
        Ok(Alone)
    }
}

/// The trial that a row belongs to, and the phase if it was made in one.
#[derive(Clone, Copy)]
pub(crate) struct InTrial {
    pub(crate) trial: TrialId,
    pub(crate) phase: Option<PhaseId>,
}

columns!(InTrial: trial, phase);

/// A step of a phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OfStep {
    pub(crate) phase: PhaseId,
    pub(crate) step: u32,
}

columns!(OfStep: phase, step);

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

fn quoted<K: Columns, T: Columns>() -> Vec<String> {
    K::names()
        .iter()
        .chain(&T::names())
        .map(|name| format!("\"{name}\""))
        .collect()
}

impl Ledger {
    /// All rows of a table with what they belong to.
    pub(crate) fn table<K: Columns, T: Columns>(&self, table: &str, order: &str) -> Result<Vec<(K, T)>, LedgerError> {
        let sql = format!("SELECT {} FROM {table} ORDER BY {order}", quoted::<K, T>().join(", "));
        let of = K::names().len();
        self.rows(&sql, (), |row| Ok((K::read(row, 0)?, T::read(row, of)?)))
    }

    /// All rows of a table that belongs to nothing.
    pub(crate) fn plain<T: Columns>(&self, table: &str, order: &str) -> Result<Vec<T>, LedgerError> {
        let rows = self.table::<Alone, T>(table, order)?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// All rows of a table, by what they belong to.
    pub(crate) fn grouped<K: Columns + Ord, T: Columns>(
        &self,
        table: &str,
        order: &str,
    ) -> Result<BTreeMap<K, Vec<T>>, LedgerError> {
        let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
        for (key, row) in self.table(table, order)? {
            groups.entry(key).or_default().push(row);
        }
        Ok(groups)
    }
}

/// An error for a word that this version does not know.
pub(crate) fn no_meaning(word: &str) -> FromSqlError {
    FromSqlError::Other(without_meaning(word).into())
}

/// The same, of a column that is read by hand.
pub(crate) fn no_meaning_at(nth: usize, word: &str) -> Error {
    Error::FromSqlConversionFailure(nth, Type::Text, without_meaning(word).into())
}

fn without_meaning(word: &str) -> String {
    format!("\"{}\" has no meaning here", word.chars().take(60).collect::<String>())
}

/// A text that may be missing.
pub(crate) fn optional(text: Option<&String>) -> ToSqlOutput<'_> {
    match text {
        Some(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        None => ToSqlOutput::Borrowed(ValueRef::Null),
    }
}
