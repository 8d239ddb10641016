//! What the generator itself can do: the same work with a client that answers itself, driven as the study drives it.
//! That client has no sockets and no messages: how near users of a server are to their end, their thread's time says.
//!
//! Prevents: the users' processor measured as the server's.

use super::work;
use files::Place;
use plan::{Files, Protocol, Serving};
use std::sync::Arc;
use workloads::Pacing;

/// Bytes of the tree: its size is not what costs.
const TREE_BYTES: u64 = 16 << 20;
/// So that each thread has files to work on.
const TREE_BYTES_OF_THREAD: u64 = 1 << 20;
/// No generator does as many.
const OUT_OF_REACH_PER_S: f64 = 1e8;
const TIME_NS: u64 = 500_000_000;

/// Operations a second.
pub(super) fn per_second(serving: &Serving, files: &Files, seed: u64) -> anyhow::Result<f64> {
    let config = work::config(serving, files, 1, seed)?;
    let sessions = config.sessions;
    // By system calls each session is a thread, and all of them wait for one schedule.
    let (place, pacing) = match files.protocol {
        Protocol::Nfs3 => (Place::Null, Pacing::closed(sessions, TIME_NS)),
        Protocol::Posix => {
            let going_on = Arc::default();
            let pacing = work::pacing(serving, OUT_OF_REACH_PER_S, TIME_NS, &going_on);
            (Place::NullThreads(sessions), pacing)
        }
    };
    let mut null = files::Serving::begin(config, place)?;
    null.grow_to(TREE_BYTES.max(u64::from(sessions) * TREE_BYTES_OF_THREAD), false)?;
    let point = null.run(&pacing, seed)?;
    Ok(point.outcome.count() as f64 * 1e9 / point.outcome.elapsed_ns.max(1) as f64)
}
