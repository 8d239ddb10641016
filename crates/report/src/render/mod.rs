//! The four forms of the report: terminal, Markdown, HTML page, JSON.
//!
//! The first three take the [`Document`](crate::document::Document) and know nothing of storage; JSON is the analysis
//! itself. Here stands what forms of letters share: how a cell is written. Prevents: one figure written in two ways.

mod grid;
mod html;
mod json;
mod markdown;
mod page;
mod spark;
mod terminal;
#[cfg(test)]
mod walk;

use crate::document::{Cell, Cells, Forms, Spread, Table};
use crate::format::ratio;
pub(crate) use html::html;
pub use html::live::{Edition, LivePage, live_policy};
pub(crate) use html::live::{live_now, live_page, live_trouble};
pub use json::{SCHEMA_VERSION, json, schema};
pub(crate) use markdown::markdown;
use spark::spark;
pub use terminal::Style;
pub(crate) use terminal::{brief, terminal};

/// Colours and dashes there are; page.css has them.
pub(crate) const MARKS: usize = 12;

/// What may be drawn with letters.
#[derive(Clone, Copy)]
struct Letters {
    /// Of a small line.
    most: usize,
    utf8: bool,
}

/// A cell in letters; `None` where it says nothing, or is a drawing that letters can't make.
fn lettered(cell: &Cell, letters: Letters) -> Option<String> {
    match cell {
        Cell::Nothing => None,
        Cell::Text(text) => (!text.is_empty()).then(|| text.clone()),
        Cell::Tagged(text, _) => Some(text.clone()),
        Cell::Named(name) => Some(name.text.clone()),
        Cell::Number(value, form) => Some(form(*value)),
        Cell::Figure(figure, Spread::Unmarked, per, form) => Some(figure.written(*per, *form)),
        Cell::Figure(figure, _, per, form) => Some(figure.marked(*per, *form)),
        Cell::Range(figure, per, form) => Some(format!("{} to {}", form(figure.low / per), form(figure.high / per))),
        Cell::Interval(interval, _) => interval.words(),
        Cell::Verdict(interval, word, _) => Some(match interval.map(|one| (ratio(one.ratio), one.words())) {
            Some((ratio, Some(ends))) => format!("{ratio} ({ends}) {word}").trim_end().into(),
            Some((ratio, None)) => format!("{ratio} {word}").trim_end().into(),
            None => (*word).into(),
        }),
        Cell::Series(rates) => spark(rates, letters.most, letters.utf8),
        Cell::Share(share) => {
            let filled = ((share * 12.0).round() as usize).min(12);
            Some("#".repeat(filled) + &".".repeat(12 - filled))
        }
        Cell::Beside(..) | Cell::Distribution(_) | Cell::Way(..) | Cell::Bar(_) | Cell::Narrowing(_) => None,
    }
}

/// A column in letters: head, unit, and a text for each row that the form shows.
struct Lettered<'a> {
    column: &'a Cells,
    texts: Vec<Option<String>>,
}

/// The columns of a table that a form of letters shows: those that say something there.
fn lettered_columns(table: &Table, form: Forms, letters: Letters) -> Vec<Lettered<'_>> {
    let of = |column| Lettered {
        column,
        texts: rows_of(table, form)
            .map(|row| lettered(&column.cells[row], letters))
            .collect(),
    };
    let columns = table.columns.iter().filter(|column| column.forms.has(form));
    columns
        .map(of)
        .filter(|one| one.texts.iter().any(Option::is_some))
        .collect()
}

/// Numbers of the rows that a form shows.
fn rows_of(table: &Table, form: Forms) -> impl Iterator<Item = usize> {
    table
        .rows
        .iter()
        .enumerate()
        .filter(move |(_, row)| row.forms.has(form))
        .map(|(nth, _)| nth)
}
