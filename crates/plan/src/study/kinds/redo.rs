//! Phases of kind `redo`: commits alone.
//!
//! Prevents: the price of a commit that is mixed with that of reading and changing pages.

use crate::shown::Keys;
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, NO_END};
use crate::study::words::PhaseWord;
use crate::units::{Bytes, Duration};

settled! {
    /// Commits alone.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Redo {
        /// Sessions in all.
        pub sessions: u32,
        /// Redo of each commit.
        pub commit_size: Bytes,
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Pages,
    repeated: None,
};

impl Kind for Redo {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Redo
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Time(NO_END)
    }

    fn in_flight(&self) -> InFlight {
        // However many commit: the log is one, and grows at its end.
        InFlight::in_order(1)
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn updating_time(&self, time: Option<Duration>) -> Option<Duration> {
        time
    }
}
