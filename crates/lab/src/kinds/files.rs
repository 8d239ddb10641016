//! Phases of kind `files`.
//!
//! Prevents: a ramp on a database.

use super::kind::{Kind, OnFiles};
use ledger::PhaseKind;
use plan::Serving;

impl Kind for Serving {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Files
    }

    fn on_files(&self) -> Option<OnFiles<'_>> {
        Some(OnFiles::Ramp(self))
    }
}
