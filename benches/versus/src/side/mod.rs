//! Our own side, run as a child: one piece of work, a line `go` when its loop begins, one line of figures when it is done.
//!
//! Prevents: our side measured from inside while the others are measured from outside.

mod bare;
mod engine;
mod sessions;

use crate::flags::{Side, Work};
use serde_json::{Map, Value};
use std::io::Write;

/// Figures in the order they are printed.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// Does the work and prints its figures.
pub(crate) fn run(side: &Side) -> anyhow::Result<()> {
    let figures = match side.work {
        Work::Bare => bare::reads(side),
        Work::Flushes => bare::flushes(side),
        Work::Reads => engine::reads(side),
        Work::Updates => engine::updates(side),
        Work::Scan => engine::scan(side),
        Work::Sessions => sessions::many(side),
    }?;
    let object: Map<String, Value> = figures
        .into_iter()
        .map(|(key, value)| (key.to_string(), Value::from(value)))
        .collect();
    println!("{}", Value::Object(object));
    Ok(())
}

/// Says that the loop begins now.
pub(crate) fn go() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "go")?;
    Ok(out.flush()?)
}
