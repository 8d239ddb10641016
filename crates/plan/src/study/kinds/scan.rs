//! Phases of kind `scan`: full table scans.
//!
//! Prevents: a scan whose readers nobody has said.

use crate::shown::Keys;
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, Pace};
use crate::study::words::PhaseWord;

settled! {
    /// Full table scans of randomly chosen schemas.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Scan {
        /// Schemas scanned, one after another; chosen anew per block.
        pub users: u32,
        /// Reads in flight of one scan (1: as the seed).
        pub degree: u32,
        /// Schemas scanned at the same time; more where there are more workers.
        pub parallel: u32,
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Pages,
    repeated: Some("scans"),
};

impl Kind for Scan {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Scan
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Either
    }

    fn in_flight(&self) -> InFlight {
        InFlight {
            each: self.degree,
            ..InFlight::in_order(self.parallel)
        }
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn work_ns(&self, pace: &Pace) -> u64 {
        pace.moving_ns(pace.schema_bytes.saturating_mul(u64::from(self.users)))
    }
}
