//! The head of a report: release, instance, host, minutes of the interval, idle share of the host; and which reports
//! are refused.
//!
//! Takes titles with their cells; gives facts and figures. Prevents: two reports read as one.

use crate::error::ImportError;
use crate::figure::{Fact, Figure, Quantity};
use crate::lines::tokens;
use crate::number::printed;

#[derive(Default)]
pub(crate) struct Head {
    facts: Vec<Fact>,
    figures: Vec<Figure>,
    heads: u32,
}

/// Titles of the tables of the head, as [`super::table::normal`] writes them.
pub(crate) const TITLES: [&str; 6] = ["release", "instance", "host", "hostname", "%idle", "idle"];

/// The idle share, as AWR and statspack name it.
pub(crate) fn is_idle(title: &str) -> bool {
    matches!(title, "%idle" | "idle")
}

/// True where an idle share is that of the host over the whole report: not of shared servers, nor of one snapshot.
pub(crate) fn is_of_host(titles: &[String]) -> bool {
    let has = |known: &[&str]| titles.iter().any(|title| known.contains(&title.as_str()));
    has(&["%user", "user"]) && !has(&["snaptime", "time"])
}

impl Head {
    pub(crate) fn fact(&mut self, fact: Fact) {
        if !self.facts.iter().any(|old| old.name == fact.name) {
            self.facts.push(fact);
        }
    }

    /// What looks alike and is not; `text`: a line or a heading.
    pub(crate) fn refuse(&mut self, text: &str, line: u32) -> Result<(), ImportError> {
        let report = text.starts_with("WORKLOAD REPOSITORY") || text.starts_with("STATSPACK report for");
        if !report {
            return Ok(());
        }
        let other = |what: &str, cure: &str| {
            Err(ImportError::Other {
                line,
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

    /// A cell of a table of the head, under its title.
    pub(crate) fn cell(&mut self, title: &str, value: &str, line: u32) -> Result<(), ImportError> {
        let name = match title {
            "release" => "release",
            "instance" => "instance",
            "host" | "hostname" => "host",
            "platform" => "platform",
            "cpus" => "cpus",
            "memory(gb)" | "memory(g)" => "memory_gb",
            "rac" => "rac",
            _ if is_idle(title) => {
                if let Some(printed) = printed(value, line)?
                    && !self.figures.iter().any(|old| old.name == "host_cpu.idle")
                {
                    let figure = Figure::new("host_cpu.idle", &printed, "%", line);
                    self.figures.push(figure.of_quantity(Quantity::CpuIdleShare, 0.01));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if !value.is_empty() {
            self.fact(Fact {
                name: name.into(),
                value: value.into(),
                line,
            });
        }
        Ok(())
    }

    /// `5.07 (mins)` behind `Elapsed:` or `DB Time:`.
    pub(crate) fn minutes(&mut self, label: &str, rest: &str, line: u32) -> Result<(), ImportError> {
        let name = match label {
            "Elapsed:" => "elapsed",
            "DB Time:" | "DB time:" => "db_time",
            _ => return Ok(()),
        };
        let words = tokens(rest);
        if !words.get(1).is_some_and(|unit| unit.starts_with("(min")) || self.figures.iter().any(|f| f.name == name) {
            return Ok(());
        }
        if let Some(printed) = printed(words[0], line)? {
            let figure = Figure::new(name, &printed, "min", line);
            self.figures.push(match name {
                "elapsed" => figure.of_quantity(Quantity::ElapsedS, 60.0),
                _ => figure,
            });
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> (Vec<Fact>, Vec<Figure>) {
        (self.facts, self.figures)
    }
}
