//! Phases of kind `random`: SLOB's random work.
//!
//! Prevents: work that never ends because it has neither a time nor a number of operations.

use crate::shown::Keys;
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow};
use crate::study::random::Random;
use crate::study::words::PhaseWord;
use crate::units::Duration;

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::All,
    repeated: Some("random work"),
};

impl Kind for Random {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Random
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        match self.work_loop {
            0 => Ends::Time((
                "this phase never ends: it has neither a time nor a number of operations",
                "give it a `time`, or a `work_loop` of operations for each session",
            )),
            _ => Ends::Either,
        }
    }

    fn in_flight(&self) -> InFlight {
        InFlight {
            each: self.outstanding,
            ..InFlight::scattered(self.sessions)
        }
    }

    fn is_open(&self) -> bool {
        self.rate.is_some()
    }

    fn slob_work(&self) -> Option<&Random> {
        Some(self)
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn updating_time(&self, time: Option<Duration>) -> Option<Duration> {
        time.filter(|_| self.update_pct > 0)
    }
}
