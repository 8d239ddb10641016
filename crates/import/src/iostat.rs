//! `iostat -x` as text: sysstat's columns of all versions (Linux), Solaris `-x` and `-xn`, with titles or cut without.
//!
//! Takes text; gives figures by device, each the mean over the intervals, and their sum over the devices that were
//! asked for. The first of several reports is the average since boot and is left out, and said to be. Prevents: that
//! average taken for a measurement, and the same bytes counted on a disk and again on what lies on it.

use crate::detect::is_iostat;
use crate::error::ImportError;
use crate::figure::{Comparable, Fact, Figure, Imported, Notes, Quantity, Report, excerpt};
use crate::format::{Format, Options};
use crate::lines::{Line, lines, tokens};
use crate::number::{Commas, Trouble, decimals, number, rounded};
use std::collections::BTreeMap;

const COMMA_CURE: &str = "run it as `LC_ALL=C iostat -x ...`, which prints points";

/// Titles of Solaris `iostat -xn`, for rows that were cut out without them.
const SOLARIS_XN: [&str; 11] = [
    "r/s", "w/s", "kr/s", "kw/s", "wait", "actv", "wsvc_t", "asvc_t", "%w", "%b", "device",
];

/// Most devices of one text.
const DEVICES_MAX: usize = 10_000;

/// How values of a column are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Over time: a rate, a queue, a share.
    Time,
    /// By reads, by writes, by both: the mean of a request.
    Reads,
    Writes,
    Both,
}

/// A known column: its unit, its weight, and the quantity that its sum is, with the factor to base units.
type Known = (&'static str, Weight, Option<(Quantity, f64)>);

/// The column of that title.
fn column(title: &str) -> Option<Known> {
    use Quantity::{DeviceReadBytesPerS, DeviceReadsPerS, DeviceWriteBytesPerS, DeviceWritesPerS};
    let bytes = |factor: f64, quantity| Some((quantity, factor));
    Some(match title {
        "r/s" => ("requests/s", Weight::Time, bytes(1.0, DeviceReadsPerS)),
        "w/s" => ("requests/s", Weight::Time, bytes(1.0, DeviceWritesPerS)),
        "d/s" | "f/s" | "rrqm/s" | "wrqm/s" | "drqm/s" => ("requests/s", Weight::Time, None),
        "rkB/s" | "kr/s" => ("KiB/s", Weight::Time, bytes(1024.0, DeviceReadBytesPerS)),
        "wkB/s" | "kw/s" => ("KiB/s", Weight::Time, bytes(1024.0, DeviceWriteBytesPerS)),
        "rMB/s" | "Mr/s" => ("MiB/s", Weight::Time, bytes(1_048_576.0, DeviceReadBytesPerS)),
        "wMB/s" | "Mw/s" => ("MiB/s", Weight::Time, bytes(1_048_576.0, DeviceWriteBytesPerS)),
        "rsec/s" => ("sectors/s", Weight::Time, bytes(512.0, DeviceReadBytesPerS)),
        "wsec/s" => ("sectors/s", Weight::Time, bytes(512.0, DeviceWriteBytesPerS)),
        "dkB/s" => ("KiB/s", Weight::Time, None),
        "dMB/s" => ("MiB/s", Weight::Time, None),
        "dsec/s" => ("sectors/s", Weight::Time, None),
        "wait" | "actv" | "avgqu-sz" | "aqu-sz" => ("requests", Weight::Time, None),
        "%util" | "%w" | "%b" | "%rrqm" | "%wrqm" | "%drqm" => ("%", Weight::Time, None),
        "r_await" => ("ms", Weight::Reads, None),
        "w_await" => ("ms", Weight::Writes, None),
        "await" | "svctm" | "svc_t" | "asvc_t" | "wsvc_t" => ("ms", Weight::Both, None),
        "d_await" | "f_await" => ("ms", Weight::Time, None),
        "avgrq-sz" => ("sectors", Weight::Both, None),
        "areq-sz" => ("KiB", Weight::Both, None),
        "rareq-sz" => ("KiB", Weight::Reads, None),
        "wareq-sz" => ("KiB", Weight::Writes, None),
        "dareq-sz" => ("KiB", Weight::Time, None),
        _ => return None,
    })
}

/// One value of one device in one interval.
#[derive(Clone, Copy)]
struct Value<'t> {
    value: f64,
    text: &'t str,
    line: u32,
}

/// One report of iostat: by device, the values in the order of the titles.
#[derive(Default)]
struct Interval<'t> {
    line: u32,
    titles: Vec<&'t str>,
    rows: Vec<(&'t str, Vec<Option<Value<'t>>>)>,
    /// Idle and waiting for I/O, in percent.
    idle: Option<(f64, u32)>,
}

#[derive(Default)]
struct Reader<'t> {
    intervals: Vec<Interval<'t>>,
    banner: Option<Line<'t>>,
    cpu: Option<Vec<&'t str>>,
    /// Idle of the interval that begins with the next titles.
    idle: Option<(f64, u32)>,
    name: Option<&'t str>,
    untitled: bool,
    rows: usize,
}

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut notes = Notes::default();
    for line in lines(text) {
        reader.take(line, &mut notes)?;
    }
    let mut facts = Vec::new();
    if let Some(banner) = reader.banner {
        facts.push(Fact {
            name: "system".into(),
            value: excerpt(banner.text),
            line: banner.number,
        });
    }
    let layout = reader.layout();
    let used = reader.used(options, &mut notes)?;
    let figures = figures(&used, options, &mut notes)?;
    Ok(Imported {
        format: Format::Iostat,
        layout,
        facts,
        reports: vec![Report {
            label: String::new(),
            figures,
        }],
        notes: notes.finish(),
    })
}

impl<'t> Reader<'t> {
    fn take(&mut self, line: Line<'t>, notes: &mut Notes) -> Result<(), ImportError> {
        let words = tokens(line.text);
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return Ok(());
        };
        if line.text.starts_with("Linux ") && line.text.contains('(') {
            self.banner = self.banner.or(Some(line));
            return Ok(());
        }
        if *first == "avg-cpu:" {
            self.cpu = Some(words[1..].to_vec());
            return Ok(());
        }
        if let Some(titles) = self.cpu.take() {
            return self.processors(&titles, &words, line.number);
        }
        let titled = first.trim_end_matches(':').eq_ignore_ascii_case("device") || *last == "device";
        if titled && words.contains(&"tps") && !words.contains(&"r/s") {
            return Err(ImportError::Other {
                line: line.number,
                what: "this is iostat without -x: it does not tell reads from writes by request".into(),
                cure: "take it with `iostat -x`".into(),
            });
        }
        if titled && words.contains(&"r/s") {
            self.begin(words, line.number, notes);
            return Ok(());
        }
        if self.intervals.is_empty() && is_iostat(line.text) {
            self.untitled = true;
            self.begin(SOLARIS_XN.to_vec(), line.number, notes);
        }
        if self.intervals.is_empty() {
            return Ok(());
        }
        self.row(words, line, notes)
    }

    fn begin(&mut self, titles: Vec<&'t str>, line: u32, notes: &mut Notes) {
        let fresh = self.intervals.last().is_none_or(|old| old.titles != titles);
        for title in titles.iter().filter(|_| fresh) {
            if column(title).is_none() && !title.trim_end_matches(':').eq_ignore_ascii_case("device") {
                notes.add(line, format!("column {:?} is not known: left out", excerpt(title)));
            }
        }
        self.name = None;
        self.intervals.push(Interval {
            line,
            titles,
            rows: Vec::new(),
            idle: self.idle.take(),
        });
    }

    fn processors(&mut self, titles: &[&str], words: &[&str], line: u32) -> Result<(), ImportError> {
        let mut idle = 0.0;
        let mut found = false;
        for (title, word) in titles.iter().zip(words) {
            if let Some(value) = value(word, line)?
                && (*title == "%idle" || *title == "%iowait")
            {
                idle += value.value;
                found |= *title == "%idle";
            }
        }
        self.idle = found.then_some((idle, line));
        Ok(())
    }

    fn row(&mut self, words: Vec<&'t str>, line: Line<'t>, notes: &mut Notes) -> Result<(), ImportError> {
        let Some(interval) = self.intervals.last_mut() else {
            return Ok(());
        };
        let wide = interval.titles.len();
        let last = interval.titles.last() == Some(&"device");
        let numeric = |words: &[&str]| {
            words
                .iter()
                .all(|word| !matches!(number(word, Commas::Never), Err(Trouble::NoNumber)))
        };
        let (name, numbers) = if words.len() == wide && last && numeric(&words[..wide - 1]) {
            (words[wide - 1], words[..wide - 1].to_vec())
        } else if words.len() == wide && !last && numeric(&words[1..]) {
            (words[0], words[1..].to_vec())
        } else if words.len() == wide - 1 && numeric(&words) && self.name.is_some() {
            // A name too long for its column stands on a line of its own above its numbers.
            (self.name.take().unwrap_or_default(), words)
        } else if words.len() == 1 && !numeric(&words) {
            self.name = Some(words[0]);
            return Ok(());
        } else {
            self.name = None;
            if !is_furniture(line.text) {
                notes.add(
                    line.number,
                    format!("{:?} is no row of these columns: left out", excerpt(line.text)),
                );
            }
            return Ok(());
        };
        self.name = None;
        let mut values = Vec::new();
        for word in numbers {
            let value = value(word, line.number)?;
            // Counters that ran over make such rates.
            let above = value.filter(|value| value.value >= 0.0);
            if value.is_some() && above.is_none() {
                notes.add(
                    line.number,
                    format!("{}: {word} is below zero: left out", excerpt(name)),
                );
            }
            values.push(above);
        }
        if last {
            values.push(None);
        } else {
            values.insert(0, None);
        }
        self.rows += 1;
        if self.rows > crate::format::FIGURES_MAX * 4 {
            return Err(ImportError::TooLarge { bytes: self.rows });
        }
        interval.rows.push((name, values));
        Ok(())
    }

    fn layout(&self) -> String {
        let Some(first) = self.intervals.first() else {
            return "iostat".into();
        };
        let solaris = first.titles.contains(&"kr/s") || first.titles.contains(&"Mr/s");
        match (solaris, self.untitled, first.titles.last() == Some(&"device")) {
            (true, true, _) => "iostat -xn of Solaris, titles cut off: taken by its ten numbers and a device".into(),
            (true, _, true) => "iostat -xn of Solaris".into(),
            (true, ..) => "iostat -x of Solaris".into(),
            _ if first.titles.contains(&"aqu-sz") => "iostat -x of Linux (sysstat 12)".into(),
            _ => "iostat -x of Linux (sysstat before 12)".into(),
        }
    }

    /// The intervals that count.
    fn used(self, options: &Options, notes: &mut Notes) -> Result<Vec<Interval<'t>>, ImportError> {
        let mut intervals: Vec<Interval<'_>> = self.intervals.into_iter().filter(|i| !i.rows.is_empty()).collect();
        if options.keep_first || intervals.is_empty() {
            return Ok(intervals);
        }
        if intervals.len() > 1 {
            let first = intervals.remove(0);
            notes.add(
                first.line,
                "the first report is the average since boot: left out".to_string(),
            );
            notes.add(0, format!("means over {} intervals", intervals.len()));
        } else if self.banner.is_some() {
            return Err(ImportError::SinceBoot {
                line: intervals[0].line,
            });
        } else {
            notes.add(
                intervals[0].line,
                "one report cut out of its log: whether it is an interval or the average since boot cannot be told",
            );
        }
        Ok(intervals)
    }
}

/// Lines that stand between rows and say nothing.
fn is_furniture(text: &str) -> bool {
    text.contains("extended device statistics") || text.contains(':')
}

fn value(word: &str, line: u32) -> Result<Option<Value<'_>>, ImportError> {
    match number(word, Commas::Never) {
        Ok(printed) => Ok(Some(Value {
            value: printed.value,
            text: printed.text,
            line,
        })),
        Err(Trouble::DecimalComma) => Err(ImportError::DecimalComma {
            line,
            token: word.into(),
            cure: COMMA_CURE,
        }),
        Err(_) => Ok(None),
    }
}

/// `sd*` is every name that begins with `sd`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// Sums over time and requests of one column of one device.
#[derive(Default)]
struct Column<'t> {
    sum: f64,
    weights: f64,
    first: Option<Value<'t>>,
    decimals: usize,
}

fn figures(intervals: &[Interval<'_>], options: &Options, notes: &mut Notes) -> Result<Vec<Figure>, ImportError> {
    let mut order: Vec<&str> = Vec::new();
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in intervals.iter().flat_map(|interval| &interval.rows) {
        let wanted = options.devices.is_empty() || options.devices.iter().any(|pattern| matches(pattern, name));
        if wanted && !place.contains_key(name) {
            if order.len() == DEVICES_MAX {
                return Err(ImportError::TooLarge { bytes: order.len() });
            }
            place.insert(name, order.len());
            order.push(name);
        }
    }
    for pattern in &options.devices {
        if !order.iter().any(|name| matches(pattern, name)) {
            return Err(ImportError::Absent {
                what: format!("no device is named {pattern:?} in this iostat"),
                cure: "name devices as the text does; NAME* takes all that begin so".into(),
            });
        }
    }
    let columns = collect(intervals, &place, order.len());
    let mut figures = Vec::new();
    for (name, columns) in order.iter().zip(&columns) {
        for (title, column) in columns {
            figures.extend(mean(&format!("device.{name}.{title}"), title, column, intervals.len()));
        }
    }
    if order.len() == 1 || !options.devices.is_empty() {
        figures.extend(totals(&order, &columns, intervals.len()));
    } else if order.len() > 1 {
        notes.add(
            0,
            "no sum over devices, for one may lie on another: say --device for each that counts",
        );
    }
    figures.extend(idle(intervals));
    Ok(figures)
}

type Columns<'t> = Vec<(&'t str, Column<'t>)>;

/// By device, its columns in the order of the titles.
fn collect<'t>(intervals: &[Interval<'t>], place: &BTreeMap<&str, usize>, devices: usize) -> Vec<Columns<'t>> {
    let mut all: Vec<Columns<'t>> = (0..devices).map(|_| Vec::new()).collect();
    for interval in intervals {
        for (name, values) in &interval.rows {
            let Some(columns) = place.get(name).map(|index| &mut all[*index]) else {
                continue;
            };
            let of = |title: &str| {
                let index = interval.titles.iter().position(|t| *t == title)?;
                values.get(index).copied().flatten().map(|v| v.value)
            };
            let (reads, writes) = (of("r/s").unwrap_or(0.0), of("w/s").unwrap_or(0.0));
            for (title, value) in interval.titles.iter().zip(values) {
                let (Some((_, weight, _)), Some(value)) = (column(title), value) else {
                    continue;
                };
                let weight = match weight {
                    Weight::Time => 1.0,
                    Weight::Reads => reads,
                    Weight::Writes => writes,
                    Weight::Both => reads + writes,
                };
                let index = columns.iter().position(|(t, _)| t == title).unwrap_or_else(|| {
                    columns.push((title, Column::default()));
                    columns.len() - 1
                });
                let column = &mut columns[index].1;
                column.sum += value.value * weight;
                column.weights += weight;
                column.first = column.first.or(Some(*value));
                column.decimals = column.decimals.max(decimals(value.text));
            }
        }
    }
    all
}

/// The mean of a column; a device that is not listed in an interval (`-z`) did nothing in it.
fn mean(name: &str, title: &str, sums: &Column<'_>, intervals: usize) -> Option<Figure> {
    let (unit, weight, _) = column(title)?;
    let first = sums.first?;
    let over = match weight {
        Weight::Time => intervals as f64,
        _ => sums.weights,
    };
    let (value, text) = if intervals == 1 {
        (first.value, first.text.to_string())
    } else if over > 0.0 {
        rounded(sums.sum / over, sums.decimals)
    } else {
        rounded(0.0, sums.decimals)
    };
    Some(Figure {
        name: name.into(),
        value,
        text,
        unit,
        line: first.line,
        comparable: None,
    })
}

/// Sums over devices, of the columns that can be summed.
fn totals(names: &[&str], columns: &[Columns<'_>], intervals: usize) -> Vec<Figure> {
    let mut totals: Vec<Figure> = Vec::new();
    let Some(first) = columns.first() else { return totals };
    for (title, _) in first {
        let Some((unit, _, Some((quantity, factor)))) = column(title) else {
            continue;
        };
        let of: Vec<&Column<'_>> = columns
            .iter()
            .filter_map(|columns| columns.iter().find(|(t, _)| t == title).map(|(_, c)| c))
            .collect();
        let digits = of.iter().map(|c| c.decimals).max().unwrap_or(0);
        let sum: f64 = of.iter().map(|c| c.sum).sum::<f64>() / intervals.max(1) as f64;
        let (value, text) = rounded(sum, digits);
        let line = of.iter().filter_map(|c| c.first).map(|v| v.line).min().unwrap_or(0);
        totals.push(Figure {
            name: format!("devices.{}.{title}", names.len()),
            value,
            text,
            unit,
            line,
            comparable: Some(Comparable {
                quantity,
                value: value * factor,
            }),
        });
    }
    totals
}

fn idle(intervals: &[Interval<'_>]) -> Option<Figure> {
    let found: Vec<(f64, u32)> = intervals.iter().filter_map(|interval| interval.idle).collect();
    let (_, line) = *found.first()?;
    let (value, text) = rounded(found.iter().map(|(v, _)| v).sum::<f64>() / found.len() as f64, 2);
    let figure = Figure {
        name: "cpu.idle and iowait".into(),
        value,
        text,
        unit: "%",
        line,
        comparable: None,
    };
    Some(figure.of_quantity(Quantity::CpuIdleShare, 0.01))
}
