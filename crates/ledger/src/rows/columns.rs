//! Rows as columns: the one list of a row's columns, from which it is written and read.
//!
//! Takes a row type with the names of its fields, which are the columns' names too; gives its INSERT and its SELECT.
//! What a row belongs to (its phase, its trial) is a key of its own before it. Prevents: a column that is written and
//! not read, and two that change places because three lists of them are kept.

use rusqlite::types::{FromSqlError, ToSqlOutput, Type, ValueRef};
use rusqlite::{Error, Row};

/// What stands in columns of a table, in one order.
pub(crate) trait Columns: Sized {
    /// The columns.
    fn names() -> Vec<&'static str>;
    /// Their values.
    fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>>;
    /// Takes them from a row, whose first column is the given one.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self>;
}

/// `columns!(Type: field, field as form + field: Type; left, out)`: a form is a module with `put` and `get`; after
/// the plus stands what takes several columns; what is left out is filled from tables of its own.
macro_rules! columns {
    ($type:ty: $($field:ident $(as $form:ident)?),+ $(+ $inner:ident: $inner_type:ty)? $(; $($left:ident),+)?) => {
        impl $crate::rows::columns::Columns for $type {
            fn names() -> Vec<&'static str> {
                let own = vec![$(stringify!($field)),+];
                $(let own = [own, <$inner_type as $crate::rows::columns::Columns>::names()].concat();)?
                own
            }

            fn values(&self) -> rusqlite::Result<Vec<rusqlite::types::ToSqlOutput<'_>>> {
                let own = vec![$($crate::rows::columns::put!(self.$field $(, $form)?)),+];
                $(let own = own.into_iter().chain($crate::rows::columns::Columns::values(&self.$inner)?).collect();)?
                Ok(own)
            }

            fn read(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Self> {
                let mut next = first..;
                let mut nth = || next.next().unwrap_or(first);
                Ok(Self {
                    $($field: $crate::rows::columns::get!(row, nth() $(, $form)?),)+
                    $($inner: $crate::rows::columns::Columns::read(row, nth())?,)?
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

/// The columns of a row and of what it belongs to, as SQL writes them.
pub(crate) fn quoted<K: Columns, T: Columns>() -> Vec<String> {
    K::names()
        .iter()
        .chain(&T::names())
        .map(|name| format!("\"{name}\""))
        .collect()
}
