//! What the lab does in a kind of phase: one trait, which each kind answers in a file of its own.
//!
//! Prevents: work that is begun on a database that has no way to do it. What a kind cannot do it does not offer.

use crate::sql::works::InSql;
use crate::trial::on_pages::PageWork;
use plan::Serving;

/// A kind of phase in the lab.
pub(crate) trait Kind {
    /// What the result file calls it.
    fn recorded(&self) -> ledger::PhaseKind;

    /// What it is to a trial of the page engine.
    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Nothing
    }

    /// Its work on a database that takes SQL, if it has some there. Power cuts and kills have trials of their own.
    fn in_sql(&self) -> Option<&dyn InSql> {
        None
    }

    /// What it is to a trial of file serving, if anything.
    fn on_files(&self) -> Option<OnFiles<'_>> {
        None
    }
}

/// What a phase is to a trial of the page engine.
pub(crate) enum OnPages<'a> {
    /// Work on the open instance.
    Work(&'a dyn PageWork),
    /// The instance is closed, and opened elsewhere.
    Copy,
    /// The instance is ended in the middle of its work, again and again.
    Cut,
    /// It is of other databases.
    Nothing,
}

/// What a phase is to a trial of file serving.
pub(crate) enum OnFiles<'a> {
    /// A ramp of loads.
    Ramp(&'a Serving),
    /// The server is ended in the middle of its work, again and again.
    Cut,
}
