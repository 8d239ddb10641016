//! Phases of kind `rebalance`: LUNs join and leave a disk group or a volume while random work runs.
//!
//! Prevents: a change that is measured without the work that it disturbs.

use crate::shown::{Keys, strings};
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, OWN_END, Pace, Ranking};
use crate::study::random::Random;
use crate::study::words::PhaseWord;
use crate::units::Duration;

settled! {
    /// LUNs that join and leave a disk group or a volume. LUNs are counted from 0 in the order of their set.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Rebalance {
        /// LUNs held in reserve (or dropped earlier) that join.
        pub add: Vec<u32> as |change| Some(disks(&change.add)),
        /// LUNs that are emptied and leave.
        pub drop: Vec<u32> as |change| Some(disks(&change.drop)),
        /// I/Os of the rebalance in flight, at most.
        pub power: u32,
        /// Work before it, for comparison.
        pub before: Duration,
        /// Work after it.
        pub after: Duration,
        with {
            /// The work that runs all the while.
            pub work: Random,
        }
    }
}

/// LUNs by number in their set.
fn disks(luns: &[u32]) -> String {
    strings(luns.iter().map(|lun| format!("disk{lun}")))
}

impl Rebalance {
    /// The work before and after it together.
    fn windows(&self) -> Duration {
        Duration(self.before.0.saturating_add(self.after.0))
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Pages,
    repeated: None,
};

impl Kind for Rebalance {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Rebalance
    }

    fn own_keys(&self) -> Keys {
        // Its work has the time that the change takes.
        let work = self.work.keys().into_iter().filter(|(key, _)| *key != "work_loop");
        self.keys().into_iter().chain(work).collect()
    }

    fn ends(&self) -> Ends {
        Ends::Work((OWN_END, "remove `time`: a rebalance ends `after` the last extent"))
    }

    fn in_flight(&self) -> InFlight {
        self.work.in_flight()
    }

    fn ranking(&self) -> Ranking {
        // One is had at the cost of the other: there is no better.
        Ranking::Never((
            "a rebalance cannot be ranked: quick and gentle exclude each other",
            "remove it: compare the latencies and the time of the rebalances yourself",
        ))
    }

    fn slob_work(&self) -> Option<&Random> {
        Some(&self.work)
    }

    fn is_move(&self) -> bool {
        true
    }

    fn updating_time(&self, _time: Option<Duration>) -> Option<Duration> {
        (self.work.update_pct > 0).then(|| self.windows())
    }

    fn least_time(&self, _time: Option<Duration>) -> Option<Duration> {
        Some(self.windows())
    }

    fn work_ns(&self, pace: &Pace) -> u64 {
        // How long the moving takes depends on the power and on the work beside it: counted as its share of the data,
        // out and in.
        let changes = (self.add.len() + self.drop.len()) as u64;
        let moved = pace.data_bytes.saturating_mul(changes) / 4;
        let around = self.windows().0;
        around.saturating_add(pace.moving_ns(moved.saturating_mul(2)))
    }
}
