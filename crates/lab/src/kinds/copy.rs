//! Phases of kind `copy`.
//!
//! They are between two legs of a trial: whoever drives it moves the database. Prevents: a copy under an open instance.

use super::kind::{Kind, OnPages};
use ledger::PhaseKind;
use plan::Copy;

impl Kind for Copy {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Copy
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Copy
    }
}
