//! The tables of a report that are read alike in text and HTML: load profile, I/O profile, events, I/O by function and
//! file type, files. Which table it is, what each column is, which unit a cell has.
//!
//! Takes titles and cells; gives figures. Prevents: columns taken by their place when versions order them differently,
//! and a size whose suffix was cut off read as a number.

use super::kind::Kind;
use crate::error::ImportError;
use crate::figure::{Figure, NAME_BYTES_MAX, Notes, excerpt};
use crate::number::{Printed, printed};
use std::collections::BTreeSet;

/// Most rows of one kind of table.
const ROWS_MAX: usize = 20_000;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// A number, or thousands of them: `2.1M` is 2,100,000.
    Count(&'static str),
    /// Bytes with a suffix of powers of 1024: `135G`. Without one only zero is known.
    Bytes(&'static str),
    /// Milliseconds, or the unit behind the number.
    Time,
    /// Seconds, thousands of them with a suffix.
    Seconds,
    /// A number in this unit.
    Plain(&'static str),
}

/// Titles of a table, with what each column is.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) kind: Kind,
    columns: Vec<Option<(&'static str, Measure)>>,
}

impl Table {
    /// `titles` include that of the name.
    pub(crate) fn new(kind: Kind, titles: &[String]) -> Table {
        let mut direction = "";
        let of = |title: &String| {
            if title.starts_with("reads:") {
                direction = "read";
            } else if title.starts_with("writes:") || (title == "datavolume" && direction == "read") {
                direction = "write";
            } else if title == "datavolume" {
                // Statspack says the direction on the line above only.
                direction = "read";
            }
            column(kind, title, direction)
        };
        Table {
            kind,
            columns: titles.iter().map(of).collect(),
        }
    }
}

impl Table {
    /// Columns behind the name.
    pub(crate) fn count(&self) -> usize {
        self.columns.len().saturating_sub(1)
    }
}

/// What a column is, by its title; `direction`: of the last title that says one.
fn column(kind: Kind, title: &str, direction: &str) -> Option<(&'static str, Measure)> {
    use Measure::{Bytes, Count, Plain, Seconds, Time};
    Some(match kind {
        Kind::Load => match title {
            "persecond" => ("per_s", Plain("/s")),
            "pertransaction" => ("per_transaction", Plain("/transaction")),
            "perexec" => ("per_execution", Plain("/execution")),
            "percall" => ("per_call", Plain("/call")),
            _ => return None,
        },
        Kind::Profile => match title {
            "read+writepersecond" | "read+write/second" => ("total_per_s", Plain("/s")),
            "readpersecond" | "read/second" => ("read_per_s", Plain("/s")),
            "writepersecond" | "write/second" => ("write_per_s", Plain("/s")),
            _ => return None,
        },
        Kind::Top | Kind::Foreground | Kind::Background | Kind::Waits => match title {
            "waits" => ("waits", Count("waits")),
            "time(s)" | "totalwaittime(sec)" | "totalwaittime(s)" | "totalwaittime" => ("time", Seconds),
            "avgwait(ms)" | "waitavg(ms)" | "avgwait" | "avg(ms)" | "avgtime(ms)" => ("mean_wait", Time),
            "%dbtime" => ("share", Plain("% of DB time")),
            "%bgtime" => ("share", Plain("% of background time")),
            "%totalcalltime" | "%totalelatime" | "%calltime" => ("share", Plain("% of call time")),
            "waits/txn" => ("waits_per_transaction", Plain("waits/transaction")),
            _ => return None,
        },
        Kind::Functions | Kind::FileTypes => match (title, direction) {
            ("datavolume", "read") | ("reads:data", _) => ("read_bytes", Bytes("bytes")),
            ("datavolume", "write") | ("writes:data", _) => ("write_bytes", Bytes("bytes")),
            ("reqspersec" | "requests/sec", "read") => ("reads_per_s", Count("requests/s")),
            ("reqspersec" | "requests/sec", "write") => ("writes_per_s", Count("requests/s")),
            ("datapersec" | "datavol/sec", "read") => ("read_bytes_per_s", Bytes("bytes/s")),
            ("datapersec" | "datavol/sec", "write") => ("write_bytes_per_s", Bytes("bytes/s")),
            ("waits:count" | "count", _) => ("waits", Count("waits")),
            ("avgtime" | "avgtm(ms)", _) => ("mean_wait", Time),
            ("smallread" | "smallread(ms)", _) => ("small_read_time", Time),
            ("largeread" | "largeread(ms)", _) => ("large_read_time", Time),
            _ => return None,
        },
        Kind::Files => match super::tablespace::column(title)? {
            (word, "ms") => (word, Time),
            (word, unit) => (word, Plain(unit)),
        },
    })
}

/// Waits of the foreground and background that are of storage; the top events are all taken.
fn is_storage(event: &str) -> bool {
    [
        "db file ",
        "direct path ",
        "log file ",
        "log buffer space",
        "control file ",
        "cell ",
        "Data file init write",
        "Disk file ",
        "read by other session",
        "free buffer waits",
        "write complete waits",
        "buffer busy waits",
        "local write wait",
        "async disk IO",
        "ASM IO ",
        "kfk: async disk IO",
        "Log archive I/O",
        "flashback log file ",
        "change tracking file ",
        "Datapump dump file I/O",
        "RMAN backup",
    ]
    .iter()
    .any(|start| event.starts_with(start))
}

/// Rows of all these tables.
#[derive(Default)]
pub(crate) struct Rows {
    figures: Vec<Figure>,
    seen: BTreeSet<(Kind, String)>,
    kinds: BTreeSet<Kind>,
}

/// A cell and the line it stands on.
pub(crate) type Place<'c> = (Option<&'c str>, u32);

impl Rows {
    /// A row: its name and the cells behind the name, as the titles are ordered.
    pub(crate) fn add(
        &mut self,
        table: &Table,
        name: &str,
        cells: &[Place<'_>],
        notes: &mut Notes,
    ) -> Result<(), ImportError> {
        let kind = table.kind;
        let name = name.trim_end_matches(':');
        let line = cells.first().map_or(0, |cell| cell.1);
        let skipped = matches!(kind, Kind::Foreground | Kind::Background | Kind::Waits) && !is_storage(name);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || skipped {
            return Ok(());
        }
        if self.seen.len() >= ROWS_MAX {
            notes.add(line, "more rows than a report has: left out");
            return Ok(());
        }
        if !self.seen.insert((kind, name.to_string())) {
            notes.add(
                line,
                format!("{:?} is here again in its table: the first counts", excerpt(name)),
            );
            return Ok(());
        }
        let skip = table.columns.len().saturating_sub(cells.len());
        for (column, (cell, line)) in table.columns.iter().skip(skip).zip(cells) {
            let (Some((word, measure)), Some(cell)) = (column, cell) else {
                continue;
            };
            let unit = match measure {
                Measure::Plain(unit) => Measure::Plain(super::load::unit(kind, name, unit)),
                other => *other,
            };
            let full = format!("{}.{name}.{word}", kind.word());
            match figure(full, cell, unit, *line)? {
                Ok(figure) => {
                    self.kinds.insert(kind);
                    self.figures.push(figure);
                }
                Err(_) if *cell == "N/A" || *cell == "-" => {}
                Err(why) => notes.add(*line, format!("{word} of {}: {cell:?} {why}: left out", excerpt(name))),
            }
        }
        Ok(())
    }

    /// True when such a table was there.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Hands over the figures; `counted`: requests are known from the statistics already. True when the load profile
    /// says them.
    pub(crate) fn finish(self, counted: bool, figures: &mut Vec<Figure>) -> bool {
        let from = figures.len();
        let compared = |figure: Figure| {
            if counted { figure } else { super::load::compared(figure) }
        };
        figures.extend(self.figures.into_iter().map(compared));
        figures[from..].iter().any(|figure| figure.comparable.is_some())
    }
}

/// A figure of a cell; `Ok(Err)`: why it is none.
fn figure(name: String, cell: &str, measure: Measure, line: u32) -> Result<Result<Figure, &'static str>, ImportError> {
    if cell.bytes().all(|b| b == b'#') {
        return Ok(Err("did not fit its column"));
    }
    let (digits, suffix) = split(cell);
    let Some(number) = printed(digits.trim_end(), line)? else {
        return Ok(Err("is no number"));
    };
    let power = |base: f64| "KMGTP".find(suffix).map(|at| base.powi(at as i32 + 1));
    let (factor, unit) = match measure {
        Measure::Time => match suffix {
            "" => (1.0, "ms"),
            "ns" => (1.0, "ns"),
            "us" => (1.0, "us"),
            "ms" => (1.0, "ms"),
            "s" => (1.0, "s"),
            _ => return Ok(Err("has an unknown unit")),
        },
        Measure::Plain(unit) if suffix.is_empty() => (1.0, unit),
        Measure::Count(unit) | Measure::Bytes(unit) if suffix.is_empty() => {
            // Some versions cut a size off at seven characters, and with it the suffix.
            if matches!(measure, Measure::Bytes(_)) && number.value != 0.0 {
                return Ok(Err("has lost its unit"));
            }
            (1.0, unit)
        }
        Measure::Seconds if suffix.is_empty() => (1.0, "s"),
        Measure::Count(unit) if suffix.len() == 1 => match power(1000.0) {
            Some(factor) => (factor, unit),
            None => return Ok(Err("has an unknown unit")),
        },
        Measure::Seconds if suffix.len() == 1 => match power(1000.0) {
            Some(factor) => (factor, "s"),
            None => return Ok(Err("has an unknown unit")),
        },
        Measure::Bytes(unit) if suffix.len() == 1 => match power(1024.0) {
            Some(factor) => (factor, unit),
            None => return Ok(Err("has an unknown unit")),
        },
        _ => return Ok(Err("has an unknown unit")),
    };
    let whole = Printed {
        value: number.value * factor,
        text: cell,
    };
    if whole.value.abs() > crate::number::VALUE_MAX {
        return Ok(Err("is too large"));
    }
    Ok(Ok(Figure::new(name, &whole, unit, line)))
}

/// The digits and what stands behind them.
fn split(cell: &str) -> (&str, &str) {
    let end = cell.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    cell.split_at(end)
}

/// A title as tables are found by it: lower case without spaces.
pub(crate) fn normal(title: &str) -> String {
    title
        .chars()
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &str, measure: Measure) -> Option<(f64, &'static str)> {
        figure("x".into(), cell, measure, 1)
            .unwrap()
            .ok()
            .map(|f| (f.value, f.unit))
    }

    #[test]
    fn suffixes() {
        assert_eq!(
            read("135G", Measure::Bytes("bytes")),
            Some((135.0 * 1_073_741_824.0, "bytes"))
        );
        assert_eq!(
            read(".053M", Measure::Bytes("bytes/s")),
            Some((0.053 * 1_048_576.0, "bytes/s"))
        );
        assert_eq!(read("0M", Measure::Bytes("bytes")), Some((0.0, "bytes")));
        assert_eq!(read("2.1M", Measure::Count("waits")), Some((2.1 * 1e6, "waits")));
        assert_eq!(read("30.8K", Measure::Seconds), Some((30_800.0, "s")));
        assert_eq!(read("412.89us", Measure::Time), Some((412.89, "us")));
        assert_eq!(read("3.90", Measure::Time), Some((3.9, "ms")));
        // Seven characters were all the room there was.
        assert_eq!(read("362.100", Measure::Bytes("bytes/s")), None);
        assert_eq!(read("1.5Q", Measure::Count("waits")), None);
        assert_eq!(read("######", Measure::Plain("x")), None);
        assert!(figure("x".into(), "1,5", Measure::Plain("x"), 7).is_err());
    }
}
