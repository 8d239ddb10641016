//! What invalid runs measured: shown with the reason where a stack has nothing else, and in no comparison.
//!
//! Prevents: an hour that left empty tables, and a figure of an invalid run that looks like any other.

use super::metric::Metric;
use crate::figures::Figure;
use crate::grouped::distinct;
use crate::history::{Book, PhaseHead, Seen};
use ledger::{LedgerError, PhaseStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// The runs of a stack in a phase of which none is valid.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InvalidRuns {
    /// The stack.
    pub stack: String,
    /// Blocks.
    pub blocks: u32,
    /// The primary metric as it was measured; not ranked, and in no other figure.
    pub primary: Option<Figure>,
    /// Why they do not count, each reason once.
    pub reasons: Vec<String>,
}

/// `None` where there is a valid run, or no invalid one.
pub(crate) fn invalid_runs(book: &Book, stack: &str, phase: &PhaseHead) -> Result<Option<InvalidRuns>, LedgerError> {
    let reason = |seen: &Seen| match &seen.run.status {
        PhaseStatus::Invalid(reason) => Some(reason.clone()),
        PhaseStatus::Valid | PhaseStatus::Failed(_) => None,
    };
    let invalid: Vec<&Seen> = book
        .seen(stack, &phase.name)
        .filter(|seen| reason(seen).is_some())
        .collect();
    if invalid.is_empty() || !book.valid(stack, &phase.name).is_empty() {
        return Ok(None);
    }
    let mut primary = Vec::new();
    for run in &invalid {
        primary.push(Metric::of(phase.kind).value(run)?);
    }
    Ok(Some(InvalidRuns {
        stack: stack.into(),
        blocks: invalid.len() as u32,
        primary: Figure::of(primary),
        reasons: distinct(invalid.iter().filter_map(|seen| reason(seen))),
    }))
}
