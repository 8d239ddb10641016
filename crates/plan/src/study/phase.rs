//! Phases: what is done, until when, and what goes wrong meanwhile.
//!
//! What each kind is stands in [`super::kinds`]; here is what is asked of all kinds alike. Prevents: a phase that one
//! room ends by time and another by work.

use super::fault::DeviceFault;
use super::kind::{Ends, Engines, InFlight};
use super::kinds::{End, PhaseKind};
use super::random::Random;
use crate::shown::{Keys, Shown, list, quoted};
use crate::units::Duration;
use crate::word::Word;

settled! {
    /// One phase.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Phase {
        /// Unique.
        pub name: String,
        /// What it does.
        pub kind: PhaseKind as |phase| Some(quoted(phase.kind.word())),
        /// When it ends (besides running out of work).
        pub time: Option<Duration> as until,
        /// Idle time before it begins.
        pub rest: Duration as |phase| Some(phase.rest).filter(|rest| rest.0 > 0).shown(),
        /// Compared between stacks.
        pub ranked: bool,
        /// An earlier phase: the changes of the stacks since then are compared, aged against fresh.
        pub against: Option<String>,
        /// What goes wrong with modelled LUNs meanwhile.
        pub faults: Vec<DeviceFault> as |phase| faults(&phase.faults),
    }
}

impl Phase {
    /// How long pages change in it, or records of the redo log are written; `None`: nothing does, or no time is said.
    pub(crate) fn updating_time(&self) -> Option<Duration> {
        self.kind.own().updating_time(self.time)
    }

    /// The time that the study itself says for it: `time`, or the windows around a rebalance.
    pub(crate) fn least_time(&self) -> Option<Duration> {
        self.kind.own().least_time(self.time)
    }
}

/// Its time, or that it ends without.
fn until(phase: &Phase) -> Option<String> {
    let time = || phase.time.shown().unwrap_or_else(|| quoted("none"));
    phase.kind.is_timed().then(time)
}

/// Only where there are some: few studies have them.
fn faults(all: &[DeviceFault]) -> Option<String> {
    (!all.is_empty()).then(|| list(all.iter().filter_map(Shown::shown)))
}

impl PhaseKind {
    /// As a study writes it.
    pub fn word(&self) -> &'static str {
        self.own().kind().word()
    }

    /// Whether it may end by time.
    pub fn is_timed(&self) -> bool {
        !matches!(self.own().ends(), Ends::Work(_))
    }

    /// Which databases run it.
    pub fn engines(&self) -> Engines {
        self.own().kind().row().engines
    }

    /// SLOB's work, alone, beside a change of the disk group, or until it is ended.
    pub fn slob_work(&self) -> Option<&Random> {
        self.own().slob_work()
    }

    /// Sessions at the same time, and what each keeps in flight.
    pub fn in_flight(&self) -> InFlight {
        self.own().in_flight()
    }

    /// Whether its work ends like this.
    pub fn is_ended_by(&self, end: End) -> bool {
        self.cut().is_some_and(|cut| cut.end == end)
    }

    /// Whether data change their place.
    pub fn is_move(&self) -> bool {
        self.own().is_move()
    }

    /// Its own keys with their values.
    pub(crate) fn keys(&self) -> Keys {
        self.own().own_keys()
    }
}
