//! What sysbench prints: SQL and file statistics, latencies, lines of intervals. Versions 0.5 to 1.1.
//!
//! Takes text; gives one report. Prevents: two runs read as one, and the rate of another section taken for this one's.

use super::{figure, plain};
use crate::error::ImportError;
use crate::figure::{Fact, Figure, Imported, Notes, Quantity, Report, excerpt};
use crate::format::Format;
use crate::lines::{Line, lines, tokens};

/// True for a line that only sysbench prints.
pub(crate) fn is_sysbench(line: &str) -> bool {
    line.starts_with("General statistics:")
        || line.starts_with("Threads fairness:")
        || line.starts_with('[') && (line.contains("] thds: ") || line.contains("] threads: "))
        || line.starts_with("sysbench ") && line.contains("LuaJIT")
}

#[derive(Default)]
struct Reader {
    facts: Vec<Fact>,
    figures: Vec<Figure>,
    notes: Notes,
    section: String,
    /// The rates of a run were read.
    has_rates: bool,
    runs: u32,
}

/// The section of rates.
const RATES: &str = "Throughput";

pub(crate) fn read(text: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    for line in lines(text) {
        reader.take(line)?;
    }
    Ok(Imported {
        format: Format::Sysbench,
        layout: "output of sysbench".into(),
        facts: reader.facts,
        reports: vec![Report {
            figures: reader.figures,
            ..Report::default()
        }],
        notes: reader.notes.finish(),
    })
}

impl Reader {
    fn take(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let text = line.text.trim();
        if text.starts_with("sysbench ") && text.contains("LuaJIT") || text.starts_with("Number of threads:") {
            let name = if text.starts_with('N') { "threads" } else { "version" };
            self.facts.push(Fact {
                name: name.into(),
                value: excerpt(text.trim_start_matches("Number of threads:")),
                line: line.number,
            });
            self.facts.truncate(100);
            return Ok(());
        }
        if text.starts_with('[') {
            return self.interval(text, line.number);
        }
        let Some((key, value)) = text.split_once(':') else {
            if !text.is_empty() {
                self.unknown(text, line.number);
            }
            return Ok(());
        };
        let value = value.trim();
        if value.is_empty() {
            return self.begin(key, line.number);
        }
        if self.runs > 0 && key == "total time" {
            return Err(ImportError::second_run(line.number, "sysbench"));
        }
        self.row(key.trim(), value, line.number)
    }

    /// Sections inside sections ("queries performed:") say what their rows are.
    fn begin(&mut self, section: &str, line: u32) -> Result<(), ImportError> {
        self.section = section.to_string();
        if section == "Threads fairness" {
            self.runs += 1;
        }
        if section == RATES && std::mem::replace(&mut self.has_rates, true) {
            return Err(ImportError::second_run(line, "sysbench"));
        }
        Ok(())
    }

    /// A rate that is lost is said to be.
    fn unknown(&mut self, text: &str, line: u32) {
        if self.section == RATES {
            let text = excerpt(text);
            self.notes
                .add(line, format!("{text:?} is no known line of {RATES}: left out"));
        }
    }

    fn row(&mut self, key: &str, value: &str, line: u32) -> Result<(), ImportError> {
        let words = tokens(value);
        let first = words.first().copied().unwrap_or_default();
        match (self.section.as_str(), key) {
            ("queries performed", "read" | "write" | "other" | "total") => {
                self.push(&format!("queries.{key}"), first, "queries", line)
            }
            (
                _,
                "transactions"
                | "queries"
                | "read/write requests"
                | "other operations"
                | "ignored errors"
                | "reconnects",
            ) => {
                self.push(&format!("{key}.total"), first, "", line)?;
                match words.as_slice() {
                    [_, rate, "per", "sec.)"] => {
                        let rate = rate.trim_start_matches('(');
                        self.push(&format!("{key}.per_s"), rate, "/s", line)
                    }
                    [_, open, rate, "per", "sec.)"] if *open == "(" => {
                        self.push(&format!("{key}.per_s"), rate, "/s", line)
                    }
                    _ => Ok(()),
                }
            }
            (_, "events per second" | "events/s (eps)") => self.push("events.per_s", first, "/s", line),
            (_, "total number of events") => self.push("events.total", first, "", line),
            (_, "total time" | "time elapsed") => {
                let Some(seconds) = first.strip_suffix('s') else {
                    return no_unit(key, line);
                };
                let figure = figure("total_time".into(), seconds, "s", line)?;
                self.figures.push(figure.of_quantity(Quantity::ElapsedS, 1.0));
                Ok(())
            }
            ("Latency (ms)", "min" | "avg" | "max") => self.push(&format!("latency.{key}"), first, "ms", line),
            ("Latency (ms)", _) if key.ends_with("th percentile") => {
                let percentile = key.trim_end_matches("th percentile");
                self.push(&format!("latency.p{}", excerpt(percentile)), first, "ms", line)
            }
            ("response time", "min" | "avg" | "max") => self.response(key, first, line),
            ("response time", _) if key.starts_with("approx.") => self.response("p95", first, line),
            (_, "reads/s" | "writes/s" | "fsyncs/s" | "read, MiB/s" | "written, MiB/s") => self.files(key, first, line),
            (RATES, _) => self.rates(key, value, line),
            _ => Ok(()),
        }
    }

    /// `read:  IOPS=1204.55 18.82 MiB/s (19.74 MB/s)` and `fsync: IOPS=2570.11` of version 1.1.
    fn rates(&mut self, key: &str, value: &str, line: u32) -> Result<(), ImportError> {
        let words = tokens(value);
        let asked = words.first().and_then(|word| word.strip_prefix("IOPS="));
        match (key, asked, words.get(1..3)) {
            ("read", Some(asked), Some([bytes, "MiB/s"])) => {
                self.files("reads/s", asked, line)?;
                self.files("read, MiB/s", bytes, line)
            }
            ("write", Some(asked), Some([bytes, "MiB/s"])) => {
                self.files("writes/s", asked, line)?;
                self.files("written, MiB/s", bytes, line)
            }
            ("fsync", Some(asked), None) => self.files("fsyncs/s", asked, line),
            _ => {
                self.unknown(&format!("{key}: {value}"), line);
                Ok(())
            }
        }
    }

    /// Rows of `fileio`: what the generator asked of the files.
    fn files(&mut self, key: &str, token: &str, line: u32) -> Result<(), ImportError> {
        let (unit, quantity) = match key {
            "reads/s" => ("requests/s", Some((Quantity::ReadsPerS, 1.0))),
            "writes/s" => ("requests/s", Some((Quantity::WritesPerS, 1.0))),
            "read, MiB/s" => ("MiB/s", Some((Quantity::ReadBytesPerS, 1_048_576.0))),
            "written, MiB/s" => ("MiB/s", Some((Quantity::WriteBytesPerS, 1_048_576.0))),
            _ => ("/s", None),
        };
        let name = key.trim_end_matches("/s").trim_end_matches(", MiB");
        let part = if unit == "MiB/s" { "throughput" } else { "file" };
        let figure = figure(format!("{part}.{name}"), token, unit, line)?;
        self.figures.push(match quantity {
            Some((quantity, factor)) => figure.of_quantity(quantity, factor),
            None => figure,
        });
        Ok(())
    }

    /// `2.21ms` of version 0.5.
    fn response(&mut self, key: &str, value: &str, line: u32) -> Result<(), ImportError> {
        match value.strip_suffix("ms") {
            Some(number) => self.push(&format!("latency.{key}"), number, "ms", line),
            None => no_unit(key, line),
        }
    }

    /// `[ 10s ] thds: 8 tps: 756.96 qps: 4544.59 (r/w/o: ...) lat (ms,95%): 15.00 err/s: 0.00`, and that of 0.5.
    fn interval(&mut self, text: &str, line: u32) -> Result<(), ImportError> {
        let Some((at, rest)) = text.trim_start_matches('[').split_once(']') else {
            return Ok(());
        };
        let at = excerpt(at);
        let words = tokens(rest);
        for pair in words.windows(2) {
            let value = pair[1].trim_end_matches(',');
            let (name, unit) = match pair[0] {
                "tps:" => ("tps", "transactions/s"),
                "qps:" => ("qps", "queries/s"),
                "err/s:" => ("errors", "/s"),
                key if key.starts_with("(ms,") && key.ends_with("%):") => ("latency", "ms"),
                _ => continue,
            };
            let name = match pair[0].strip_prefix("(ms,").and_then(|key| key.strip_suffix("%):")) {
                Some(percentile) => format!("{name}.p{}", excerpt(percentile)),
                None => name.into(),
            };
            if plain(value, line)?.is_some() {
                self.push(&format!("interval.{at}.{name}"), value, unit, line)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, name: &str, token: &str, unit: &'static str, line: u32) -> Result<(), ImportError> {
        if self.figures.len() > crate::format::FIGURES_MAX {
            return Err(ImportError::TooLarge {
                bytes: self.figures.len(),
            });
        }
        self.figures.push(figure(name.into(), token, unit, line)?);
        Ok(())
    }
}

fn no_unit(key: &str, line: u32) -> Result<(), ImportError> {
    Err(ImportError::Other {
        line,
        what: format!("{} has no unit", excerpt(key)),
        cure: "give the output as sysbench printed it".into(),
    })
}
