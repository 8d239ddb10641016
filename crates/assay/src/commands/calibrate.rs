//! `assay calibrate`: what the tool itself can do on this machine, and how often its verdict procedure errs.
//!
//! The ceilings are measured where storage does nothing, or nothing but a copy: above them a study measures the tool.

use super::{print, print_json};
use crate::ceiling::{self, Reached};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;
use targets::{Access, FileId, NullPort, OpenSpec, Port, PsyncPort, UringPort};
use workloads::{Ceiling, Pacing};

const BLOCK: u32 = 8192;
const DEPTH: usize = 64;

pub(crate) fn calibrate(flags: &cli::Calibrate) -> Result<(), Failure> {
    if flags.procedure {
        return procedure(flags);
    }
    if let Some(file) = &flags.twins {
        return super::twins::twins(file, flags);
    }
    if !(flags.seconds > 0.0 && flags.seconds <= 600.0) {
        return Err(Failure::Usage(anyhow!(
            "--seconds {}: give more than 0 and at most 600",
            flags.seconds
        )));
    }
    let mut rows = vec![
        loop_alone(flags),
        null_target(flags)?,
        engine("page engine, pages found in its cache", flags, ceiling::cached)?,
        engine("the same, one page an operation", flags, ceiling::cached_singly)?,
        engine("page engine, pages read and verified", flags, ceiling::read)?,
    ];
    if let Some(target) = &flags.target {
        let spec = [OpenSpec::reading(target, Access::Direct)];
        let memory = DEPTH as u64 * u64::from(BLOCK);
        let ring = UringPort::open(&spec, memory, DEPTH).map_err(|e| anyhow!("{e}"))?;
        rows.push(reads("ring, depth 64", ring, DEPTH, flags)?);
        let pread = PsyncPort::open(&spec, memory, DEPTH).map_err(|e| anyhow!("{e}"))?;
        rows.push(reads("pread, one at a time", pread, 1, flags)?);
    }
    if flags.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|r| json!({ "what": r.what, "per_second": r.per_second, "cpu_ns_each": r.cpu_ns_each }))
            .collect();
        return print_json(&json!({ "schema": 1, "block_bytes": BLOCK, "depth": DEPTH, "rows": rows }));
    }
    let mut text = String::from("One thread of this tool, on this machine, now (a shared machine varies):\n");
    for row in &rows {
        let _ = writeln!(
            text,
            "  {:<44} {:>11.0} /s {:>6.0} ns CPU each",
            row.what, row.per_second, row.cpu_ns_each
        );
    }
    text.push_str("The page engine's rates are a study's ceiling, for each worker, and are\n");
    text.push_str("stored with every run. A phase that takes more than 70 % of them is flagged:\n");
    text.push_str("it measures the tool, not the storage.\n");
    print(&text)
}

struct Row {
    what: String,
    per_second: f64,
    cpu_ns_each: f64,
}

/// CPU time of this process while `work` runs; `work` gives its count and its elapsed nanoseconds.
fn measured(what: &str, work: impl FnOnce() -> anyhow::Result<(u64, u64)>) -> anyhow::Result<Row> {
    let before = ceiling::own_cpu_ns()?;
    let (count, elapsed_ns) = work()?;
    let cpu_ns = ceiling::own_cpu_ns()?.saturating_sub(before);
    anyhow::ensure!(
        count > 0 && elapsed_ns > 0,
        "{what}: nothing was done\n  give more --seconds"
    );
    Ok(Row {
        what: what.to_string(),
        per_second: count as f64 * 1e9 / elapsed_ns as f64,
        cpu_ns_each: cpu_ns as f64 / count as f64,
    })
}

/// Sessions, stamps and histograms over an operation that does nothing.
fn loop_alone(flags: &cli::Calibrate) -> Row {
    let row = measured("hot loop alone (64 sessions, no operation)", || {
        let mut nothing = Ceiling::new(targets::monotonic_ns);
        let pacing = Pacing::closed(DEPTH as u32, (flags.seconds * 1e9) as u64);
        match workloads::drive(&mut nothing, &pacing, flags.seed) {
            Ok(outcome) => Ok((outcome.count(), outcome.elapsed_ns)),
            Err(never) => match never {},
        }
    });
    row.unwrap_or(Row {
        what: "hot loop alone: not measured".to_string(),
        per_second: 0.0,
        cpu_ns_each: 0.0,
    })
}

/// The bare ring loop on a target that completes everything at once.
fn null_target(flags: &cli::Calibrate) -> Result<Row, Failure> {
    let port = NullPort::open(&[1 << 30], DEPTH as u64 * u64::from(BLOCK), DEPTH).map_err(|e| anyhow!("{e}"))?;
    reads("null target, depth 64", port, DEPTH, flags)
}

/// The page engine, on files in memory.
fn engine(
    what: &str,
    flags: &cli::Calibrate,
    reach: impl FnOnce(u32, Duration, u64) -> anyhow::Result<Reached>,
) -> Result<Row, Failure> {
    let reached = reach(BLOCK, Duration::from_secs_f64(flags.seconds), flags.seed)?;
    if reached.pages == 0 {
        return Err(Failure::Run(anyhow!("{what}: nothing was done\n  give more --seconds")));
    }
    Ok(Row {
        what: what.to_string(),
        per_second: reached.per_second(),
        cpu_ns_each: reached.cpu_ns as f64 / reached.pages as f64,
    })
}

fn reads<P: Port>(what: &str, mut port: P, depth: usize, flags: &cli::Calibrate) -> Result<Row, Failure> {
    let row = measured(&format!("random 8 KiB reads: {what}"), || {
        let done = targets::measure_reads(
            &mut port,
            FileId(0),
            BLOCK,
            depth,
            targets::Until::Seconds(flags.seconds),
            flags.seed,
        )
        .map_err(|e| anyhow!("{e}"))?;
        anyhow::ensure!(
            done.errors == 0,
            "{} reads failed\n  look for device errors in the kernel log",
            done.errors
        );
        Ok((done.ios, done.elapsed_ns))
    })?;
    Ok(row)
}

fn procedure(flags: &cli::Calibrate) -> Result<(), Failure> {
    let rows = stats::calibrate_procedure(u64::from(flags.studies), flags.seed);
    let broken: Vec<&str> = rows
        .iter()
        .filter(|r| r.promise.is_some_and(|p| r.result.false_verdicts.low > p))
        .map(|r| r.name)
        .collect();
    let times = stats::time_to_verdict(u64::from(flags.studies), flags.seed);
    if flags.json {
        let rows: Vec<Value> = rows.iter().map(simulated).collect();
        let times: Vec<Value> = times.iter().map(beside_fixed).collect();
        print_json(&json!({
            "schema": 1, "studies": flags.studies, "seed": flags.seed, "scenarios": rows, "time_to_verdict": times,
        }))?;
    } else {
        let mut text = format!(
            "{} simulated studies a line.\nfalse: studies with a wrong verdict; found: studies that saw a true difference.\n\n",
            flags.studies
        );
        let _ = writeln!(
            text,
            "{:<44} {:>8} {:>9} {:>8} {:>7}",
            "", "false", "promised", "found", "blocks"
        );
        for row in &rows {
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
        text.push_str(&time_text(&times));
        text.push_str("\nWhat each line is, and why the last ones promise nothing: docs/method.md\n");
        print(&text)?;
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "more false verdicts than promised: {}\n  report this: it is a defect",
        broken.join(", ")
    )))
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
