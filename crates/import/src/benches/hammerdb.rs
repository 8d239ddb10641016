//! HammerDB's log of TPROC-C: NOPM and TPM of each test, virtual users, times of the procedures.
//!
//! Takes text; gives one report for each test. The names are HammerDB's: its figures are no results of a TPC benchmark.
//! Prevents: the two rates taken for each other, whose order changed with version 4, and the times of one virtual user
//! taken for those of all.

use super::figure;
use crate::error::ImportError;
use crate::figure::{Fact, Figure, Imported, Notes, Report, excerpt};
use crate::format::Format;
use crate::lines::{Line, lines, tokens};
use std::collections::BTreeSet;

/// Most tests of one log.
const TESTS_MAX: usize = 10_000;

/// Most times of one test.
const TIMES_MAX: usize = 1000;

const RESULT: &str = "TEST RESULT : System achieved ";

/// True for a line that only HammerDB prints.
pub(crate) fn is_hammerdb(line: &str) -> bool {
    line.contains(RESULT) || line.starts_with(">>>>> PROC: ") || line.starts_with(">>>>> SUMMARY OF ")
}

#[derive(Default)]
struct Reader {
    facts: Vec<Fact>,
    reports: Vec<Report>,
    /// Times that come before the result of their test.
    times: Vec<Figure>,
    /// Names of `times`.
    seen: BTreeSet<String>,
    /// Inside the summary over all virtual users.
    summary: bool,
    procedure: Option<String>,
}

pub(crate) fn read(text: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut notes = Notes::default();
    for line in lines(text) {
        reader.take(line, &mut notes)?;
    }
    reader.hand_over();
    let several = reader.reports.len() > 1;
    for (index, report) in reader.reports.iter_mut().enumerate().filter(|_| several) {
        report.label = format!("test {}", index + 1);
    }
    Ok(Imported {
        format: Format::Hammerdb,
        layout: "log of HammerDB, TPROC-C".into(),
        facts: reader.facts,
        reports: reader.reports,
        notes: notes.finish(),
    })
}

impl Reader {
    fn take(&mut self, line: Line<'_>, notes: &mut Notes) -> Result<(), ImportError> {
        let text = line.text.trim();
        if let Some((_, rest)) = text.split_once(RESULT) {
            return self.result(rest, line.number, notes);
        }
        if let Some((_, rest)) = text.split_once(">>>>> ") {
            if rest.starts_with("SUMMARY OF ") || rest.starts_with("COMBINED METRICS") {
                self.summary = true;
            } else if rest.starts_with("VIRTUAL USER ") {
                self.summary = false;
            }
            self.procedure = rest.strip_prefix("PROC: ").map(excerpt).filter(|_| self.summary);
            return Ok(());
        }
        if text.ends_with(" Active Virtual Users configured") && self.facts.len() < 100 {
            let said = text.split(':').next_back().unwrap_or_default();
            self.facts.push(Fact {
                name: "virtual users".into(),
                value: excerpt(said.trim_end_matches(" Active Virtual Users configured")),
                line: line.number,
            });
        }
        if let Some(procedure) = self.procedure.clone() {
            return self.time(&procedure, text, line.number);
        }
        Ok(())
    }

    /// `42332 NOPM from 97427 PostgreSQL TPM`; before version 4 `97427 PostgreSQL TPM at 42332 NOPM`.
    fn result(&mut self, rest: &str, line: u32, notes: &mut Notes) -> Result<(), ImportError> {
        let words = tokens(rest);
        let (nopm, tpm, product) = match words.as_slice() {
            [nopm, "NOPM", "from", tpm, product @ .., "TPM"] => (nopm, tpm, product),
            [tpm, product @ .., "TPM", "at", nopm, "NOPM"] => (nopm, tpm, product),
            _ => {
                notes.add(
                    line,
                    format!("{:?} is no known form of a result: left out", excerpt(rest)),
                );
                return Ok(());
            }
        };
        if self.reports.len() == TESTS_MAX {
            return Err(ImportError::TooLarge { bytes: rest.len() });
        }
        self.hand_over();
        let product = excerpt(&product.join(" "));
        let mut figures = vec![figure("hammerdb.NOPM".into(), nopm, "NOPM", line)?];
        let name = if product.is_empty() {
            "hammerdb.TPM".into()
        } else {
            format!("hammerdb.{product} TPM")
        };
        figures.push(figure(name, tpm, "TPM", line)?);
        self.reports.push(Report {
            figures,
            ..Report::default()
        });
        Ok(())
    }

    /// `CALLS: 3427 MIN: 1.730ms AVG: 36.332ms ...` on one line or two.
    fn time(&mut self, procedure: &str, text: &str, line: u32) -> Result<(), ImportError> {
        let words = tokens(text);
        for pair in words.windows(2) {
            let (Some(key), value) = (pair[0].strip_suffix(':'), pair[1]) else {
                continue;
            };
            if self.times.len() >= TIMES_MAX {
                return Ok(());
            }
            let known = ["MIN", "AVG", "MAX", "P99", "P95", "P50"].contains(&key);
            let (number, unit) = match (key, value.strip_suffix("ms")) {
                ("CALLS", _) => (value, "calls"),
                (_, Some(number)) if known => (number, "ms"),
                _ => continue,
            };
            let name = format!("hammerdb.{procedure}.{}", key.to_lowercase());
            if self.seen.insert(name.clone()) {
                self.times.push(figure(name, number, unit, line)?);
            }
        }
        Ok(())
    }

    /// Times belong to the test before them; without one they make a report of their own.
    fn hand_over(&mut self) {
        let times = std::mem::take(&mut self.times);
        self.seen.clear();
        (self.summary, self.procedure) = (false, None);
        if times.is_empty() {
            return;
        }
        match self.reports.last_mut() {
            Some(report) => report.figures.extend(times),
            None => self.reports.push(Report {
                figures: times,
                ..Report::default()
            }),
        }
    }
}
