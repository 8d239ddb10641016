//! What pgbench prints: the summary, `--progress` lines, latencies by statement, several scripts. Versions 9.x to 17.
//!
//! Takes text; gives one report. Prevents: two runs read as one, and a rate with connections taken for one without.

use super::{figure, plain};
use crate::error::ImportError;
use crate::figure::{Fact, Figure, Imported, Notes, Quantity, Report, excerpt};
use crate::format::Format;
use crate::lines::{Line, lines, tokens};

/// True for a line that only pgbench prints.
pub(crate) fn is_pgbench(line: &str) -> bool {
    line.starts_with("number of transactions actually processed:")
        || line.starts_with("transaction type:")
        || line.starts_with("progress:") && line.contains(" tps, lat ")
        || line.starts_with("tps = ") && line.contains("connection")
}

/// Lines of the summary that say what was run.
const FACTS: [&str; 8] = [
    "transaction type",
    "scaling factor",
    "query mode",
    "number of clients",
    "number of threads",
    "maximum number of tries",
    "number of transactions per client",
    "partition method",
];

#[derive(Default)]
struct Reader {
    facts: Vec<Fact>,
    figures: Vec<Figure>,
    /// `script.2.` inside the statistics of one of several scripts.
    script: String,
    statements: bool,
    statement: usize,
    runs: u32,
}

pub(crate) fn read(text: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut notes = Notes::default();
    for line in lines(text) {
        reader.take(line, &mut notes)?;
    }
    Ok(Imported {
        format: Format::Pgbench,
        layout: "output of pgbench".into(),
        facts: reader.facts,
        reports: vec![Report {
            figures: reader.figures,
            ..Report::default()
        }],
        notes: notes.finish(),
    })
}

impl Reader {
    fn take(&mut self, line: Line<'_>, notes: &mut Notes) -> Result<(), ImportError> {
        let text = line.text.trim_start().trim_start_matches("- ");
        if text.starts_with("transaction type:") {
            self.runs += 1;
            if self.runs > 1 {
                return Err(ImportError::second_run(line.number, "pgbench"));
            }
        }
        if let Some(rest) = text.strip_prefix("progress:") {
            return self.progress(rest, line.number);
        }
        if let Some(rest) = text.strip_prefix("SQL script ") {
            let index = rest.split(':').next().unwrap_or_default();
            self.script = format!("script.{}.", excerpt(index));
            self.statements = false;
            return Ok(());
        }
        if text.starts_with("statement latencies in milliseconds") {
            (self.statements, self.statement) = (true, 0);
            return Ok(());
        }
        if self.statements && self.latency(text, line.number)? {
            return Ok(());
        }
        if let Some((key, value)) = text.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            if FACTS.contains(&key) {
                self.facts.push(Fact {
                    name: key.into(),
                    value: excerpt(value),
                    line: line.number,
                });
                return Ok(());
            }
            if self.counted(key, value, line.number)? {
                return Ok(());
            }
        }
        self.equation(text, line.number, notes)
    }

    /// `duration: 60 s`, `number of transactions actually processed: 10/10`, `latency average: 6.6 ms`.
    fn counted(&mut self, key: &str, value: &str, line: u32) -> Result<bool, ImportError> {
        let words = tokens(value);
        let Some(first) = words.first() else { return Ok(false) };
        let token = first.split('/').next().unwrap_or_default();
        match key {
            "duration" => self.push("duration", token, words.get(1).copied().unwrap_or("s"), line)?,
            "number of transactions actually processed" => self.push("transactions", token, "", line)?,
            "number of failed transactions" => self.push("failed", token, "", line)?,
            "rate limit schedule lag" if *first == "avg" => {
                self.push(
                    "schedule_lag.average",
                    words.get(1).copied().unwrap_or_default(),
                    "ms",
                    line,
                )?;
            }
            "latency average" | "latency stddev" => {
                let name = key.replace(' ', ".");
                self.push(&name, token, words.get(1).copied().unwrap_or_default(), line)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `tps = 284.08 (without initial connection time)`, `latency average = 3.520 ms`.
    fn equation(&mut self, text: &str, line: u32, notes: &mut Notes) -> Result<(), ImportError> {
        let Some((key, value)) = text.split_once(" = ") else {
            return Ok(());
        };
        let words = tokens(value);
        let Some(token) = words.first() else { return Ok(()) };
        let rest = words[1..].join(" ");
        match key {
            "latency average" | "latency stddev" | "initial connection time" | "average connection time" => {
                let name = key.replacen("latency ", "latency.", 1);
                self.push(&name, token, words.get(1).copied().unwrap_or_default(), line)
            }
            "tps" => {
                let name = match rest.split(" <").next().unwrap_or_default() {
                    "(without initial connection time)" => "tps.without_connection_time",
                    "(excluding connections establishing)" => "tps.excluding_connections",
                    "(including connections establishing)" => "tps.including_connections",
                    "(including reconnection times)" => "tps.including_reconnections",
                    _ => {
                        notes.add(
                            line,
                            format!("{:?}: what this tps includes is not said: left out", excerpt(text)),
                        );
                        return Ok(());
                    }
                };
                self.push(name, token, "tps", line)
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, name: &str, token: &str, unit: &str, line: u32) -> Result<(), ImportError> {
        let unit = match unit {
            "s" => "s",
            "ms" => "ms",
            "tps" => "transactions/s",
            "" => "",
            other => {
                return Err(ImportError::Other {
                    line,
                    what: format!("{:?} is an unknown unit of {name}", excerpt(other)),
                    cure: "give the output as pgbench printed it".into(),
                });
            }
        };
        let unit = match (name, unit) {
            ("transactions" | "failed", _) => "transactions",
            // A time without its unit could be read a thousand times too large.
            (_, "") => {
                return Err(ImportError::Other {
                    line,
                    what: format!("{name} has no unit"),
                    cure: "give the output as pgbench printed it".into(),
                });
            }
            (_, unit) => unit,
        };
        let figure = figure(format!("{}{name}", self.script), token, unit, line)?;
        self.figures.push(match (name, unit, self.script.is_empty()) {
            ("duration", "s", true) => figure.of_quantity(Quantity::ElapsedS, 1.0),
            _ => figure,
        });
        Ok(())
    }

    /// ` 20.0 s, 3730.0 tps, lat 0.801 ms stddev 0.626, 0 failed, lag 2.849 ms`.
    fn progress(&mut self, rest: &str, line: u32) -> Result<(), ImportError> {
        let mut parts = rest.split(", ");
        let at = excerpt(parts.next().unwrap_or_default().trim());
        for part in parts {
            let words = tokens(part);
            match words.as_slice() {
                [value, "tps"] => self.at(format!("progress.{at}.tps"), value, "transactions/s", line)?,
                ["lat", value, "ms", "stddev", stddev] => {
                    self.at(format!("progress.{at}.latency.average"), value, "ms", line)?;
                    self.at(format!("progress.{at}.latency.stddev"), stddev, "ms", line)?;
                }
                ["lat", value, "ms"] => self.at(format!("progress.{at}.latency.average"), value, "ms", line)?,
                ["lag", value, "ms"] => self.at(format!("progress.{at}.schedule_lag.average"), value, "ms", line)?,
                [value, "failed"] => self.at(format!("progress.{at}.failed"), value, "transactions", line)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn at(&mut self, name: String, token: &str, unit: &'static str, line: u32) -> Result<(), ImportError> {
        if self.figures.len() > crate::format::FIGURES_MAX {
            return Err(ImportError::TooLarge {
                bytes: self.figures.len(),
            });
        }
        // An interval without a transaction has no latency.
        if token == "-nan" || token == "nan" || token == "NaN" {
            return Ok(());
        }
        self.figures.push(figure(name, token, unit, line)?);
        Ok(())
    }

    /// `0.649   0  UPDATE ...`: false when the line is none.
    fn latency(&mut self, text: &str, line: u32) -> Result<bool, ImportError> {
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let Some(value) = plain(first, line)? else {
            return Ok(false);
        };
        let rest = rest.trim_start();
        // Behind the latency, newer versions print failures, and retries where there are some.
        let statement = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace());
        self.statement += 1;
        let name = format!(
            "{}statement.{} {}.latency",
            self.script,
            self.statement,
            excerpt(statement)
        );
        if value.value < 0.0 || self.figures.len() > crate::format::FIGURES_MAX {
            return Ok(true);
        }
        self.figures.push(Figure::new(name, &value, "ms", line));
        Ok(true)
    }
}
