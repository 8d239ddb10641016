//! What the reading of a phase gives.
//!
//! Prevents: a time that a kind of phase has by itself and that stands somewhere else than its reading.

use crate::study::PhaseKind;
use crate::units::Duration;

/// What a phase asks for.
pub(in crate::meaning) struct Asked {
    pub(in crate::meaning) kind: PhaseKind,
    /// How long it lasts where the study says nothing; `None`: as long as its work takes.
    pub(in crate::meaning) usual: Option<Duration>,
}

impl Asked {
    /// It lasts as long as its work takes.
    pub(super) fn of(kind: impl Into<PhaseKind>) -> Asked {
        Asked::lasting(kind, None)
    }

    /// It lasts so long.
    pub(super) fn lasting(kind: impl Into<PhaseKind>, usual: Option<Duration>) -> Asked {
        let kind = kind.into();
        Asked { kind, usual }
    }
}
