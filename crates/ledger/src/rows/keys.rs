//! What a row belongs to: a trial, a phase, a step of it, or nothing.
//!
//! Each is a key of its own before the columns of the row. Prevents: an identity of one table that is taken for one of
//! another.

use super::columns::{Columns, columns};
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};

/// Identity of a trial in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialId(pub i64);

/// Identity of a run of a phase in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhaseId(pub i64);

/// Identity of a database that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DatabaseId(pub(crate) i64);

/// Identity of a text that was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImportId(pub(crate) i64);

/// Identity of a row in its own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnId(pub(crate) i64);

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
