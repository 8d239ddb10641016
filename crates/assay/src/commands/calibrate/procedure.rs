//! `assay calibrate --procedure`: how often the verdict procedure errs on simulated studies, and what it finds.
//!
//! Takes a number of studies and a seed, gives rates. Prevents: a promise about verdicts that nobody can hold against
//! anything.

use crate::cli;
use crate::commands::answer::answer;
use crate::exit::Failure;
use anyhow::anyhow;
use report::rate_json as rate;
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn procedure(flags: &cli::Calibrate) -> Result<(), Failure> {
    let rows = stats::calibrate_procedure(u64::from(flags.studies), flags.seed);
    answer(flags.json, || data(&rows, flags), || text(&rows, flags))?;
    let is_broken = |row: &&stats::Calibration| {
        let rate = &row.result.false_verdicts;
        row.promise.is_some_and(|promise| rate.is_surely_above(promise))
    };
    let broken: Vec<&str> = rows.iter().filter(is_broken).map(|row| row.name).collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "more false verdicts than promised: {}\n  report this: it is a defect",
        broken.join(", ")
    )))
}

fn text(rows: &[stats::Calibration], flags: &cli::Calibrate) -> String {
    let mut text = format!(
        "{} simulated studies a line.\n\
         false: studies with a wrong verdict; found: studies that saw a true difference.\n\n",
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
    text.push_str("\nWhat each line is, and why the last ones promise nothing: docs/method.md\n");
    text
}

fn data(rows: &[stats::Calibration], flags: &cli::Calibrate) -> Value {
    json!({
        "schema": 1,
        "studies": flags.studies,
        "seed": flags.seed,
        "scenarios": rows.iter().map(simulated).collect::<Vec<_>>(),
    })
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
