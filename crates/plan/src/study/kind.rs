//! What a kind of phase says of itself: one trait, which each kind answers in a file of its own ([`super::kinds`]).
//!
//! Prevents: a new kind that one part of the house knows and another takes for something else: what has no sensible
//! default here, the compiler asks for.

use super::random::Random;
use super::words::PhaseWord;
use crate::shown::Keys;
use crate::units::Duration;

/// A kind of phase, with what a study asks of it.
pub(crate) trait Kind {
    /// What a study calls it.
    fn kind(&self) -> PhaseWord;

    /// Its own keys with their values.
    fn own_keys(&self) -> Keys;

    /// What ends it.
    fn ends(&self) -> Ends;

    /// What it keeps in flight.
    fn in_flight(&self) -> InFlight;

    /// Whether it is compared between stacks.
    fn ranking(&self) -> Ranking {
        Ranking::Usual
    }

    /// Whether its work falls due on a schedule: its figure is another than that of work which waits.
    fn is_open(&self) -> bool {
        false
    }

    /// SLOB's work in it, if there is some.
    fn slob_work(&self) -> Option<&Random> {
        None
    }

    /// Whether it can be interrupted and go on, so that stacks take turns within it.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Whether data change their place.
    fn is_move(&self) -> bool {
        false
    }

    /// Why one process alone can run it, if so: what it is, as the beginning of a sentence.
    fn one_process(&self) -> Option<&'static str> {
        None
    }

    /// Sessions that change pages without SLOB's work, and pages of one transaction of each.
    fn changes(&self) -> Option<(u32, u32)> {
        None
    }

    /// How long pages change in it, or records of the redo log are written; `None`: nothing does, or no time is said.
    fn updating_time(&self, _time: Option<Duration>) -> Option<Duration> {
        None
    }

    /// The time that the study itself says for it.
    fn least_time(&self, time: Option<Duration>) -> Option<Duration> {
        time
    }

    /// Nanoseconds that it takes where the study says a time.
    fn timed_ns(&self, time: Duration) -> u64 {
        time.0
    }

    /// Nanoseconds that it takes until its work is done. Of what nobody can know: nothing, rather than something made
    /// up.
    fn work_ns(&self, _pace: &Pace) -> u64 {
        0
    }

    /// Bytes that it needs on a stack in SQL, and the key that says how much; `None`: nothing of its own.
    fn in_sql(&self, _has_temp: bool) -> Option<(u64, &'static str)> {
        None
    }

    /// Bytes of what is loaded for it where no page engine is.
    fn loads(&self) -> Loads {
        Loads::default()
    }
}

/// What holds for all phases of a kind, whatever a study asks of them.
pub(crate) struct KindRow {
    /// Which databases run it.
    pub(crate) engines: Engines,
    /// What a sentence calls such phases, if an ageing may have them after each pass, and its control measures them.
    pub(crate) repeated: Option<&'static str>,
}

/// Which databases run a kind of phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engines {
    /// The page engine.
    Pages,
    /// Those that take SQL.
    Sql,
    /// Both.
    All,
    /// None: it works on a tree of files.
    Files,
}

/// What ends a phase.
pub(crate) enum Ends {
    /// Its time, or its work where the study says no time.
    Either,
    /// Its time alone: what to tell a study that says none.
    Time(Told),
    /// Its work alone: what to tell a study that says a time.
    Work(Told),
}

/// A message and its cure.
pub(crate) type Told = (&'static str, &'static str);

/// For kinds that go on until somebody ends them.
pub(crate) const NO_END: Told = (
    "this phase never ends by itself",
    "write how long it runs: time = \"60s\"",
);

/// Of kinds that are over when all is done; each says for itself when that is.
pub(crate) const OWN_END: &str = "this phase ends when its work is done";

/// Whether a phase is compared between stacks.
pub(crate) enum Ranking {
    /// Unless the study says no.
    Usual,
    /// Where the study says yes.
    Asked,
    /// Never: what to tell a study that says yes.
    Never(Told),
}

/// What a phase keeps in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Sessions, users or readers at the same time.
    pub sessions: u32,
    /// Requests of each at a time.
    pub each: u32,
    /// It moves data from end to end; else its requests go anywhere.
    pub is_in_order: bool,
}

impl Engines {
    /// Whether databases that take SQL are among them.
    pub(crate) fn has_sql(self) -> bool {
        matches!(self, Engines::Sql | Engines::All)
    }
}

impl InFlight {
    /// Of sessions whose requests go anywhere, one at a time.
    pub(crate) fn scattered(sessions: u32) -> InFlight {
        InFlight {
            sessions,
            each: 1,
            is_in_order: false,
        }
    }

    /// Of what goes through its data in order.
    pub(crate) fn in_order(sessions: u32) -> InFlight {
        InFlight {
            is_in_order: true,
            ..InFlight::scattered(sessions)
        }
    }
}

/// Bytes that are loaded for a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loads {
    /// Once a trial, the same for all phases of its kind.
    pub(crate) once: u64,
    /// In the phase itself.
    pub(crate) within: u64,
}

/// How fast a study is taken to go, for an estimate.
pub(crate) struct Pace {
    /// Bytes a second that are moved.
    pub(crate) bytes_per_second: u64,
    /// Bytes a second that an ageing changes.
    pub(crate) aged_bytes_per_second: u64,
    /// Bytes of the data; 0 where only the machine knows.
    pub(crate) data_bytes: u64,
    /// Bytes of one schema of it.
    pub(crate) schema_bytes: u64,
    /// Bytes of the redo log.
    pub(crate) redo_bytes: u64,
}

impl Pace {
    /// Nanoseconds for so many bytes.
    pub(crate) fn moving_ns(&self, bytes: u64) -> u64 {
        moving_ns(bytes, self.bytes_per_second)
    }
}

/// Nanoseconds for so many bytes at so many a second.
pub(crate) fn moving_ns(bytes: u64, bytes_per_second: u64) -> u64 {
    let ns = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_second.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
