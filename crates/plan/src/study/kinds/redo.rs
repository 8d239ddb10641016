//! Phases of kind `redo`: commits alone.
//!
//! Prevents: the price of a commit that is mixed with that of reading and changing pages.

use crate::shown::Keys;
use crate::study::kind::{Ends, Engines, InFlight, Kind, NO_END};
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

impl Kind for Redo {
    fn word(&self) -> &'static str {
        "redo"
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn engines(&self) -> Engines {
        Engines::Pages
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
