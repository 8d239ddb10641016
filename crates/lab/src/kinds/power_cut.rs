//! Phases of kinds `power_cut` and `kill`.
//!
//! Whoever drives a trial closes the database for them, and opens it after each cut. Prevents: a cut under an instance
//! that believes itself alone.

use super::kind::{Kind, OnFiles, OnPages};
use ledger::PhaseKind;
use plan::{End, PowerCut};

impl Kind for PowerCut {
    fn recorded(&self) -> PhaseKind {
        match self.end {
            End::PowerCut => PhaseKind::PowerCut,
            End::Kill => PhaseKind::Kill,
        }
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Cut
    }

    fn on_files(&self) -> Option<OnFiles<'_>> {
        Some(OnFiles::Cut)
    }
}
