//! What SLOB and the scripts around it print: rates by second, full table scans by user with their total, the copy of a
//! data file, parameters; and the tables of runs that [`crate::slob_tables`] reads.
//!
//! Takes text; gives one report, or one a row of a table. Prevents: two runs in one file taken for one, and "MB"
//! compared where nobody knows whether it is 10^6 or 2^20 bytes.

use crate::error::ImportError;
use crate::figure::{Fact, Figure, Imported, Notes, Quantity, Report, excerpt};
use crate::format::{Format, Options};
use crate::lines::{Line, lines, tokens};
use crate::number::first_number;
use crate::slob_tables::Tables;
use std::collections::{BTreeMap, BTreeSet};

const MIB: f64 = 1_048_576.0;

/// Lines that are a word, a colon and a number: start in lower case, name, unit, how the text may write that unit, what
/// it may be set beside.
type Single = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    Option<(Quantity, f64)>,
);
const SINGLES: [Single; 7] = [
    (
        "physical reads per second:",
        "physical_reads_per_s",
        "/s",
        &["/s"],
        Some((Quantity::ReadsPerS, 1.0)),
    ),
    (
        "physical writes per second:",
        "physical_writes_per_s",
        "/s",
        &["/s"],
        Some((Quantity::WritesPerS, 1.0)),
    ),
    ("users:", "scan.users", "users", &["users"], None),
    ("scanned:", "scan.bytes", "MiB", &["MB", "MiB"], None),
    (
        "scan rate:",
        "scan.rate",
        "MiB/s",
        &["MB/s", "MiB/s"],
        Some((Quantity::ReadBytesPerS, MIB)),
    ),
    (
        "runtime:",
        "scan.elapsed",
        "s",
        &["s", "sec", "seconds"],
        Some((Quantity::ElapsedS, 1.0)),
    ),
    ("cpu idle average", "cpu.idle", "%", &["%"], None),
];

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut tables = Tables::default();
    for line in lines(text) {
        if tables.take(line, options, &mut reader.notes)? {
            continue;
        }
        reader.take(line)?;
    }
    if let (Some((column, value)), true) = (options.rows.first(), tables.reports.is_empty()) {
        return Err(ImportError::Absent {
            what: format!("no row of a table has {column} = {value}"),
            cure: "name a column by its title and a value as it is printed, or leave --where out".into(),
        });
    }
    let mut said = Vec::new();
    if !tables.reports.is_empty() {
        said.push(format!("a table of {} runs", tables.reports.len()));
    }
    if reader.has("scan.") {
        said.push("full table scans".into());
    }
    if reader.has("physical_") {
        said.push("rates by second".into());
        reader.notes.add(
            0,
            "physical reads and writes are blocks: they are requests where each moves one block, as in random work",
        );
    }
    if tables.has_marked_bars() {
        reader.notes.add(
            0,
            "PREADS and PWRITES are requests in SLOB's awr_info: a copy that counts blocks agrees where each moves one",
        );
    }
    reader.facts.extend(one_load(&tables.reports));
    let mut reports = Vec::new();
    if !reader.figures.is_empty() {
        reports.push(Report {
            figures: reader.figures,
            ..Report::default()
        });
    }
    reports.extend(tables.reports);
    Ok(Imported {
        format: Format::Slob,
        layout: format!(
            "SLOB: {}",
            if said.is_empty() {
                "single lines".into()
            } else {
                said.join(", ")
            }
        ),
        facts: reader.facts,
        reports,
        notes: reader.notes.finish(),
    })
}

/// What all rows say of their load.
fn one_load(rows: &[Report]) -> Vec<Fact> {
    let Some((first, others)) = rows.split_first() else {
        return Vec::new();
    };
    let alike = |fact: &&Fact| {
        let same = |row: &Report| {
            row.load
                .iter()
                .any(|own| (&own.name, &own.value) == (&fact.name, &fact.value))
        };
        others.iter().all(same)
    };
    first.load.iter().filter(alike).cloned().collect()
}

/// The first word without what is glued to its digits, and that, or the next word: `234.16 MB/s`, `138MB/s`.
fn with_unit(text: &str) -> (&str, &str) {
    const ENDS: [char; 3] = ['.', ',', ';'];
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or_default().trim_end_matches(ENDS);
    let digits = word.trim_end_matches(|c: char| c.is_alphabetic() || c == '/' || c == '%');
    match word.get(digits.len()..).filter(|glued| !glued.is_empty()) {
        Some(glued) => (digits, glued),
        None => (word, words.next().unwrap_or_default().trim_end_matches(ENDS)),
    }
}

#[derive(Default)]
struct Reader {
    facts: Vec<Fact>,
    figures: Vec<Figure>,
    notes: Notes,
    /// Names of figures that a run has once.
    once: BTreeSet<String>,
    /// How often each user was scanned.
    users: BTreeMap<String, u32>,
}

impl Reader {
    fn has(&self, start: &str) -> bool {
        self.figures.iter().any(|figure| figure.name.starts_with(start))
    }

    /// A figure that a run has once; a second one is a second run.
    fn once(&mut self, figure: Figure) -> Result<(), ImportError> {
        if !self.once.insert(figure.name.clone()) {
            return Err(ImportError::Other {
                line: figure.line,
                what: format!("{} stands here for the second time: a second run begins", figure.name),
                cure: "cut the file between the runs and import each by itself".into(),
            });
        }
        self.figures.push(figure);
        Ok(())
    }

    fn full(&self) -> Result<(), ImportError> {
        if self.figures.len() < crate::format::FIGURES_MAX {
            return Ok(());
        }
        Err(ImportError::TooLarge {
            bytes: self.figures.len(),
        })
    }

    fn take(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let text = line.text.trim();
        let lower = text.get(..40.min(text.len())).unwrap_or(text).to_ascii_lowercase();
        for (start, name, unit, written, quantity) in SINGLES {
            if lower.starts_with(start) {
                let (word, behind) = with_unit(text.get(start.len()..).unwrap_or_default());
                let Some(printed) = first_number(word, line.number)? else {
                    continue;
                };
                if !behind.is_empty() && !written.contains(&behind) {
                    self.notes
                        .add(line.number, format!("{:?} is not in {unit}: left out", excerpt(text)));
                    return Ok(());
                }
                let figure = Figure::new(name, &printed, unit, line.number);
                return self.once(match quantity {
                    Some((quantity, factor)) => figure.of_quantity(quantity, factor),
                    None => figure,
                });
            }
        }
        if lower.starts_with("bandwidth:") {
            return self.bandwidth(text, line.number);
        }
        if lower.starts_with("physical read") && lower.contains("/s =") {
            return self.stated(text, line.number);
        }
        if let Some(at) = text.find("MB, Time:") {
            return self.scan(&text[..at], &text[at + "MB, Time:".len()..], line);
        }
        if let Some((_, time)) = text.split_once("datafile copy complete, elapsed time:") {
            return self.copy(time.trim(), line);
        }
        self.parameter(text, line.number);
        Ok(())
    }

    /// `Bandwidth: 267 MB/s read, write 134 MB/s.`
    fn bandwidth(&mut self, text: &str, line: u32) -> Result<(), ImportError> {
        let words = tokens(text);
        let mut direction = "read";
        for (index, word) in words.iter().enumerate().skip(1) {
            match word.trim_end_matches([',', '.']) {
                "write" | "writes" | "written" => direction = "write",
                "read" | "reads" => direction = "read",
                _ => {}
            }
            let unit = words.get(index + 1).map(|unit| unit.trim_end_matches([',', '.', ';']));
            let Some(printed) = (match unit {
                Some("MB/s") => first_number(word, line)?,
                _ => None,
            }) else {
                continue;
            };
            self.once(Figure::new(format!("bandwidth.{direction}"), &printed, "MB/s", line))?;
            self.notes.add(
                line,
                "MB/s may be of 10^6 or of 2^20 bytes: kept as printed, set beside nothing",
            );
        }
        Ok(())
    }

    /// `Physical read bytes/s = 245MB/s. Physical reads/s = 1872.`
    fn stated(&mut self, text: &str, line: u32) -> Result<(), ImportError> {
        for (start, name) in [
            ("read bytes/s =", "stated.read_bytes_per_s"),
            ("reads/s =", "stated.reads_per_s"),
        ] {
            let Some((_, rest)) = text.split_once(start) else {
                continue;
            };
            let word = rest.split_whitespace().next().unwrap_or_default().trim_end_matches('.');
            let (word, unit) = match word.strip_suffix("MB/s") {
                Some(word) => (word, "MB/s"),
                None => (word, "/s"),
            };
            if let Some(printed) = first_number(word, line)? {
                self.once(Figure::new(name, &printed, unit, line))?;
            }
        }
        Ok(())
    }

    /// `USER28     7031  MB, Time:  29.64`
    fn scan(&mut self, before: &str, after: &str, line: Line<'_>) -> Result<(), ImportError> {
        let words = tokens(before);
        let [.., user, size] = words[..] else { return Ok(()) };
        let (Some(size), Some(time)) = (first_number(size, line.number)?, first_number(after, line.number)?) else {
            self.notes.add(
                line.number,
                format!("{:?} is no scan of a user: left out", excerpt(line.text)),
            );
            return Ok(());
        };
        // A user drawn twice is scanned twice: both count.
        let user = excerpt(user);
        let again = self.users.entry(user.clone()).and_modify(|n| *n += 1).or_default();
        let name = match again {
            0 => format!("scan.user.{user}"),
            again => format!("scan.user.{user} again {again}"),
        };
        self.full()?;
        self.figures
            .push(Figure::new(format!("{name}.bytes"), &size, "MiB", line.number));
        self.figures
            .push(Figure::new(format!("{name}.time"), &time, "s", line.number));
        Ok(())
    }

    /// `02:18:46`
    fn copy(&mut self, time: &str, line: Line<'_>) -> Result<(), ImportError> {
        let parts: Vec<Option<f64>> = time
            .split(':')
            .take(4)
            .map(|part| part.trim().parse::<u32>().ok().map(f64::from))
            .collect();
        let [Some(hours), Some(minutes), Some(seconds)] = parts[..] else {
            self.notes
                .add(line.number, format!("{:?} is no time: left out", excerpt(time)));
            return Ok(());
        };
        let figure = Figure {
            name: "copy.elapsed".into(),
            value: hours * 3600.0 + minutes * 60.0 + seconds,
            text: time.into(),
            unit: "s",
            line: line.number,
            comparable: None,
        };
        self.once(figure.of_quantity(Quantity::ElapsedS, 1.0))
    }

    /// `UPDATE_PCT: 50` and the like: said, not measured. A password is not repeated.
    fn parameter(&mut self, text: &str, line: u32) {
        let Some((key, value)) = text.split_once(':') else {
            return;
        };
        let named = key.len() > 3 && key.len() < 40 && key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        if !named || value.trim().is_empty() || key.contains("PASS") || self.facts.len() >= 100 || key == "NOTIFY" {
            return;
        }
        if !self.facts.iter().any(|fact| fact.name == key) {
            self.facts.push(Fact {
                name: key.into(),
                value: excerpt(value),
                line,
            });
        }
    }
}
