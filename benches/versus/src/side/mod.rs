//! Our own side, run as a child: one piece of work, a line `go` when its loop begins, one line of figures when it is
//! done.
//!
//! Prevents: our side measured from inside while the others are measured from outside.

mod bare;
mod engine;
mod group;
mod hollow;
mod mirror;
pub(crate) mod port;
mod processors;
mod sessions;
pub(crate) mod simulated;

use crate::flags::{Side, Work};
use anyhow::Context;
use serde_json::{Map, Value};
use std::io::Write;

/// Figures in the order they are printed.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// Does the work and prints its figures.
pub(crate) fn run(side: &Side) -> anyhow::Result<()> {
    let figures = match side.work {
        Work::Bare => bare::reads(side),
        Work::Disks => group::disks(side),
        Work::Group => group::group(side),
        Work::Flushes => bare::flushes(side),
        Work::Reads => engine::reads(side),
        Work::Updates => engine::updates(side),
        Work::Mixed => engine::mixed(side),
        Work::Redo => engine::redo(side),
        Work::Scan => engine::scan(side),
        Work::Sessions => sessions::many(side),
        Work::Null => processors::bare(side),
        Work::Memory => processors::engine(side),
        Work::Copies => mirror::copies(side),
        Work::Mirrored => mirror::mirrored(side),
    }?;
    let object: Map<String, Value> = figures
        .into_iter()
        .map(|(key, value)| (key.to_string(), Value::from(value)))
        .collect();
    println!("{}", Value::Object(object));
    Ok(())
}

/// A size of this process in KiB, as the kernel calls it.
fn status_kib(key: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
    kib.with_context(|| format!("the kernel tells no {key}"))
}

/// Says that the loop begins now; a tracer that counts from here is given the moment.
pub(crate) fn go() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "go")?;
    out.flush()?;
    if std::env::var_os(crate::stepped::MARK).is_some() {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
    }
    Ok(())
}
