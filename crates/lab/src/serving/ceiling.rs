//! What the generator itself can do: the same work with a client that answers itself.
//!
//! Prevents: the users' processor measured as the server's.

use super::work;
use files::Place;
use plan::{Files, Serving};
use workloads::Pacing;

/// Bytes of the tree: its size is not what costs.
const TREE_BYTES: u64 = 16 << 20;
const TIME_NS: u64 = 500_000_000;

/// Operations a second.
pub(super) fn per_second(serving: &Serving, files: &Files, seed: u64) -> anyhow::Result<f64> {
    let config = work::config(serving, files, 1, seed)?;
    let sessions = config.sessions;
    let mut null = files::Serving::begin(config, Place::Null)?;
    null.grow_to(TREE_BYTES, false)?;
    let point = null.run(&Pacing::closed(sessions, TIME_NS), seed)?;
    Ok(point.outcome.count() as f64 * 1e9 / point.outcome.elapsed_ns.max(1) as f64)
}
