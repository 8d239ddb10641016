//! Tables of runs: one row a run. Two kinds: titles like `test reads1 avtm1 reads2 avtm2 writes1 writes2 comp update`
//! (a number behind a title is the instance), and the bars of SLOB's `awr_info` (`FILE|SESSIONS|ELAPSED|...`).
//!
//! Takes lines; gives a report a row, only of those rows that were asked for. Prevents: eighteen runs of six kinds put
//! into one mean, and the rate of one instance taken for that of the cluster.

use crate::error::ImportError;
use crate::figure::{Fact, Figure, Notes, Quantity, Report, excerpt};
use crate::format::Options;
use crate::lines::{Line, tokens};
use crate::number::{first_number, rounded};
use std::collections::BTreeMap;

/// Most rows of a table.
const ROWS_MAX: usize = 10_000;

#[derive(Default)]
pub(crate) struct Tables {
    titles: Vec<String>,
    bars: bool,
    pub(crate) reports: Vec<Report>,
}

/// `reads2` is (`reads`, 2).
fn by_instance(title: &str) -> Option<(&str, &str)> {
    let word = title.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = ["reads", "avtm", "writes"].contains(&word);
    known.then(|| (word, &title[word.len()..]))
}

/// True for the titles of a table by instance.
pub(crate) fn is_title(line: &str) -> bool {
    let words = tokens(line);
    words.first().is_some_and(|w| w.eq_ignore_ascii_case("test"))
        && words
            .iter()
            .filter(|w| by_instance(&w.to_ascii_lowercase()).is_some())
            .count()
            >= 2
}

/// A column between bars: name, unit, quantity.
fn bar_column(title: &str) -> Option<(&'static str, &'static str, Option<Quantity>)> {
    Some(match title {
        SESSIONS => ("sessions", "sessions", None),
        "ELAPSED" => ("elapsed", "s", Some(Quantity::ElapsedS)),
        "DB CPU" => ("db_cpu", "s/s", None),
        "DB Tm" => ("db_time", "s/s", None),
        "EXECUTES" => ("executes", "/s", None),
        "LIO" => ("logical_reads", "blocks/s", None),
        // Of `physical read IO requests` and `physical write IO requests`, in awr_info.sh of 2014.
        "PREADS" => ("physical_reads", "requests/s", Some(Quantity::ReadsPerS)),
        "READ_MBS" => ("read_mb", "MB/s", None),
        "PWRITES" => ("physical_writes", "requests/s", Some(Quantity::WritesPerS)),
        "WRITE_MBS" => ("write_mb", "MB/s", None),
        "REDO_MBS" => ("redo_mb", "MB/s", None),
        "DFSR_LAT" => ("db_file_sequential_read", "as printed", None),
        "DPR_LAT" => ("direct_path_read", "as printed", None),
        "DFPR_LAT" => ("db_file_parallel_read", "as printed", None),
        "DFPW_LAT" => ("db_file_parallel_write", "as printed", None),
        "LFPW_LAT" => ("log_file_parallel_write", "as printed", None),
        _ => return None,
    })
}

/// Waits for reads of several blocks at a time. A `db file parallel read` is of as many requests as blocks.
const OF_SEVERAL_BLOCKS: [&str; 2] = ["direct path read", "db file scattered read"];

/// The column of the mean time of the first of them, and that of the longest wait by its name.
const DIRECT_READS: &str = "DPR_LAT";
const TOP_WAIT: &str = "TOP WAIT";

/// How many played at a time.
const SESSIONS: &str = "SESSIONS";

impl Tables {
    /// True when rates of `awr_info` are set beside others.
    pub(crate) fn has_marked_bars(&self) -> bool {
        let marked = |report: &Report, name: &str| report.figure(name).is_some_and(|f| f.comparable.is_some());
        let rates = ["physical_reads", "physical_writes"];
        self.reports
            .iter()
            .any(|report| rates.iter().any(|name| marked(report, name)))
    }

    /// The wait of a row that shows reads of several blocks.
    fn of_several_blocks(&self, cells: &[&str], line: u32) -> Result<Option<&'static str>, ImportError> {
        let [direct, ..] = OF_SEVERAL_BLOCKS;
        for (title, cell) in self.titles.iter().zip(cells) {
            if title == DIRECT_READS && first_number(cell, line)?.is_some_and(|mean| mean.value > 0.0) {
                return Ok(Some(direct));
            }
            let longest = OF_SEVERAL_BLOCKS.into_iter().find(|wait| cell.starts_with(wait));
            if title == TOP_WAIT && longest.is_some() {
                return Ok(longest);
            }
        }
        Ok(None)
    }

    /// The cells that say which load a row is of.
    fn load(&self, cells: &[&str], line: u32, says: impl Fn(&String) -> bool) -> Vec<Fact> {
        let cells = self.titles.iter().zip(cells);
        let fact = |(title, cell): (&String, &&str)| Fact {
            name: excerpt(title),
            value: excerpt(cell),
            line,
        };
        cells.filter(|(title, _)| says(title)).map(fact).collect()
    }

    /// True when the line was part of a table.
    pub(crate) fn take(&mut self, line: Line<'_>, options: &Options, notes: &mut Notes) -> Result<bool, ImportError> {
        let text = line.text.trim();
        if text.starts_with("FILE|") {
            self.bars = true;
            self.titles = text.split('|').map(|t| t.trim().to_string()).take(64).collect();
            return Ok(true);
        }
        if is_title(text) {
            self.bars = false;
            self.titles = tokens(text).into_iter().map(str::to_ascii_lowercase).collect();
            return Ok(true);
        }
        if self.titles.is_empty() {
            return Ok(false);
        }
        let cells: Vec<&str> = match self.bars {
            true if text.contains('|') => text.split('|').map(str::trim).take(64).collect(),
            false => tokens(text),
            true => Vec::new(),
        };
        let fits = cells.len() == self.titles.len() && (self.bars || first_number(cells[0], line.number)?.is_some());
        if !fits {
            if !text.is_empty() {
                self.titles.clear();
            }
            return Ok(false);
        }
        let wanted = |(column, value): &(String, String)| {
            self.titles
                .iter()
                .zip(&cells)
                .any(|(title, cell)| title.eq_ignore_ascii_case(column) && cell.eq_ignore_ascii_case(value))
        };
        if !options.rows.iter().all(wanted) {
            return Ok(true);
        }
        if self.reports.len() >= ROWS_MAX {
            return Err(ImportError::TooLarge { bytes: ROWS_MAX });
        }
        let report = if self.bars {
            self.between_bars(&cells, line.number, notes)?
        } else {
            self.by_instance(&cells, line.number, notes)?
        };
        self.reports.push(report);
        Ok(true)
    }

    fn between_bars(&self, cells: &[&str], line: u32, notes: &mut Notes) -> Result<Report, ImportError> {
        let mut figures = Vec::new();
        let several = self.of_several_blocks(cells, line)?;
        if let Some(wait) = several {
            notes.add(
                line,
                format!("{wait} moves several blocks, and PREADS may count blocks: set beside nothing"),
            );
        }
        for (title, cell) in self.titles.iter().zip(cells) {
            let Some((name, unit, quantity)) = bar_column(title) else {
                continue;
            };
            let quantity = quantity.filter(|quantity| *quantity != Quantity::ReadsPerS || several.is_none());
            let Some(printed) = first_number(cell, line)? else {
                notes.add(line, format!("{title}: {:?} is no number", excerpt(cell)));
                continue;
            };
            let figure = Figure::new(name, &printed, unit, line);
            figures.push(match quantity {
                Some(quantity) => figure.of_quantity(quantity, 1.0),
                None => figure,
            });
        }
        Ok(Report {
            label: excerpt(cells[0]),
            figures,
            load: self.load(cells, line, |title| title == SESSIONS),
        })
    }

    fn by_instance(&self, cells: &[&str], line: u32, notes: &mut Notes) -> Result<Report, ImportError> {
        let mut figures = Vec::new();
        let mut instances: BTreeMap<&str, Instance> = BTreeMap::new();
        let mut digits = 0;
        for (title, cell) in self.titles.iter().zip(cells).skip(1) {
            let Some((word, instance)) = by_instance(title) else {
                continue;
            };
            let number = if instance.is_empty() { "1" } else { instance };
            let instance = instances.entry(number).or_default();
            let (name, unit, place) = match word {
                "reads" => ("reads_per_s", "/s", &mut instance.reads),
                "writes" => ("writes_per_s", "/s", &mut instance.writes),
                _ => ("read_time", "ms", &mut instance.time),
            };
            let Some(printed) = first_number(cell, line)? else {
                *place = Cell::Missing;
                notes.add(line, format!("{title}: {:?} is no number", excerpt(cell)));
                continue;
            };
            *place = Cell::Number(printed.value);
            if word == "reads" {
                digits = digits.max(crate::number::decimals(printed.text));
            }
            figures.push(Figure::new(format!("instance.{number}.{name}"), &printed, unit, line));
        }
        let all: Vec<Instance> = instances.into_values().filter(Instance::took_part).collect();
        let (reads, writes) = (sum(&all, |one| one.reads), sum(&all, |one| one.writes));
        let sums = [
            ("reads_per_s", reads, digits, "/s", Quantity::ReadsPerS, 1.0),
            ("writes_per_s", writes, digits, "/s", Quantity::WritesPerS, 1.0),
            ("read_time", mean_time(&all), 3, "ms", Quantity::ReadNs, 1e6),
        ];
        figures.extend(sums.into_iter().filter_map(|sum| of_all(sum, line)));
        Ok(Report {
            label: format!("{} {}", self.titles[0], excerpt(cells[0])),
            figures,
            load: self.load(cells, line, |title| {
                by_instance(title).is_none() && *title != self.titles[0]
            }),
        })
    }
}

/// What stands in a row under a title of one instance.
#[derive(Clone, Copy, Default)]
enum Cell {
    /// The table has no such title.
    #[default]
    NoTitle,
    /// No number.
    Missing,
    Number(f64),
}

/// The cells of one instance: reads and writes per second, and the mean time of a read, ms.
#[derive(Default)]
struct Instance {
    reads: Cell,
    writes: Cell,
    time: Cell,
}

impl Instance {
    /// An instance without any number was not there in this run.
    fn took_part(&self) -> bool {
        let cells = [self.reads, self.writes, self.time];
        cells.iter().any(|cell| matches!(cell, Cell::Number(_)))
    }
}

/// The sum over instances; `None`: no instance has a number, or one that took part lacks it.
fn sum(instances: &[Instance], of: impl Fn(&Instance) -> Cell) -> Option<f64> {
    let mut sum = None;
    for instance in instances {
        match of(instance) {
            Cell::Number(value) => sum = Some(sum.unwrap_or(0.0) + value),
            Cell::Missing => return None,
            Cell::NoTitle => {}
        }
    }
    sum
}

/// The mean time of a read of all instances, ms, weighted by their reads; `None`: one has reads or a time alone.
fn mean_time(instances: &[Instance]) -> Option<f64> {
    let (mut reads, mut waited) = (0.0, 0.0);
    for instance in instances {
        match (instance.reads, instance.time) {
            (Cell::Number(count), Cell::Number(time)) => {
                reads += count;
                waited += count * time;
            }
            // Who reads nothing has no time, and no weight.
            (Cell::Number(0.0), _) | (Cell::NoTitle | Cell::Missing, Cell::NoTitle | Cell::Missing) => {}
            _ => return None,
        }
    }
    (reads > 0.0).then(|| waited / reads).filter(|mean| *mean > 0.0)
}

/// A figure of all instances together: name, value, digits after the point, unit, quantity and factor to its unit.
fn of_all(sum: (&str, Option<f64>, usize, &'static str, Quantity, f64), line: u32) -> Option<Figure> {
    let (name, value, digits, unit, quantity, factor) = sum;
    let (value, text) = rounded(value.filter(|value| value.is_finite())?, digits);
    let figure = Figure {
        name: format!("all instances.{name}"),
        value,
        text,
        unit,
        line,
        comparable: None,
    };
    Some(figure.of_quantity(quantity, factor))
}
