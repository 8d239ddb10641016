//! Which database ran on each stack, and how it was set.
//!
//! Takes the gathered file, gives a [`DatabaseOfStack`] each; settings that differ between stacks go to what differs,
//! ahead of the figures. Prevents: a comparison of two stacks that compares two configurations of a database.

use crate::grouped::distinct;
use crate::history::Book;
use ledger::{Database, DatabaseEngine, DatabaseRow};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DatabaseSetting {
    /// In the database's words.
    pub name: String,
    /// As the database told it.
    pub value: String,
    /// Who set it.
    pub source: String,
}

/// The database of one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DatabaseOfStack {
    /// The stack.
    pub stack: String,
    /// "postgres" or "sqlite".
    #[serde(serialize_with = "engine_in_words")]
    #[schemars(with = "String")]
    pub engine: DatabaseEngine,
    /// As it tells it.
    pub version: String,
    /// Its way to storage.
    pub access: String,
    /// Started by the tool; false for a server that was there: its devices, memory and processor time are not seen.
    pub managed: bool,
    /// All settings of the first trial on that stack.
    pub settings: Vec<DatabaseSetting>,
    /// Settings of which a later trial on the same stack told another value: the blocks are then not alike.
    pub changed: Vec<String>,
}

fn engine_in_words<S: Serializer>(engine: &DatabaseEngine, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(engine.as_str())
}

impl DatabaseOfStack {
    /// "PostgreSQL 15.18".
    pub(crate) fn words(&self) -> String {
        let engine = match self.engine {
            DatabaseEngine::Postgres => "PostgreSQL",
            DatabaseEngine::Sqlite => "SQLite",
        };
        format!("{engine} {}", self.version)
    }
}

/// In the order of the stacks; stacks without a database are left out.
pub(crate) fn databases(book: &Book) -> Vec<DatabaseOfStack> {
    book.stacks
        .iter()
        .filter_map(|stack| of_stack(book, &stack.name))
        .collect()
}

pub(crate) fn of_stack(book: &Book, stack: &str) -> Option<DatabaseOfStack> {
    let trials = book.runs(stack);
    let rows: Vec<&DatabaseRow> = trials.flat_map(|(_, ran)| book.databases.of(ran.trial.id)).collect();
    let first = &rows.first()?.database;
    let told: BTreeMap<&str, &str> = pairs(first).rev().collect();
    // A database of one phase may be set otherwise on purpose; those of whole trials are alike.
    let later = rows.iter().filter(|row| row.phase == rows[0].phase);
    let all = later.flat_map(|row| pairs(&row.database));
    let changed = all.filter(|(name, value)| told.get(name) != Some(value));
    let changed = distinct(changed.map(|(name, _)| name));
    Some(DatabaseOfStack {
        stack: stack.into(),
        engine: first.engine,
        version: first.version.clone(),
        access: first.access.clone(),
        managed: first.managed,
        settings: first
            .settings
            .iter()
            .map(|one| DatabaseSetting {
                name: one.name.clone(),
                value: one.value.clone(),
                source: one.source.clone(),
            })
            .collect(),
        changed: changed.into_iter().map(String::from).collect(),
    })
}

/// Names and values of the settings.
fn pairs(database: &Database) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    database
        .settings
        .iter()
        .map(|one| (one.name.as_str(), one.value.as_str()))
}
