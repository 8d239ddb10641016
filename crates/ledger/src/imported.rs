//! Figures that another tool measured elsewhere: kept beside what was measured here, in tables of their own.
//!
//! Takes and gives [`ImportedText`]: a text with its figures, each as printed and with its line. They stand apart from
//! trials and phases because nothing of what those promise (a seed, a block, devices observed) holds for them. Prevents:
//! an imported figure that a query or a later version takes for a measured one.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::sql_tables::grouped;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// One text that was imported, or the part of it that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedText {
    /// When it was imported.
    pub at_unix_ns: u64,
    /// The stack that it is of, in the user's words; it need not be one of the study's.
    pub stack: String,
    /// The phase beside whose measured figures it is shown.
    pub phase: String,
    /// Name of the file, without its directory.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// "awr", "iostat", "slob", "fio".
    pub format: String,
    /// Which layout of it, in words.
    pub layout: String,
    /// What the text says of where and when it was taken.
    pub facts: Vec<ImportedFact>,
    /// Its figures.
    pub figures: Vec<ImportedFigure>,
    /// What was left out and why, and what has to be known of the figures.
    pub notes: Vec<ImportNote>,
}

/// What a text says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFact {
    /// "release", "host" ...
    pub name: String,
    /// As printed.
    pub value: String,
    /// 1-based.
    pub line: u32,
}

/// One figure as it was printed.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedFigure {
    /// Which report of the text ("test 4"); empty when there is but one.
    pub report: String,
    /// Dotted, in the words of the tool.
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// As printed.
    pub text: String,
    /// Of `value`.
    pub unit: String,
    /// 1-based.
    pub line: u32,
    /// What it may be set beside, and its value there in base units.
    pub comparable: Option<(String, f64)>,
}

/// A word on an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportNote {
    /// 1-based; 0 for the whole text.
    pub line: u32,
    /// In words.
    pub text: String,
}

/// Tables that version 2 added.
pub(crate) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS import (
    id INTEGER PRIMARY KEY, at_unix_ns INTEGER NOT NULL, stack TEXT NOT NULL, phase TEXT NOT NULL,
    file TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, format TEXT NOT NULL, layout TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS imported_fact (
    import INTEGER NOT NULL REFERENCES import(id), name TEXT NOT NULL, value TEXT NOT NULL, line INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS imported_figure (
    import INTEGER NOT NULL REFERENCES import(id), report TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    text TEXT NOT NULL, unit TEXT NOT NULL, line INTEGER NOT NULL, quantity TEXT, comparable REAL);
CREATE INDEX IF NOT EXISTS imported_figure_by_import ON imported_figure (import);
CREATE TABLE IF NOT EXISTS import_note (
    import INTEGER NOT NULL REFERENCES import(id), line INTEGER NOT NULL, text TEXT NOT NULL);
";

impl Ledger {
    /// Records texts with all their figures: all of them or none.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn import(&mut self, texts: &[ImportedText]) -> Result<(), LedgerError> {
        self.act("record an import", |connection| {
            for text in texts {
                insert(connection, text)?;
            }
            Ok(())
        })
    }

    /// What was imported, in the order in which it was; nothing in a file of a version that knew no imports.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn imported(&self) -> Result<Vec<ImportedText>, LedgerError> {
        let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'import'";
        if self.rows(there, (), |row| row.get::<_, i64>(0))?.first() != Some(&1) {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, at_unix_ns, stack, phase, file, sha256, bytes, format, layout FROM import ORDER BY id";
        let mut texts = self.rows(sql, (), |row| {
            Ok((
                row.get::<_, i64>(0)?,
                ImportedText {
                    at_unix_ns: row.get(1)?,
                    stack: row.get(2)?,
                    phase: row.get(3)?,
                    file: row.get(4)?,
                    sha256: row.get(5)?,
                    bytes: row.get(6)?,
                    format: row.get(7)?,
                    layout: row.get(8)?,
                    facts: Vec::new(),
                    figures: Vec::new(),
                    notes: Vec::new(),
                },
            ))
        })?;
        // Each table once, however many texts there are.
        let (mut facts, mut figures, mut notes) = (self.imported_facts()?, self.imported_figures()?, self.notes()?);
        for (id, text) in &mut texts {
            text.facts = facts.remove(id).unwrap_or_default();
            text.figures = figures.remove(id).unwrap_or_default();
            text.notes = notes.remove(id).unwrap_or_default();
        }
        Ok(texts.into_iter().map(|(_, text)| text).collect())
    }

    fn imported_facts(&self) -> Result<BTreeMap<i64, Vec<ImportedFact>>, LedgerError> {
        let sql = "SELECT import, name, value, line FROM imported_fact ORDER BY rowid";
        Ok(grouped(self.rows(sql, (), |row| {
            let fact = ImportedFact {
                name: row.get(1)?,
                value: row.get(2)?,
                line: row.get(3)?,
            };
            Ok((row.get(0)?, fact))
        })?))
    }

    fn imported_figures(&self) -> Result<BTreeMap<i64, Vec<ImportedFigure>>, LedgerError> {
        let sql = "SELECT import, report, name, value, text, unit, line, quantity, comparable FROM imported_figure
            ORDER BY rowid";
        Ok(grouped(self.rows(sql, (), |row| {
            let quantity: Option<String> = row.get(7)?;
            let comparable: Option<f64> = row.get(8)?;
            let figure = ImportedFigure {
                report: row.get(1)?,
                name: row.get(2)?,
                value: row.get(3)?,
                text: row.get(4)?,
                unit: row.get(5)?,
                line: row.get(6)?,
                comparable: quantity.zip(comparable),
            };
            Ok((row.get(0)?, figure))
        })?))
    }

    fn notes(&self) -> Result<BTreeMap<i64, Vec<ImportNote>>, LedgerError> {
        let sql = "SELECT import, line, text FROM import_note ORDER BY rowid";
        Ok(grouped(self.rows(sql, (), |row| {
            let note = ImportNote {
                line: row.get(1)?,
                text: row.get(2)?,
            };
            Ok((row.get(0)?, note))
        })?))
    }
}

fn insert(connection: &Connection, text: &ImportedText) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO import VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute(params![
            text.at_unix_ns,
            text.stack,
            text.phase,
            text.file,
            text.sha256,
            text.bytes,
            text.format,
            text.layout,
        ])?;
    let id = connection.last_insert_rowid();
    let mut fact = connection.prepare_cached("INSERT INTO imported_fact VALUES (?1, ?2, ?3, ?4)")?;
    for row in &text.facts {
        fact.execute(params![id, row.name, row.value, row.line])?;
    }
    let mut figure =
        connection.prepare_cached("INSERT INTO imported_figure VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for row in &text.figures {
        let (quantity, comparable) = match &row.comparable {
            Some((quantity, value)) => (Some(quantity), Some(value)),
            None => (None, None),
        };
        figure.execute(params![
            id, row.report, row.name, row.value, row.text, row.unit, row.line, quantity, comparable
        ])?;
    }
    let mut note = connection.prepare_cached("INSERT INTO import_note VALUES (?1, ?2, ?3)")?;
    for row in &text.notes {
        note.execute(params![id, row.line, row.text])?;
    }
    Ok(())
}
