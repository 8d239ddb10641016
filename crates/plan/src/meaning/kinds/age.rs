//! Phases of kind `age`.
//!
//! Takes a phase as written; gives [`Age`]. Prevents: a transaction with more reads in flight than it has pages.

use super::asked::Asked;
use super::random::check_outstanding;
use crate::meaning::settle::Settle;
use crate::study::Age;
use crate::written::{WrittenPhase, case};

pub(super) fn phase(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
    let age = Age {
        passes: settle.count(&phase.passes()),
        sessions: settle.count(&phase.sessions()),
        work_unit: settle.count(&phase.work_unit().or(case::AGE_PAGES)),
        redo_stress: phase.redo_stress().value(),
        outstanding: settle.count(&phase.outstanding()),
    };
    check_outstanding(phase, age.outstanding, age.work_unit, settle);
    Asked::of(age)
}
