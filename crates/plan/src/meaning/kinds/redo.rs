//! Phases of kind `redo`.
//!
//! Takes a phase as written; gives [`Redo`]. Prevents: a commit that no redo log could hold.

use super::asked::Asked;
use crate::meaning::settle::Settle;
use crate::study::Redo;
use crate::written::{WrittenPhase, case};

/// As much as a small transaction writes; a commit of less than a block costs a block.
pub(super) fn phase(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
    let size = phase.commit_size();
    if let Some(at) = size.outside() {
        let message = format!("a commit cannot have {} of redo", at.value);
        let cure = format!("write {}, or {}", size.example(), size.limits);
        settle.findings.add(&at.span, message, cure);
    }
    let redo = Redo {
        sessions: settle.count(&phase.sessions()),
        commit_size: size.value(),
    };
    Asked::lasting(redo, Some(case::WORK_TIME))
}
