//! Work on a database that takes SQL: what a kind of phase must offer there, and what it is given.
//!
//! Prevents: work whose outcome another kind of phase has to know how to read.

mod loads;
mod orders;
mod questions;
mod scattered;

use super::contract::{Sql, Trial};
use super::questions::Answers;
use super::refresh::Refreshing;
use super::rows::Entered;
use super::steps::Steps;
use crate::trial::around::Around;
use plan::Phase;
use workloads::Outcome;

/// Work in SQL.
pub(crate) trait InSql {
    /// All of it, before the database is brought home.
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted>;
}

/// A phase, as its work sees it.
pub(crate) struct Asked<'a> {
    pub(super) trial: &'a Trial<'a>,
    pub(super) around: &'a Around<'a>,
    pub(super) phase: &'a Phase,
    pub(super) seed: u64,
    /// What follows the questions of decision support.
    pub(super) refreshing: Option<&'a Refreshing>,
}

/// What was done, before the database is brought home.
pub(crate) struct Acted {
    pub(in crate::sql) outcome: Outcome,
    /// The most that worked at once.
    pub(in crate::sql) users: u32,
    pub(in crate::sql) entered: Entered,
    pub(in crate::sql) bulk: Vec<ledger::BulkLoadRow>,
    pub(in crate::sql) answers: Answers,
    pub(in crate::sql) refreshes: Vec<ledger::RefreshRow>,
}

impl Acted {
    fn of(outcome: Outcome) -> Acted {
        Acted {
            outcome,
            users: 1,
            entered: Entered::default(),
            bulk: Vec::new(),
            answers: Answers::default(),
            refreshes: Vec::new(),
        }
    }

    fn of_steps(steps: Steps) -> Acted {
        Acted::of(steps.into_one().expect("at least one step"))
    }
}
