//! `zpool iostat`: plain, with `-v`, `-l`, `-H`, `-p`, over intervals.
//!
//! Takes text; gives figures by pool, vdev and device, means over the intervals. Every suffix is a power of 1024, also
//! that of operations. Prevents: the average since the import taken for a measurement, and operations of a mirror's
//! halves added to those of the mirror.

use super::cut_off::leave_out_cut;
use super::devices::{Interval, Value};
use crate::error::ImportError;
use crate::figure::{Imported, NAME_BYTES_MAX, Notes, excerpt};
use crate::format::{FIGURES_MAX, Format, Options, TEXT_BYTES_MAX};
use crate::lines::{Line, lines, tokens};
use crate::number::{Commas, Trouble, VALUE_MAX, number, rounded};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Columns behind the name, in the order that every version prints.
const COLUMNS: [&str; 17] = [
    "capacity.alloc",
    "capacity.free",
    "operations.read",
    "operations.write",
    "bandwidth.read",
    "bandwidth.write",
    "total_wait.read",
    "total_wait.write",
    "disk_wait.read",
    "disk_wait.write",
    "syncq_wait.read",
    "syncq_wait.write",
    "asyncq_wait.read",
    "asyncq_wait.write",
    "scrub",
    "trim",
    "rebuild",
];

/// Without waits; with waits and `scrub`, with `trim`, with `rebuild`.
const COUNTS: [usize; 4] = [6, 15, 16, 17];

/// Groups of vdevs that have no figures of their own.
const GROUPS: [&str; 5] = ["logs", "cache", "special", "dedup", "spares"];

/// Kinds of vdevs that versions before 2.0 print without a number, so that two of a pool have one name.
const KINDS: [&str; 5] = ["mirror", "raidz", "raidz1", "raidz2", "raidz3"];

/// True for the second line of the titles, or a row of `-H`.
pub(crate) fn is_zpool(line: &str) -> bool {
    is_titles(line) || is_scripted(line)
}

fn is_titles(line: &str) -> bool {
    let words = tokens(line);
    words.starts_with(&["pool", "alloc", "free", "read", "write", "read", "write"])
}

/// Tabs between a name and cells of which each is a number of this tool.
fn is_scripted(line: &str) -> bool {
    let mut cells = line.split('\t');
    let named = cells.next().is_some_and(|name| !name.is_empty() && !name.contains(' '));
    let cells: Vec<&str> = cells.take(COLUMNS.len() + 1).collect();
    named
        && COUNTS.contains(&cells.len())
        && cells
            .iter()
            .all(|cell| *cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit()))
}

#[derive(Default)]
struct Reader<'t> {
    intervals: Vec<Interval<'t>>,
    /// Names from the pool down to the row before.
    path: Vec<(usize, Cow<'t, str>)>,
    /// How often each name of a kind of vdev was in this report.
    kinds: BTreeMap<String, u32>,
    titles: usize,
    scripted: bool,
    rows: usize,
    /// Bytes of the rows' names, each with those it is below.
    named: usize,
}

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    for line in lines(text) {
        reader.take(line)?;
    }
    let mut intervals = reader.intervals;
    let mut notes = Notes::default();
    leave_out_cut(&mut intervals, usize::from(!options.keep_first), text, &mut notes);
    if !options.keep_first && !intervals.is_empty() {
        if intervals.len() == 1 {
            return Err(ImportError::Other {
                line: intervals[0].line,
                what: "the only report of this zpool iostat may be the average since the pool was imported".into(),
                cure: "take a count of intervals (`zpool iostat -v 5 13`); if it was started with -y, say --keep-first"
                    .into(),
            });
        }
        notes.add(
            intervals.remove(0).line,
            "the first report is the average since the pool was imported: left out",
        );
    }
    let layout = if reader.scripted {
        "zpool iostat -H"
    } else {
        "zpool iostat"
    };
    let mut imported = super::imported((Format::Zpool, layout), Vec::new(), &intervals, options, notes)?;
    // What a pool asks is not what its devices do; only devices that were named are set beside others.
    if options.devices.is_empty() {
        for figure in imported.reports.iter_mut().flat_map(|report| &mut report.figures) {
            figure.comparable = None;
        }
    }
    Ok(imported)
}

impl<'t> Reader<'t> {
    fn take(&mut self, line: Line<'t>) -> Result<(), ImportError> {
        let text = line.text;
        if is_titles(text) {
            let titles = tokens(text);
            let count = titles.len() - 1;
            // Without trim and rebuild, ten columns of queues are as many as those of waits.
            if titles.iter().any(|title| ["pend", "activ"].contains(title)) {
                return Err(other(line.number, "the columns of queues (-q) are not read".into()));
            }
            if !COUNTS.contains(&count) {
                return Err(other(
                    line.number,
                    format!("{count} columns are none of a known layout"),
                ));
            }
            self.titles = count;
            return Ok(());
        }
        if is_scripted(text) && self.titles == 0 {
            self.scripted = true;
            let cells: Vec<&str> = text.split('\t').collect();
            return self.row(cells[0], 0, &cells[1..], line);
        }
        let words = tokens(text);
        let rules = text.trim_start().starts_with("---");
        if self.titles == 0 || words.len() != self.titles + 1 || rules {
            return Ok(());
        }
        let indent = text.len() - text.trim_start().len();
        self.row(words[0], indent, &words[1..], line)
    }

    /// The name behind those it is below.
    fn joined(&self, name: &str) -> String {
        let above = self.path.iter().map(|(_, name)| name.as_ref());
        above.chain([name]).collect::<Vec<_>>().join("/")
    }

    fn row(&mut self, name: &'t str, indent: usize, cells: &[&'t str], line: Line<'t>) -> Result<(), ImportError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(ImportError::Other {
                line: line.number,
                what: format!(
                    "{} is a name of {} bytes, and at most {NAME_BYTES_MAX} are read",
                    excerpt(name),
                    name.len()
                ),
                cure: "take it without -P, which prints whole paths, or shorten this name in the text".into(),
            });
        }
        if GROUPS.contains(&name) && cells.iter().all(|cell| *cell == "-") {
            // Printed where a pool is, and it belongs to the pool above it.
            self.path.retain(|(column, _)| *column == 0);
            self.path.push((1, name.into()));
            return Ok(());
        }
        self.path.retain(|(column, _)| *column < indent);
        let mut full = self.joined(name);
        let name = if indent > 0 && KINDS.contains(&name) {
            let count = self.kinds.entry(full.clone()).or_default();
            *count += 1;
            match *count {
                1 => Cow::Borrowed(name),
                // The second mirror of a pool: `tank/mirror:2`.
                count => Cow::Owned(format!("{name}:{count}")),
            }
        } else {
            Cow::Borrowed(name)
        };
        if let Cow::Owned(numbered) = &name {
            full = self.joined(numbered);
        }
        self.path.push((indent, name));
        let again = |interval: &Interval<'_>| interval.rows.first().is_some_and(|(first, _)| *first == full);
        if self.intervals.last().is_none_or(again) {
            self.kinds.clear();
            self.intervals.push(Interval {
                line: line.number,
                titles: COLUMNS[..cells.len()].to_vec(),
                ..Interval::default()
            });
        }
        self.rows += 1;
        self.named += full.len();
        if self.rows > FIGURES_MAX * 4 || self.path.len() > 16 || self.named > TEXT_BYTES_MAX {
            return Err(ImportError::TooLarge { bytes: self.rows });
        }
        let mut values = Vec::new();
        for (title, cell) in COLUMNS.iter().zip(cells) {
            values.push(value(title, cell, line.number)?);
        }
        if let Some(interval) = self.intervals.last_mut() {
            let twice = interval.rows.iter().rev().take(1000).any(|(old, _)| *old == full);
            if twice {
                return Err(other(
                    line.number,
                    format!("{} is here again in the same report", excerpt(&full)),
                ));
            }
            interval.rows.push((Cow::Owned(full), values));
        }
        Ok(())
    }
}

fn other(line: u32, what: String) -> ImportError {
    ImportError::Other {
        line,
        what,
        cure: "take `zpool iostat` of one pool, with no other options than -v, -l, -H, -p, -y".into(),
    }
}

/// `2.84K`, `30ms`, `-`; waits in microseconds.
fn value<'t>(title: &str, cell: &'t str, line: u32) -> Result<Option<Value<'t>>, ImportError> {
    if cell == "-" {
        return Ok(None);
    }
    let end = cell.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (digits, suffix) = cell.split_at(end);
    let number = match number(digits, Commas::Never) {
        Ok(printed) => printed.value,
        Err(Trouble::DecimalComma) => {
            return Err(ImportError::DecimalComma {
                line,
                token: cell.into(),
                cure: super::COMMA_CURE,
            });
        }
        Err(_) => return Err(other(line, format!("{:?} is no number", excerpt(cell)))),
    };
    let waits = title.contains("wait") || ["scrub", "trim", "rebuild"].contains(&title);
    let factor = match (waits, suffix) {
        (true, "" | "ns") => Some(1e-3),
        (true, "us") => Some(1.0),
        (true, "ms") => Some(1e3),
        (true, "s") => Some(1e6),
        (false, "" | "B") => Some(1.0),
        (false, suffix) if suffix.len() == 1 => "KMGTPE".find(suffix).map(|at| 1024f64.powi(at as i32 + 1)),
        _ => None,
    };
    let Some(factor) = factor else {
        return Err(other(line, format!("{:?} has an unknown unit", excerpt(cell))));
    };
    let value = number * factor;
    if !(0.0..=VALUE_MAX).contains(&value) {
        return Err(other(line, format!("{:?} is out of bounds", excerpt(cell))));
    }
    let (value, text) = if waits {
        let (value, text) = rounded(value, if factor < 1.0 { 3 } else { 0 });
        (value, Cow::Owned(text))
    } else {
        (value, Cow::Borrowed(cell))
    };
    Ok(Some(Value { value, text, line }))
}
