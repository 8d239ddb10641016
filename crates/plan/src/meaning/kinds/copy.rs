//! Phases of kind `copy`.
//!
//! Takes a phase as written; gives [`Copy`]. Prevents: a copy without a target.

use super::asked::Asked;
use crate::meaning::settle::Settle;
use crate::study::{Copy, CopyTarget};
use crate::written::{WrittenPhase, case};

/// Chunks of a copy that may be on their way at once.
const CHUNKS_MAX: u64 = 64;

pub(super) fn phase(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
    let home = &phase.span;
    let to = match &phase.to {
        Some(at) if at.value == "home" => CopyTarget::Home,
        Some(at) => CopyTarget::Stack(at.value.clone()),
        None => {
            let cure = "name the stack that takes the database: to = \"xfs\", or \"home\" for the way back";
            settle.findings.add(home, "this copy has no `to`", cure);
            CopyTarget::Home
        }
    };
    let chunk = phase.chunk();
    if let Some(at) = chunk.odd() {
        let message = format!("a copy cannot go in requests of {}", at.value);
        let cure = format!("write a power of two from {}: {}", chunk.limits, chunk.example());
        settle.findings.add(&at.span, message, cure);
    }
    let copy = Copy {
        to,
        data: phase.data.as_ref().map(|at| at.value.clone()),
        redo: phase.redo.as_ref().map(|at| at.value.clone()),
        chunk: chunk.value(),
        outstanding: settle.count(&phase.outstanding().or(case::COPY_CHUNKS).at_most(CHUNKS_MAX)),
        verify: phase.verify().value(),
    };
    Asked::of(copy)
}
