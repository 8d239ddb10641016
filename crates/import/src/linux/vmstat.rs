//! `vmstat` of Linux: run queue, blocks in and out, interrupts, shares of the processors.
//!
//! Takes text; gives means over the intervals. The first row is the average since boot and is left out. Prevents:
//! memory of an unknown unit (`-S`) read as KiB.

use super::value;
use crate::error::ImportError;
use crate::figure::{Figure, Imported, Notes, Quantity, Report, excerpt};
use crate::format::{FIGURES_MAX, Format, Options};
use crate::lines::{Line, lines, tokens};
use crate::number::{decimals, rounded};

/// True for the titles.
pub(crate) fn is_vmstat(line: &str) -> bool {
    let words = tokens(line);
    words.first() == Some(&"r")
        && ["b", "swpd", "bi", "bo", "id"]
            .iter()
            .all(|title| words.contains(title))
}

/// Titles with what their figures are called; memory and swap have no unit in the text.
const COLUMNS: [(&str, &str, &str); 12] = [
    ("r", "procs.r", "processes"),
    ("b", "procs.b", "processes"),
    ("bi", "io.bi", "KiB/s"),
    ("bo", "io.bo", "KiB/s"),
    ("in", "system.in", "/s"),
    ("cs", "system.cs", "/s"),
    ("us", "cpu.us", "%"),
    ("sy", "cpu.sy", "%"),
    ("id", "cpu.id", "%"),
    ("wa", "cpu.wa", "%"),
    ("st", "cpu.st", "%"),
    ("gu", "cpu.gu", "%"),
];

/// Rows after which titles come again where vmstat writes to no terminal: 21, and one as a doubt.
const PAGE_ROWS: u32 = 20;

/// Largest share of the processors that rounding explains.
const SHARE_MAX: f64 = 110.0;

/// A row: its line, and by column its value with its digits.
struct Row {
    line: u32,
    cells: Vec<(&'static str, f64, usize, String)>,
}

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut notes = Notes::default();
    let mut rows = rows(text, &mut notes)?;
    let kept = options.keep_first || rows.is_empty();
    if !kept && rows.len() == 1 {
        return Err(ImportError::Other {
            line: rows[0].line,
            what: "the only row of this vmstat is the average since the system was started".into(),
            cure: "take a count of intervals (`vmstat 5 13`); if it was started with -y, say --keep-first".into(),
        });
    }
    if !kept {
        let first = rows.remove(0);
        notes.add(first.line, "the first row is the average since boot: left out");
    }
    if rows.len() > 1 {
        notes.add(0, format!("means over {} intervals", rows.len()));
    }
    if !rows.is_empty() {
        notes.add(0, "memory and swap have no unit in the text: left out");
    }
    Ok(Imported {
        format: Format::Vmstat,
        layout: "vmstat of Linux".into(),
        facts: Vec::new(),
        reports: vec![Report {
            figures: figures(&rows),
            ..Report::default()
        }],
        notes: notes.finish(),
    })
}

fn rows(text: &str, notes: &mut Notes) -> Result<Vec<Row>, ImportError> {
    let mut titles: Option<Vec<&str>> = None;
    let mut rows = Vec::new();
    let mut below = 0;
    for line in lines(text) {
        if is_vmstat(line.text) {
            if titles.replace(tokens(line.text)).is_some() && below < PAGE_ROWS {
                notes.add(
                    line.number,
                    format!(
                        "titles again after {below} rows: on a small terminal they are the next page; if a second run \
                         begins here, its first row is the average since boot: cut the file here"
                    ),
                );
            }
            below = 0;
            continue;
        }
        let Some(titles) = &titles else { continue };
        if line.text.trim().is_empty() || line.text.starts_with("procs") || line.text.contains("--memory--") {
            continue;
        }
        below += 1;
        match row(titles, line)? {
            // Some kernels print thousands of millions per cent, when a counter ran backwards.
            Some(row)
                if row
                    .cells
                    .iter()
                    .any(|cell| cell.0.starts_with("cpu.") && cell.1 > SHARE_MAX) =>
            {
                notes.add(
                    line.number,
                    format!("a share of the processors is above {SHARE_MAX} %: the row is left out"),
                );
            }
            Some(row) => rows.push(row),
            None => notes.add(
                line.number,
                format!("{:?} is no row of these columns: left out", excerpt(line.text)),
            ),
        }
        if rows.len() > FIGURES_MAX {
            return Err(ImportError::TooLarge { bytes: rows.len() });
        }
    }
    Ok(rows)
}

/// `-t` adds a date and a time behind the numbers, under one title.
fn row(titles: &[&str], line: Line<'_>) -> Result<Option<Row>, ImportError> {
    let words = tokens(line.text);
    if words.len() < titles.len() || words.len() > titles.len() + 1 {
        return Ok(None);
    }
    let mut cells = Vec::new();
    for (title, word) in titles.iter().zip(&words) {
        let Some((_, name, _)) = COLUMNS.iter().find(|(known, ..)| known == title) else {
            continue;
        };
        let Some(value) = value(word, line.number)?.filter(|value| value.value >= 0.0) else {
            return Ok(None);
        };
        cells.push((*name, value.value, decimals(&value.text), value.text.into_owned()));
    }
    Ok(Some(Row {
        line: line.number,
        cells,
    }))
}

fn figures(rows: &[Row]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut idle = Vec::new();
    for (_, name, unit) in COLUMNS {
        let of = |row: &Row| row.cells.iter().find(|cell| cell.0 == name).cloned();
        let found: Vec<_> = rows.iter().filter_map(|row| Some((row.line, of(row)?))).collect();
        let Some((line, first)) = found.first() else { continue };
        let sum: f64 = found.iter().map(|(_, cell)| cell.1).sum();
        let digits = found.iter().map(|(_, cell)| cell.2).max().unwrap_or(0);
        let (value, text) = match found.as_slice() {
            [_] => (first.1, first.3.clone()),
            // Whole numbers have a mean with digits behind the point.
            several => rounded(sum / several.len() as f64, digits.max(1)),
        };
        if name == "cpu.id" || name == "cpu.wa" {
            idle.push((value, *line));
        }
        figures.push(Figure {
            name: name.into(),
            value,
            text,
            unit,
            line: *line,
            comparable: None,
        });
    }
    if let [(idle, line), (waiting, _)] = idle.as_slice() {
        let (value, text) = rounded(idle + waiting, 1);
        let figure = Figure {
            name: "cpu.id and wa".into(),
            value,
            text,
            unit: "%",
            line: *line,
            comparable: None,
        };
        figures.push(figure.of_quantity(Quantity::CpuIdleShare, 0.01));
    }
    figures
}
