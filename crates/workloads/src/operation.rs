//! The contract between the hot loop and what it drives: an engine below hands in an [`Operation`], the loop brings
//! sessions, pacing, stamps and histograms. The loop never learns what an operation does.

use targets::Nanos;

/// Operations of one worker: up to thousands of sessions, each with at most one operation under way.
pub trait Operation {
    /// What stops the phase.
    type Error;

    /// The clock of all stamps.
    fn now(&self) -> Nanos;

    /// Names of the classes of operation, indexed by [`Done::class`]; at most 16.
    fn classes(&self) -> &[&'static str];

    /// Starts the next operation of `session`. It may end at once, and is then pushed to `done` as any other.
    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, Self::Error>;

    /// Moves operations on: sends their I/O, waits until at least one of them ends or `until` has come, and pushes the
    /// ended ones. With `until` `None` and operations under way it blocks until one ends.
    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), Self::Error>;

    /// Closed arrival: how long after the beginning the first operation of `session` is due, ns. Asked once per
    /// session, before anything starts. For users who are in the middle of a pause when the phase begins.
    fn first_pause_ns(&mut self, session: u32) -> u64 {
        let _ = session;
        0
    }

    /// Closed arrival: how long `session`, whose operation has just ended, pauses of its own accord before its next one
    /// is due, ns. Asked once per operation; added to the pause that the pacing asks for. For users whose pauses depend
    /// on what they do.
    fn pause_ns(&mut self, session: u32) -> u64 {
        let _ = session;
        0
    }
}

/// Answer to [`Operation::start`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// The operation runs (or has already been pushed to `done`).
    Running,
    /// This session has no more work; it is not started again in this phase.
    Exhausted,
}

/// The end of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The session.
    pub session: u32,
    /// Index into [`Operation::classes`].
    pub class: u8,
    /// When it ended.
    pub at: Nanos,
    /// Work in it: pages touched, bytes scanned: the operation's own unit, summed per class.
    pub units: u64,
}
