//! Rows of AWR's instance statistics: a name, a total, a rate by second, a rate by transaction.
//!
//! Takes lines one after another, under their heading or cut out by `grep`; gives figures. Prevents: `physical reads`
//! (blocks) compared as if it were `physical read IO requests`, and a row lost because its name was broken over two
//! lines.

use crate::error::ImportError;
use crate::figure::{Figure, Notes, Quantity, excerpt};
use crate::lines::Line;
use crate::number::{Commas, Printed, Trouble, number, printed};
use std::collections::BTreeMap;

/// Statistics taken besides those of physical I/O.
const OTHERS: [&str; 7] = [
    "redo size",
    "redo writes",
    "redo blocks written",
    "user commits",
    "user rollbacks",
    "session logical reads",
    "user I/O wait time",
];

/// Most rows: a report has some dozens of those taken.
const ROWS_MAX: usize = 20_000;

#[derive(Default)]
pub(crate) struct Statistics {
    figures: Vec<Figure>,
    /// Name and total of what was taken: the report repeats some rows.
    seen: BTreeMap<String, String>,
    /// A name whose numbers stand on the next line.
    pending: Option<(String, u32)>,
}

/// Words and the numbers behind them, at most three.
fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
    let mut words: Vec<&str> = text.split_whitespace().take(32).collect();
    let mut numbers = Vec::new();
    while numbers.len() < 3
        && words
            .last()
            .is_some_and(|word| !matches!(number(word, Commas::Thousands), Err(Trouble::NoNumber)))
    {
        numbers.extend(words.pop());
    }
    numbers.reverse();
    (words, numbers)
}

fn is_name(text: &str) -> bool {
    text.starts_with("physical read") || text.starts_with("physical write") || OTHERS.contains(&text)
}

impl Statistics {
    /// True when the line was one of these, whether or not its numbers could be read.
    pub(crate) fn take(&mut self, line: Line<'_>, notes: &mut Notes) -> Result<bool, ImportError> {
        let (words, numbers) = split(line.text);
        if let Some((name, at)) = self.pending.take() {
            if numbers.len() == 3 && line.text.starts_with(' ') {
                let rest = words.join(" ");
                let name = if rest.is_empty() {
                    name
                } else {
                    format!("{name} {rest}")
                };
                self.add(&name, &numbers, line.number, notes)?;
                return Ok(true);
            }
            notes.add(at, format!("`{name}` has no numbers on its line or the next: left out"));
        }
        if line.text.starts_with(' ') {
            return Ok(false);
        }
        let name = words.join(" ");
        if !is_name(&name) {
            return Ok(false);
        }
        match numbers.len() {
            3 => self.add(&name, &numbers, line.number, notes)?,
            0 if name.starts_with("physical") && !name.contains(':') => self.pending = Some((name, line.number)),
            _ => notes.add(
                line.number,
                format!(
                    "{:?} has not three numbers (total, by second, by transaction): left out",
                    excerpt(line.text)
                ),
            ),
        }
        Ok(true)
    }

    /// A row of a table of statistics: total, by second, by transaction.
    pub(super) fn row(
        &mut self,
        name: &str,
        numbers: &[&str],
        line: u32,
        notes: &mut Notes,
    ) -> Result<(), ImportError> {
        if !is_name(name) || numbers.len() != 3 {
            return Ok(());
        }
        self.add(name, numbers, line, notes)
    }

    fn add(&mut self, name: &str, numbers: &[&str], line: u32, notes: &mut Notes) -> Result<(), ImportError> {
        let mut values: Vec<Option<Printed<'_>>> = Vec::new();
        for token in numbers {
            values.push(printed(token, line)?);
        }
        if let Some(old) = self.seen.get(name) {
            if old != numbers[0] {
                notes.add(
                    line,
                    format!(
                        "`{name}` stands here with {} and before with {old}: the first counts",
                        numbers[0]
                    ),
                );
            }
            return Ok(());
        }
        if self.seen.len() >= ROWS_MAX {
            return Err(ImportError::TooLarge { bytes: ROWS_MAX });
        }
        self.seen.insert(name.into(), numbers[0].into());
        let units = units(name);
        for ((value, unit), part) in values.into_iter().zip(units).zip(["total", "per_s", "per_transaction"]) {
            match value {
                Some(printed) => {
                    let figure = Figure::new(format!("statistic.{name}.{part}"), &printed, unit, line);
                    self.figures.push(match quantity(name).filter(|_| part == "per_s") {
                        Some(quantity) => figure.of_quantity(quantity, 1.0),
                        None => figure,
                    });
                }
                None => notes.add(line, format!("`{name}`, {part}: the number did not fit its column")),
            }
        }
        Ok(())
    }

    /// Hands over what was read; true when it says how many requests were made.
    pub(crate) fn finish(self, figures: &mut Vec<Figure>) -> bool {
        let counted = self
            .figures
            .iter()
            .any(|figure| figure.comparable.is_some_and(|c| c.quantity == Quantity::ReadsPerS));
        figures.extend(self.figures);
        counted
    }
}

fn quantity(name: &str) -> Option<Quantity> {
    match name {
        "physical read IO requests" => Some(Quantity::ReadsPerS),
        "physical read bytes" => Some(Quantity::ReadBytesPerS),
        "physical write IO requests" => Some(Quantity::WritesPerS),
        "physical write bytes" => Some(Quantity::WriteBytesPerS),
        _ => None,
    }
}

fn units(name: &str) -> [&'static str; 3] {
    if name.contains("bytes") || name == "redo size" {
        ["bytes", "bytes/s", "bytes/transaction"]
    } else if name.contains("request") || name.contains("multi block") || name == "redo writes" {
        ["requests", "requests/s", "requests/transaction"]
    } else if name.starts_with("physical") || name.contains("blocks") || name == "session logical reads" {
        ["blocks", "blocks/s", "blocks/transaction"]
    } else {
        ["", "/s", "/transaction"]
    }
}
