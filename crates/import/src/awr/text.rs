//! A report as text, of AWR or statspack: page breaks, headings, tables drawn by dashes.
//!
//! Takes text line by line; gives the parts of the report. Prevents: a section thought to end where a page does, be it
//! a page of the report or one of SQL*Plus, which writes the column's name above each.

use super::head::{TITLES, is_idle, is_of_host};
use super::parts::Parts;
use super::sections::Sections;
use crate::columns::{Columns, is_dashes, is_end};
use crate::error::ImportError;
use crate::lines::{Line, lines};

/// Lines of titles above dashes, at most.
const TITLES_MAX: usize = 4;

/// Where the reader is.
#[derive(Default)]
struct Reader<'t> {
    titles: Vec<&'t str>,
    /// A table whose next row holds facts of the head or the idle share.
    head: Option<Columns>,
}

pub(super) fn read<'t>(text: &'t str) -> Result<Parts<'t>, ImportError> {
    let mut reader = Reader::default();
    let mut parts = Parts::default();
    let mut sections = Sections::default();
    for line in without_page_titles(text) {
        parts.head.refuse(line.text.trim_start(), line.number)?;
        if let Some(fact) = parts.spaces.heading(line) {
            sections.leave();
            parts.head.fact(fact);
            continue;
        }
        if sections.heading(line) {
            parts.spaces.leave();
            reader.titles.clear();
            continue;
        }
        if is_end(line.text) || line.text.contains("DB/Inst:") {
            parts.spaces.leave();
            sections.leave();
            reader.titles.clear();
            continue;
        }
        if sections.take(line, &mut parts.rows, &mut parts.notes)? {
            continue;
        }
        if parts.statistics.take(line, &mut parts.notes)? {
            parts.spaces.leave();
            continue;
        }
        if parts.spaces.take(line, &mut parts.notes)? {
            continue;
        }
        reader.take(line, &mut parts)?;
    }
    Ok(parts)
}

/// The lines without what SQL*Plus prints at the top of each of its pages: a blank line, the name of the report's
/// column, dashes over the width of the page.
fn without_page_titles(text: &str) -> impl Iterator<Item = Line<'_>> {
    let is_title = |line: &Line<'_>| line.text.trim() == "OUTPUT";
    let is_rule = |line: &Line<'_>| line.text.len() >= 60 && line.text.trim_end().bytes().all(|b| b == b'-');
    let mut lines = lines(text).peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            if is_title(&line) {
                lines.next_if(is_rule);
            } else if !(line.text.trim().is_empty() && lines.peek().is_some_and(is_title)) {
                return Some(line);
            }
        }
    })
}

impl<'t> Reader<'t> {
    /// The head of the report, and the table of the host's processors.
    fn take(&mut self, line: Line<'t>, parts: &mut Parts<'_>) -> Result<(), ImportError> {
        let text = line.text.trim_start();
        for word in ["Elapsed:", "DB Time:", "DB time:"] {
            if let Some(rest) = text.strip_prefix(word) {
                parts.head.minutes(word, rest, line.number)?;
            }
        }
        if is_dashes(line.text) {
            let columns = Columns::new(line.text, &self.titles);
            self.titles.clear();
            let known = columns.titles.iter().any(|title| TITLES.contains(&title.as_str()));
            self.head = known.then_some(columns);
            return Ok(());
        }
        if text.is_empty() {
            self.titles.clear();
            return Ok(());
        }
        if let Some(columns) = self.head.take() {
            return row(&columns, line, parts);
        }
        if text.starts_with("~~~") {
            // What is underlined is a heading, not titles.
            self.titles.clear();
        } else if self.titles.len() == TITLES_MAX {
            self.titles.remove(0);
        }
        self.titles.push(line.text);
        Ok(())
    }
}

fn row(columns: &Columns, line: Line<'_>, parts: &mut Parts<'_>) -> Result<(), ImportError> {
    let of_host = is_of_host(&columns.titles);
    for (index, title) in columns.titles.iter().enumerate() {
        if is_idle(title) && !of_host {
            continue;
        }
        let value = if is_idle(title) {
            columns.cells(line.text, false).and_then(|cells| cells[index])
        } else {
            columns.below(line.text, index)
        };
        // Statspack's "Host Name" is a title over two groups, and the name is below the second.
        let host = title == "name" && columns.titles.first().is_some_and(|first| first == "host");
        if let Some(value) = value {
            parts.head.cell(if host { "host" } else { title }, value, line.number)?;
        }
    }
    Ok(())
}
