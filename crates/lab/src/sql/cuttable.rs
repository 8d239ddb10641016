//! What a database in SQL is to a power cut or a kill: it works, is ended without a word, rises again, and shows what it kept.

use super::contract::Trial;
use super::kept::Kept;
use plan::{Phase, PhaseKind};
use std::time::Duration;

/// Takes the power away, or what a kill takes beside the database.
pub(super) type Stop<'a> = dyn Fn() -> anyhow::Result<()> + 'a;

/// A database that survives a power cut or a kill, or does not.
pub(super) trait Cuttable {
    /// Which it is and how it is set.
    fn describe(&mut self) -> anyhow::Result<ledger::Database>;
    /// Sessions write, each from a number of its own on, until the power fails after this time; then everything of the database is
    /// ended without a word. Gives the last number that each session had an acknowledgement for by then.
    fn work(&mut self, first: &[u64], after: Duration, stop: &Stop<'_>) -> anyhow::Result<Vec<u64>>;
    /// Recovers it on what survived.
    fn rise(&mut self) -> anyhow::Result<()>;
    /// Every row that is there.
    fn kept(&mut self) -> anyhow::Result<Kept>;
    /// Ends it without a word.
    fn fall(&mut self);
    /// Makes it again, empty, on a stack that was made anew.
    fn make_anew(&mut self) -> anyhow::Result<()>;
    /// Ends it in good order.
    fn close(self: Box<Self>) -> anyhow::Result<()>;
}

/// The most sessions of any phase.
pub(super) fn sessions(trial: &Trial<'_>) -> u32 {
    let of = |phase: &Phase| match &phase.kind {
        PhaseKind::PowerCut(cut) => cut.work.sessions,
        _ => 0,
    };
    trial.study.phases.iter().map(of).max().unwrap_or(1)
}
