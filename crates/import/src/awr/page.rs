//! A report as HTML: which table is which, by its titles and its caption, and its rows.
//!
//! Takes the text; gives the parts of the report. Prevents: a table found by its place, which differs by version, and
//! figures of 11.2.0.4 that Oracle printed under the titles of other columns.

use super::head::{TITLES, is_idle, is_of_host};
use super::html::{Cell, Piece, pieces};
use super::kind::Kind;
use super::parts::Parts;
use super::table::{Table, normal};
use super::tablespace::PDB;
use crate::error::ImportError;
use crate::figure::{Fact, excerpt};

/// What the rows of the table under way are.
#[derive(Default)]
enum State {
    #[default]
    Other,
    Head,
    Snapshots,
    Statistics,
    Spaces,
    Rows(Table),
}

#[derive(Default)]
struct Page<'t> {
    parts: Parts<'t>,
    caption: String,
    titles: Vec<String>,
    state: State,
}

/// True for a row of titles that belongs to a report.
pub(super) fn is_known(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Text { text, .. } => text.starts_with("WORKLOAD REPOSITORY"),
        Piece::Titles(cells) => {
            let titles: Vec<String> = cells.iter().map(|cell| normal(&cell.text)).collect();
            is_statistics(&titles) || is_spaces(&titles) || titles.contains(&"%dbtime".into()) || is_load(&titles)
        }
        _ => false,
    }
}

fn is_load(titles: &[String]) -> bool {
    titles
        .iter()
        .map(String::as_str)
        .take(3)
        .eq(["", "persecond", "pertransaction"])
}

fn is_statistics(titles: &[String]) -> bool {
    titles
        .iter()
        .map(String::as_str)
        .eq(["statistic", "total", "persecond", "pertrans"])
}

fn is_spaces(titles: &[String]) -> bool {
    titles.first().is_some_and(|first| first == "tablespace")
        && titles.iter().any(|title| title == "reads")
        && !titles.iter().any(|title| title == "filename")
}

pub(super) fn read<'t>(text: &'t str) -> Result<Parts<'t>, ImportError> {
    let mut page = Page::default();
    let mut failed = None;
    pieces(text, &mut |piece| {
        if failed.is_none() {
            failed = page.take(&piece).err();
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(page.parts),
    }
}

impl Page<'_> {
    fn take(&mut self, piece: &Piece<'_>) -> Result<(), ImportError> {
        match piece {
            Piece::Text { text, line } => self.parts.head.refuse(text, *line),
            Piece::Table { caption, .. } => {
                (*caption).clone_into(&mut self.caption);
                self.titles.clear();
                self.state = State::Other;
                Ok(())
            }
            Piece::Titles(cells) => {
                self.begin(cells);
                Ok(())
            }
            Piece::Row { cells, cut } => self.row(cells, *cut),
        }
    }

    fn begin(&mut self, cells: &[Cell]) {
        self.titles = cells.iter().map(|cell| normal(&cell.text)).collect();
        let titles = &self.titles;
        let line = cells.first().map_or(0, |cell| cell.line);
        self.state = if let Some(kind) = Kind::of(titles, &self.caption) {
            State::Rows(Table::new(kind, titles))
        } else if is_statistics(titles) {
            State::Statistics
        } else if is_spaces(titles) {
            self.parts.head.fact(Fact {
                name: "section".into(),
                value: "Tablespace IO Stats".into(),
                line,
            });
            self.parts.spaces.say_unknown(titles, line, &mut self.parts.notes);
            if is_mislabelled(titles) {
                self.parts.notes.add(
                    line,
                    "this version prints writes and single-block reads of tablespaces under wrong titles: left out",
                );
            }
            State::Spaces
        } else if titles.iter().any(|title| title == "snapid") {
            State::Snapshots
        } else if titles.iter().any(|title| TITLES.contains(&title.as_str())) {
            State::Head
        } else {
            State::Other
        };
    }

    fn row(&mut self, cells: &[Cell], cut: bool) -> Result<(), ImportError> {
        let Some(first) = cells.first().filter(|_| !matches!(self.state, State::Other)) else {
            return Ok(());
        };
        if cut || cells.len() != self.titles.len() {
            self.parts.notes.add(
                first.line,
                format!("{:?} has not the cells of its titles: left out", excerpt(&first.text)),
            );
            return Ok(());
        }
        let (head, notes) = (&mut self.parts.head, &mut self.parts.notes);
        match &self.state {
            State::Other => Ok(()),
            State::Head => {
                let of_host = is_of_host(&self.titles);
                let mut all = self
                    .titles
                    .iter()
                    .zip(cells)
                    .filter(|(title, _)| of_host || !is_idle(title));
                all.try_for_each(|(title, cell)| head.cell(title, &cell.text, cell.line))
            }
            State::Snapshots => {
                let mut rest = cells.iter().skip(1);
                rest.try_for_each(|cell| head.minutes(&first.text, &cell.text, cell.line))
            }
            State::Statistics => {
                let numbers: Vec<&str> = cells[1..].iter().map(|cell| cell.text.as_str()).collect();
                self.parts.statistics.row(&first.text, &numbers, cells[1].line, notes)
            }
            State::Spaces => {
                let wrong = is_mislabelled(&self.titles);
                let figures = self.titles.iter().zip(cells).skip(1);
                let kept = figures.filter(|(title, _)| !(wrong && MISLABELLED.contains(&title.as_str())));
                let pairs = kept.map(|(title, cell)| (title, filled(cell), cell.line));
                self.parts
                    .spaces
                    .add(&in_container(&self.titles, cells), pairs, first.line, notes)
            }
            State::Rows(table) => {
                let skip = 1 + usize::from(table.kind == Kind::Files);
                let places: Vec<(Option<&str>, u32)> =
                    cells.iter().skip(skip).map(|cell| (filled(cell), cell.line)).collect();
                let name = match table.kind {
                    Kind::Files => format!("{}.{}", first.text, cells[1].text),
                    _ => first.text.clone(),
                };
                self.parts.rows.add(table, &name, &places, notes)
            }
        }
    }
}

/// The name of a tablespace; `PDB1/USERS` where a column names the pluggable database, as several have a SYSTEM.
fn in_container(titles: &[String], cells: &[Cell]) -> String {
    let container = titles.iter().zip(cells).find(|(title, _)| *title == PDB);
    match container.and_then(|(_, cell)| filled(cell)) {
        Some(container) => format!("{container}/{}", cells[0].text),
        None => cells[0].text.clone(),
    }
}

fn filled(cell: &Cell) -> Option<&str> {
    Some(cell.text.as_str()).filter(|text| !text.is_empty())
}

/// Columns whose figures 11.2.0.4 prints in another order than their titles.
const MISLABELLED: [&str; 4] = ["1-bkrds/s", "av1-bkrd(ms)", "writes", "writesavg/s"];

/// The titles of 11.2.0.4, the only version with single-block reads in milliseconds and without optimized reads.
fn is_mislabelled(titles: &[String]) -> bool {
    let has = |title: &str| titles.iter().any(|t| t == title);
    has("av1-bkrd(ms)") && !has("%optreads")
}
