//! Work that one processor or all of them do, on targets that cost nothing: the bare loop once on each thread, and the
//! page engine on files in memory, one worker a thread.
//!
//! Each thread or worker has as much as the others, however many they are. Prevents: a device that is taken for a lock.

use super::bare::until;
use super::engine::reads_of;
use super::{Figures, go};
use crate::database::{Database, Size};
use crate::flags::Side;
use anyhow::ensure;
use std::path::Path;
use targets::{NullPort, measure_reads};

const BLOCK: u32 = 8192;
const DEPTH: usize = 64;
/// What the loop takes for the file.
const FILE_BYTES: u64 = 1 << 30;
/// Nothing is written to it.
const REDO_BYTES: u64 = 1 << 20;

/// The bare loop on a target that moves nothing, as many times as there are workers. They share nothing.
pub(crate) fn bare(side: &Side) -> anyhow::Result<Figures> {
    go()?;
    let rates = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..side.workers)
            .map(|nth| scope.spawn(move || bare_rate(side, nth)))
            .collect();
        let joined = threads.into_iter();
        joined
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<anyhow::Result<Vec<f64>>>()
    })?;
    Ok(vec![("iops", rates.iter().sum())])
}

fn bare_rate(side: &Side, nth: u32) -> anyhow::Result<f64> {
    let mut port = NullPort::open(&[FILE_BYTES], DEPTH as u64 * u64::from(BLOCK), DEPTH)?;
    let found = measure_reads(&mut port, BLOCK, DEPTH, until(side), side.seed + u64::from(nth))?;
    ensure!(found.errors == 0, "{} reads failed", found.errors);
    Ok(found.rate_per_second())
}

/// Random reads of a database in memory, of which each worker has its part.
pub(crate) fn engine(side: &Side) -> anyhow::Result<Figures> {
    let size = Size::of(side, REDO_BYTES * u64::from(side.workers));
    let memory = Path::new("memory");
    reads_of(Database::new(memory, memory, size).in_memory()?, side)
}
