//! Oracle's AWR report as text: its head, the statistics of physical I/O, the I/O of the tablespaces, the idle share of
//! the host. Whole reports of 10g to 19c, and pieces cut out of one by a script.
//!
//! Takes text, gives one report. Which figure may be compared: requests and bytes from the statistics, latency from the
//! tablespace with the most I/O (or the one named). Prevents: blocks taken for requests, the latency of the undo
//! tablespace taken for that of the data, and a report of a cluster read as if it were of one instance.

use crate::awr_statistics::Statistics;
use crate::awr_tablespace::Tablespaces;
use crate::columns::{Columns, is_dashes, is_end};
use crate::error::ImportError;
use crate::figure::{Fact, Figure, Imported, Notes, Quantity, Report};
use crate::format::{Format, Options};
use crate::lines::{Line, lines, tokens};
use crate::number::printed;

/// Lines of titles above dashes, at most.
const TITLES_MAX: usize = 4;

/// Where the reader is.
#[derive(Default)]
struct Reader<'t> {
    facts: Vec<Fact>,
    figures: Vec<Figure>,
    titles: Vec<&'t str>,
    /// A table whose next row holds facts of the head or the idle share.
    head: Option<Columns>,
    heads: u32,
}

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut notes = Notes::default();
    let mut spaces = Tablespaces::default();
    let mut statistics = Statistics::default();
    for line in lines(text) {
        reader.refuse(line)?;
        if let Some(fact) = spaces.heading(line) {
            reader.fact(fact);
            continue;
        }
        if is_end(line.text) || line.text.contains("DB/Inst:") {
            spaces.leave();
            reader.titles.clear();
            continue;
        }
        if statistics.take(line, &mut notes)? {
            spaces.leave();
            continue;
        }
        if spaces.take(line, &mut notes)? {
            continue;
        }
        reader.take(line)?;
    }
    let blocks = spaces.layout();
    let mut figures = reader.figures;
    let counted = statistics.finish(&mut figures);
    spaces.finish(options.tablespace.as_deref(), counted, &mut figures, &mut notes)?;
    let layout = match (counted, blocks) {
        (true, Some(blocks)) => format!("AWR text, statistics and tablespaces ({blocks})"),
        (true, None) => "AWR text, statistics".into(),
        (false, Some(blocks)) => format!("AWR text, tablespaces ({blocks})"),
        (false, None) => "AWR text, head only".into(),
    };
    if !counted && blocks.is_none() {
        // A head alone says nothing of storage.
        figures.clear();
    }
    Ok(Imported {
        format: Format::Awr,
        layout,
        facts: reader.facts,
        reports: vec![Report {
            label: String::new(),
            figures,
        }],
        notes: notes.finish(),
    })
}

impl<'t> Reader<'t> {
    fn fact(&mut self, fact: Fact) {
        if !self.facts.iter().any(|old| old.name == fact.name) {
            self.facts.push(fact);
        }
    }

    /// What looks alike and is not.
    fn refuse(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let text = line.text.trim_start();
        if !text.starts_with("WORKLOAD REPOSITORY") {
            return Ok(());
        }
        let other = |what: &str, cure: &str| {
            Err(ImportError::Other {
                line: line.number,
                what: what.into(),
                cure: cure.into(),
            })
        };
        if text.contains("COMPARE") {
            return other(
                "this report compares two periods",
                "make a report of each period (awrrpt.sql) and import both",
            );
        }
        if text.contains("(RAC)") || text.contains("GLOBAL") {
            return other(
                "this is the report of a whole cluster, whose tables are by instance",
                "make a report of each instance (awrrpti.sql) and import each as a stack of its own (--stack)",
            );
        }
        self.heads += 1;
        if self.heads > 1 {
            return other(
                "a second report begins here",
                "cut the file between the reports and import each by itself",
            );
        }
        Ok(())
    }

    /// The head of the report, and the table of the host's processors.
    fn take(&mut self, line: Line<'t>) -> Result<(), ImportError> {
        let text = line.text.trim_start();
        for (word, name) in [("Elapsed:", "elapsed"), ("DB Time:", "db_time")] {
            if let Some(rest) = text.strip_prefix(word) {
                self.minutes(name, rest, line)?;
            }
        }
        if is_dashes(line.text) {
            let columns = Columns::new(line.text, &self.titles);
            self.titles.clear();
            let wanted = ["release", "instance", "host", "hostname", "%idle"];
            let known = columns.titles.iter().any(|title| wanted.contains(&title.as_str()));
            self.head = known.then_some(columns);
            return Ok(());
        }
        if text.is_empty() {
            self.titles.clear();
            return Ok(());
        }
        if let Some(columns) = self.head.take() {
            return self.row(&columns, line);
        }
        if self.titles.len() == TITLES_MAX {
            self.titles.remove(0);
        }
        self.titles.push(line.text);
        Ok(())
    }

    fn row(&mut self, columns: &Columns, line: Line<'_>) -> Result<(), ImportError> {
        for (index, title) in columns.titles.iter().enumerate() {
            let name = match title.as_str() {
                "release" => "release",
                "instance" => "instance",
                "host" | "hostname" => "host",
                "platform" => "platform",
                "cpus" => "cpus",
                "memory(gb)" => "memory_gb",
                "%idle" => {
                    let cell = columns.cells(line.text, false).and_then(|cells| cells[index]);
                    let Some(printed) = cell.and_then(|cell| printed(cell, line.number).transpose()) else {
                        continue;
                    };
                    if !self.figures.iter().any(|old| old.name == "host_cpu.idle") {
                        let figure = Figure::new("host_cpu.idle", &printed?, "%", line.number);
                        self.figures.push(figure.of_quantity(Quantity::CpuIdleShare, 0.01));
                    }
                    continue;
                }
                _ => continue,
            };
            if let Some(value) = columns.below(line.text, index) {
                self.fact(Fact {
                    name: name.into(),
                    value: value.into(),
                    line: line.number,
                });
            }
        }
        Ok(())
    }

    /// `Elapsed:  5.07 (mins)`.
    fn minutes(&mut self, name: &str, rest: &str, line: Line<'_>) -> Result<(), ImportError> {
        let words = tokens(rest);
        if !words.get(1).is_some_and(|unit| unit.starts_with("(min")) || self.figures.iter().any(|f| f.name == name) {
            return Ok(());
        }
        if let Some(printed) = printed(words[0], line.number)? {
            let figure = Figure::new(name, &printed, "min", line.number);
            self.figures.push(match name {
                "elapsed" => figure.of_quantity(Quantity::ElapsedS, 60.0),
                _ => figure,
            });
        }
        Ok(())
    }
}
