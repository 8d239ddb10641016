//! The tables of a text report that are found by their heading: load profile, I/O profile, events, I/O by function.
//!
//! Takes lines one after another; gives rows. Prevents: a blank cell, or a name of two words, that shifts the figures
//! behind it, and a column of 11.2.0.4 that is too narrow for its unit.

use super::kind::Kind;
use super::table::{Rows, Table};
use crate::columns::{Columns, is_dashes};
use crate::error::ImportError;
use crate::figure::{Notes, excerpt};
use crate::lines::{Line, tokens};
use crate::number::{Commas, Trouble, number};

/// Lines of titles above dashes, at most.
const TITLES_MAX: usize = 4;

#[derive(Default)]
pub(super) struct Sections {
    kind: Option<Kind>,
    caption: String,
    titles: Vec<String>,
    table: Option<(Columns, Table)>,
    /// A load or I/O profile, which no dashes draw.
    profile: Option<Table>,
    rows: u32,
}

/// Headings, with the kind of table below them.
const HEADINGS: [(&str, Kind); 8] = [
    ("Load Profile", Kind::Load),
    ("IO Profile", Kind::Profile),
    ("Foreground Wait Events", Kind::Foreground),
    ("Background Wait Events", Kind::Background),
    ("Wait Events ", Kind::Waits),
    ("IOStat by Function summary", Kind::Functions),
    ("IO Stat by Function - summary", Kind::Functions),
    ("IOStat by Filetype summary", Kind::FileTypes),
];

/// Titles of the profiles, in the order of their columns.
const LOAD: [&str; 4] = ["Per Second", "Per Transaction", "Per Exec", "Per Call"];
const PROFILE: [&str; 3] = ["Read+Write/Second", "Read/Second", "Write/Second"];

fn heading(text: &str) -> Option<(Kind, &str)> {
    if text.starts_with("Top ") && text.contains(" Events") {
        let end = text.find("   ").unwrap_or(text.len());
        return Some((Kind::Top, &text[..end]));
    }
    let found = HEADINGS.iter().find(|(start, _)| text.starts_with(start));
    found.map(|(start, kind)| (*kind, *start))
}

impl Sections {
    /// True for a heading, after which its table is awaited.
    pub(super) fn heading(&mut self, line: Line<'_>) -> bool {
        let Some((kind, caption)) = heading(line.text.trim_start()) else {
            return false;
        };
        self.leave();
        self.kind = Some(kind);
        caption.clone_into(&mut self.caption);
        // Some versions begin the titles on the line of the heading.
        let rest = line.text.trim_start().get(caption.len()..).unwrap_or_default();
        let page = rest.contains("DB/Inst:") || rest.contains(" DB: ");
        if !page {
            let indent = line.text.chars().count() - rest.chars().count();
            self.titles.push(format!("{}{rest}", " ".repeat(indent)));
        }
        true
    }

    pub(super) fn leave(&mut self) {
        *self = Sections::default();
    }

    /// True when the line belonged to the section.
    pub(super) fn take(&mut self, line: Line<'_>, rows: &mut Rows, notes: &mut Notes) -> Result<bool, ImportError> {
        match self.kind {
            None => Ok(false),
            Some(Kind::Load | Kind::Profile) => self.profile(line, rows, notes),
            Some(_) => self.drawn(line, rows, notes),
        }
    }

    /// Rows of `label: number number`, ended by a blank line.
    fn profile(&mut self, line: Line<'_>, rows: &mut Rows, notes: &mut Notes) -> Result<bool, ImportError> {
        let text = line.text.trim();
        if text.is_empty() {
            if self.rows > 0 {
                self.leave();
            }
            return Ok(true);
        }
        let Some((label, rest)) = text.split_once(':') else {
            // Titles, or the dashes below them.
            let fits = self.profile.is_none() && self.titles.len() < TITLES_MAX;
            if fits {
                self.titles.push(line.text.replace('~', " "));
            } else {
                self.leave();
            }
            return Ok(fits);
        };
        if rest.contains(':') || label.ends_with('%') || label.starts_with('%') {
            // Percentages of old versions, two in a row.
            self.leave();
            return Ok(true);
        }
        let kind = self.kind.unwrap_or(Kind::Load);
        let table = match &self.profile {
            Some(table) => table.clone(),
            None => profile_table(kind, &self.titles),
        };
        let numbers = tokens(rest);
        let fits = numbers
            .iter()
            .all(|word| !matches!(number(word, Commas::Thousands), Err(Trouble::NoNumber)));
        if !fits || numbers.len() > table.count() {
            notes.add(
                line.number,
                format!("{:?} does not fit its titles: left out", excerpt(text)),
            );
            return Ok(true);
        }
        // Only cells at the end are ever blank here.
        let mut cells: Vec<(Option<&str>, u32)> = numbers.into_iter().map(|word| (Some(word), line.number)).collect();
        cells.resize(table.count(), (None, line.number));
        rows.add(&table, label, &cells, notes)?;
        self.profile = Some(table);
        self.rows += 1;
        Ok(true)
    }

    /// Rows below dashes, ended by a blank line.
    fn drawn(&mut self, line: Line<'_>, rows: &mut Rows, notes: &mut Notes) -> Result<bool, ImportError> {
        let text = line.text;
        if text.trim().is_empty() {
            if self.rows > 0 {
                self.leave();
            }
            return Ok(true);
        }
        let Some((columns, table)) = &self.table else {
            return Ok(self.title(line, notes));
        };
        let Some(cells) = columns.drawn(text) else {
            notes.add(
                line.number,
                format!("{:?} does not fit the columns: left out", excerpt(text)),
            );
            return Ok(true);
        };
        let figures: Vec<&str> = cells.iter().skip(1).flatten().copied().collect();
        if !figures.is_empty() && !figures.iter().any(|cell| is_figure(cell)) {
            // What follows without a blank line between, as the table of the host's processors does.
            self.leave();
            return Ok(false);
        }
        let name = cells.first().copied().flatten().unwrap_or_default();
        let places: Vec<(Option<&str>, u32)> = cells.iter().skip(1).map(|cell| (*cell, line.number)).collect();
        rows.add(table, name, &places, notes)?;
        self.rows += 1;
        Ok(true)
    }

    /// A line above the rows: a remark, titles, or the dashes.
    fn title(&mut self, line: Line<'_>, notes: &mut Notes) -> bool {
        let text = line.text;
        if is_dashes(text) {
            let above: Vec<&str> = self.titles.iter().map(String::as_str).collect();
            let mut columns = Columns::new(text, &above);
            let kind = Kind::of(&columns.titles, &self.caption);
            let Some(kind) = kind else {
                self.leave();
                return false;
            };
            if let Some(narrow) = columns.titles.iter_mut().find(|title| *title == "totatime") {
                notes.add(
                    line.number,
                    "the column of the total wait time is too narrow for its unit: left out",
                );
                narrow.clear();
            }
            let table = Table::new(kind, &columns.titles);
            self.table = Some((columns, table));
        } else if self.titles.len() > TITLES_MAX {
            self.leave();
            return false;
        } else if !is_remark(text.trim_start()) {
            self.titles.push(text.replace('~', " "));
        }
        true
    }
}

/// A remark between the heading and the titles, or the line that only groups them: `---- Read ---- --- Write ---`.
fn is_remark(text: &str) -> bool {
    ["->", "other columns suffixed", "other values suffixed", "---"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// A number, or what stands for one.
fn is_figure(cell: &str) -> bool {
    let digits = cell.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    cell == "N/A" || digits.bytes().any(|b| b.is_ascii_digit() || b == b'#') && !digits.contains([' ', ':', ')'])
}

fn profile_table(kind: Kind, titles: &[String]) -> Table {
    let all = titles.join(" ");
    let named: &[&str] = if kind == Kind::Load { &LOAD } else { &PROFILE };
    let mut found: Vec<(usize, &str)> = named
        .iter()
        .filter_map(|title| Some((place(&all, title)?, *title)))
        .collect();
    found.sort_unstable();
    let titles: Vec<String> = std::iter::once(String::new())
        .chain(found.into_iter().map(|(_, title)| super::table::normal(title)))
        .collect();
    Table::new(kind, &titles)
}

/// Where a title begins, as a word of its own.
fn place(all: &str, title: &str) -> Option<usize> {
    let padded = format!(" {title}");
    all.find(&padded)
}
