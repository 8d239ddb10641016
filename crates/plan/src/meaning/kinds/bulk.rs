//! Phases of kind `bulk`.
//!
//! Takes a phase as written; gives [`Bulk`]. Prevents: a load without rows.

use super::asked::Asked;
use super::numbers::counts;
use crate::meaning::settle::Settle;
use crate::study::Bulk;
use crate::written::WrittenPhase;

/// Rows of a load.
const ROWS_MAX: u64 = 1_000_000_000;

pub(super) fn phase(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
    let rows = counts(&phase.rows(), ROWS_MAX, settle);
    let bulk = Bulk {
        rows: rows.into_iter().map(u64::from).collect(),
        commit_every: settle.count(&phase.commit_every()).into(),
    };
    Asked::of(bulk)
}
