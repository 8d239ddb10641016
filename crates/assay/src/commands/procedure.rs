//! `assay calibrate --procedure`: how often the verdict procedure errs on simulated studies, and what it finds in how much time.
//!
//! Takes a number of studies and a seed, gives rates. Prevents: a promise about verdicts that nobody can hold against anything.

use super::twins::BROKEN_CONFIDENCE;
use super::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use serde_json::{Value, json};
use std::fmt::Write;

/// What the simulations gave.
pub(super) struct Simulated {
    pub(super) rows: Vec<stats::Calibration>,
    pub(super) times: Vec<stats::TimeToVerdict>,
}

impl Simulated {
    pub(super) fn run(flags: &cli::Calibrate) -> Simulated {
        Simulated {
            rows: stats::calibrate_procedure(u64::from(flags.studies), flags.seed),
            times: stats::time_to_verdict(u64::from(flags.studies), flags.seed),
        }
    }

    pub(super) fn data(&self, flags: &cli::Calibrate) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(simulated).collect();
        let times: Vec<Value> = self.times.iter().map(beside_fixed).collect();
        json!({
            "schema": 1, "studies": flags.studies, "seed": flags.seed, "scenarios": rows, "time_to_verdict": times,
        })
    }
}

pub(super) fn procedure(flags: &cli::Calibrate) -> Result<(), Failure> {
    let all = Simulated::run(flags);
    if flags.json {
        print_json(&all.data(flags))?;
    } else {
        print(&text(&all, flags))?;
    }
    let is_broken = |row: &&stats::Calibration| {
        let rate = &row.result.false_verdicts;
        row.promise
            .is_some_and(|promise| rate.lower(BROKEN_CONFIDENCE) > promise)
    };
    let broken: Vec<&str> = all.rows.iter().filter(is_broken).map(|row| row.name).collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "more false verdicts than promised: {}\n  report this: it is a defect",
        broken.join(", ")
    )))
}

fn text(all: &Simulated, flags: &cli::Calibrate) -> String {
    let (rows, times) = (&all.rows, &all.times);
    let mut text = format!(
        "{} simulated studies a line.\nfalse: studies with a wrong verdict; found: studies that saw a true difference.\n\n",
        flags.studies
    );
    let _ = writeln!(
        text,
        "{:<44} {:>8} {:>9} {:>8} {:>7}",
        "", "false", "promised", "found", "blocks"
    );
    for row in rows {
        let promise = row
            .promise
            .map_or_else(|| "nothing".to_string(), |p| format!("{:.1} %", p * 100.0));
        let found = if (row.scenario.true_ratio - 1.0).abs() < 1e-12 {
            "-".to_string()
        } else {
            format!("{:.1} %", row.result.detected.share() * 100.0)
        };
        let _ = writeln!(
            text,
            "{:<44} {:>6.2} % {promise:>9} {found:>8} {:>7.1}",
            row.name,
            row.result.false_verdicts.share() * 100.0,
            row.result.blocks_mean
        );
    }
    text.push_str(&time_text(times));
    text.push_str("\nWhat each line is, and why the last ones promise nothing: docs/method.md\n");
    text
}

/// The procedure beside three runs of 300 s.
fn time_text(times: &[stats::TimeToVerdict]) -> String {
    let mut text = format!(
        "\nBeside a fixed protocol ({} runs of {:.0} s a stack, Welch's test at 95 %); runs of\n{:.0} s here. A difference was found, by each:\n",
        stats::FIXED_RUNS,
        stats::FIXED_SECONDS,
        stats::RUN_SECONDS
    );
    let share = |rate: &stats::Rate| format!("{:.1} %", rate.share() * 100.0);
    let mut scatter = "";
    for row in times {
        if row.scatter.name != scatter {
            scatter = row.scatter.name;
            let _ = writeln!(
                text,
                "{scatter}\n{:>24} {:>9} {:>9} {:>10} {:>16}",
                "true ratio", "fixed", "here", "time", "of the fixed"
            );
        }
        let (fixed, here) = match row.true_ratio {
            1.0 => (&row.fixed_false, &row.false_verdicts),
            _ => (&row.fixed_found, &row.found),
        };
        let what = if row.true_ratio == 1.0 {
            "1 (false)".to_string()
        } else {
            row.true_ratio.to_string()
        };
        let _ = writeln!(
            text,
            "{what:>24} {:>9} {:>9} {:>8.0} s {:>14.1} %",
            share(fixed),
            share(here),
            row.seconds_mean,
            row.time_ratio() * 100.0
        );
    }
    text
}

fn beside_fixed(row: &stats::TimeToVerdict) -> Value {
    json!({
        "scatter": row.scatter.name,
        "between": row.scatter.between,
        "within": row.scatter.within,
        "true_ratio": row.true_ratio,
        "fixed": { "found": rate(&row.fixed_found), "false": rate(&row.fixed_false), "seconds": row.fixed_seconds() },
        "found": rate(&row.found),
        "equivalent": rate(&row.equivalent),
        "false_verdicts": rate(&row.false_verdicts),
        "seconds_mean": row.seconds_mean,
        "time_ratio": row.time_ratio(),
    })
}

/// A share of studies with its interval.
pub(super) fn rate(of: &stats::Rate) -> Value {
    json!({ "share": of.share(), "low": of.low, "high": of.high, "count": of.count, "of": of.of })
}

fn simulated(row: &stats::Calibration) -> Value {
    json!({
        "name": row.name,
        "blocks": row.design.blocks,
        "comparisons": row.design.comparisons,
        "margin": row.design.margin,
        "true_ratio": row.scenario.true_ratio,
        "sd": row.scenario.sd,
        "promise": row.promise,
        "false_verdicts": rate(&row.result.false_verdicts),
        "intervals_missed": rate(&row.result.missed),
        "detected": rate(&row.result.detected),
        "equivalent": rate(&row.result.equivalent),
        "undecided": rate(&row.result.undecided),
        "blocks_mean": row.result.blocks_mean,
    })
}
