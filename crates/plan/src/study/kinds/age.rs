//! Phases of kind `age`: every page is changed, in an order that is random in each pass.
//!
//! Prevents: a stack that is called aged and has pages that nobody has overwritten.

use crate::shown::Keys;
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, OWN_END, Pace, moving_ns};
use crate::study::random::RedoStress;
use crate::study::words::PhaseWord;

settled! {
    /// An ageing: updates that take every page of every schema in turn, in an order that is random in each pass.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Age {
        /// Times that each page is changed.
        pub passes: u32,
        /// Sessions in all.
        pub sessions: u32,
        /// Pages of one transaction.
        pub work_unit: u32,
        /// Columns changed.
        pub redo_stress: RedoStress,
        /// Reads a session keeps in flight.
        pub outstanding: u32,
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Pages,
    repeated: None,
};

impl Kind for Age {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Age
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Work((OWN_END, "remove `time`: an ageing ends with the last page"))
    }

    fn in_flight(&self) -> InFlight {
        InFlight {
            each: self.outstanding,
            ..InFlight::scattered(self.sessions)
        }
    }

    fn changes(&self) -> Option<(u32, u32)> {
        Some((self.sessions, self.work_unit))
    }

    fn work_ns(&self, pace: &Pace) -> u64 {
        let changed = pace.data_bytes.saturating_mul(u64::from(self.passes));
        moving_ns(changed, pace.aged_bytes_per_second)
    }
}
