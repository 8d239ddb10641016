//! Phases of kinds `power_cut` and `kill`.
//!
//! Takes a phase as written; gives [`PowerCut`](crate::study::PowerCut). Prevents: keys of a database under a file
//! server, which would have no effect.

use super::asked::Asked;
use super::random::random;
use crate::meaning::{cuts, files, settle::Settle};
use crate::study::{CutWork, End};
use crate::written::{WrittenPhase, WrittenStudy};

pub(super) fn phase(phase: &WrittenPhase, written: &WrittenStudy, end: End, settle: &mut Settle<'_>) -> Asked {
    let work = match written.files.span {
        Some(_) => CutWork::Files(files::under_a_cut(phase, settle)),
        None => CutWork::Random(random(phase, settle)),
    };
    cuts::foreign_work(phase, &work, end, settle.findings);
    Asked::of(cuts::power_cut(phase, work, end, settle))
}
