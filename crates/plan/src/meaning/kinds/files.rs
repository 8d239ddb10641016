//! Phases of kind `files`.
//!
//! Takes a phase as written; gives [`Serving`](crate::study::Serving). Prevents: operations on their way that the
//! protocol of the study cannot have.

use super::asked::Asked;
use crate::meaning::files::{is_server, serving};
use crate::meaning::settle::Settle;
use crate::written::{WrittenPhase, WrittenStudy, case};

pub(super) fn phase(phase: &WrittenPhase, written: &WrittenStudy, settle: &mut Settle<'_>) -> Asked {
    let of_servers = !written.stacks.is_empty() && written.stacks.iter().all(is_server);
    let serving = serving(phase, (&written.files, of_servers), settle);
    Asked::lasting(serving, Some(case::POINT_TIME))
}
