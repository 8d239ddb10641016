//! `assay calibrate`: what the tool itself can do on this machine, and how often its verdict procedure errs.
//!
//! The ceilings are measured where storage does nothing, or nothing but a copy: above them a study measures the tool.

mod procedure;
mod twins;

use super::answer::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use lab::ceiling::{self, Reached};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;
use targets::{Access, NullPort, OpenSpec, Port, PsyncPort, UringPort};
use workloads::{Ceiling, Pacing};

const BLOCK: u32 = 8192;
const DEPTH: usize = 64;

pub(crate) fn calibrate(flags: &cli::Calibrate) -> Result<(), Failure> {
    if flags.procedure {
        return procedure::procedure(flags);
    }
    if let Some(file) = &flags.twins {
        return twins::twins(file, flags);
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
    let before = ceiling::own_cpu_ns();
    let (count, elapsed_ns) = work()?;
    let cpu_ns = ceiling::own_cpu_ns().saturating_sub(before);
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
