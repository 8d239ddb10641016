//! Figures that another tool measured elsewhere: kept beside what was measured here, in tables of their own.
//!
//! Takes and gives [`ImportedText`]: a text with its figures, each as printed and with its line. They stand apart from
//! trials and phases because nothing of what those promise (a seed, a block, devices observed) holds for them.
//! Prevents: an imported figure that a query or a later version takes for a measured one.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::insert::{insert, insert_all};
use crate::rows::columns::{Columns, columns, optional};
use crate::rows::{Alone, ImportId, OwnId};
use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, Row};

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

impl Ledger {
    /// Records texts with all their figures: all of them or none.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn import(&mut self, texts: &[ImportedText]) -> Result<(), LedgerError> {
        self.act("record an import", |connection| {
            for text in texts {
                insert_text(connection, text)?;
            }
            Ok(())
        })
    }

    /// What was imported, in the order in which it was.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn imported(&self) -> Result<Vec<ImportedText>, LedgerError> {
        // Each table once, however many texts there are.
        let mut facts = self.grouped::<ImportId, _>("imported_fact", "rowid")?;
        let mut figures = self.grouped::<ImportId, _>("imported_figure", "rowid")?;
        let mut notes = self.grouped::<ImportId, _>("import_note", "rowid")?;
        let texts = self.table::<OwnId, ImportedText>("import", "id")?;
        let text = |(id, text): (OwnId, ImportedText)| {
            let of = ImportId(id.0);
            ImportedText {
                facts: facts.remove(&of).unwrap_or_default(),
                figures: figures.remove(&of).unwrap_or_default(),
                notes: notes.remove(&of).unwrap_or_default(),
                ..text
            }
        };
        Ok(texts.into_iter().map(text).collect())
    }
}

columns!(ImportedText: at_unix_ns, stack, phase, file, sha256, bytes, format, layout; facts, figures, notes);
columns!(ImportedFact: name, value, line);
columns!(ImportedFigure: report, name, value, text, unit, line + comparable: Option<(String, f64)>);
columns!(ImportNote: line, text);

impl Columns for Option<(String, f64)> {
    fn names() -> Vec<&'static str> {
        vec!["quantity", "comparable"]
    }

    fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>> {
        let value = self.as_ref().map(|(_, value)| Value::Real(*value));
        Ok(vec![
            optional(self.as_ref().map(|(quantity, _)| quantity)),
            ToSqlOutput::Owned(value.unwrap_or(Value::Null)),
        ])
    }

    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let quantity: Option<String> = row.get(first)?;
        Ok(quantity.zip(row.get(first + 1)?))
    }
}

fn insert_text(connection: &Connection, text: &ImportedText) -> rusqlite::Result<()> {
    let of = ImportId(insert(connection, "import", &Alone, text)?);
    insert_all(connection, "imported_fact", &of, &text.facts)?;
    insert_all(connection, "imported_figure", &of, &text.figures)?;
    insert_all(connection, "import_note", &of, &text.notes)
}
