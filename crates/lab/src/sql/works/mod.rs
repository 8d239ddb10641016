//! Work on a database that takes SQL: what a kind of phase must offer there, and what it is given.
//!
//! Prevents: work whose outcome another kind of phase has to know how to read.

mod loads;
mod orders;
mod questions;
mod scattered;

use super::contract::{Counted, Sql, Trial};
use super::generator::Generator;
use super::questions::Answers;
use super::refresh::Refreshing;
use super::rows::Entered;
use super::steps::Steps;
use crate::trial::around::Around;
use crate::trial::done::Done;
use databases::order_entry::Scale;
use plan::Phase;
use workloads::Outcome;

/// Work in SQL.
pub(crate) trait InSql {
    /// All of it, before the database is brought home.
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted>;

    /// Whether the database's own conditions are asked before it and after it.
    fn has_conditions(&self) -> bool {
        false
    }

    /// What follows it and is made before its time. Who makes something may read the tables for it.
    fn prepare(&self, _generator: &Generator<'_>, _sql: &mut dyn Sql) -> anyhow::Result<Option<Refreshing>> {
        Ok(None)
    }

    /// What it alone has to tell once the database is at rest, and why it does not count, if so.
    fn tell(&self, _rested: &mut Rested<'_>, _sql: &mut dyn Sql, _done: &mut Done) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A phase, as its work sees it.
pub(crate) struct Asked<'a> {
    pub(super) trial: &'a Trial<'a>,
    pub(super) around: &'a Around<'a>,
    pub(super) phase: &'a Phase,
    pub(super) seed: u64,
    /// Empties the page cache between two steps that are held against each other.
    pub(super) cold: &'a dyn Fn() -> anyhow::Result<()>,
    /// What follows the questions of decision support.
    pub(super) refreshing: Option<&'a Refreshing>,
}

/// Work that is over, on a database that is at rest.
pub(crate) struct Rested<'a> {
    pub(super) asked: Asked<'a>,
    pub(super) acted: Acted,
    /// What the database counted.
    pub(super) counted: Counted,
    /// The most that its users can have waited for devices, nanoseconds.
    pub(super) waited_ns_most: Option<u64>,
    pub(super) conditions: &'a mut Conditions,
}

/// The conditions of order entry around a phase: the number of each that is broken, with the rows that break it.
/// `None`: they were not asked.
pub(crate) struct Conditions {
    /// The company that they are asked of.
    pub(super) company: Option<Scale>,
    pub(super) before: Option<Vec<(u8, u64)>>,
    pub(super) after: Option<Vec<(u8, u64)>>,
}

/// What was done, before the database is brought home.
pub(crate) struct Acted {
    pub(in crate::sql) outcome: Outcome,
    /// The most that worked at once.
    pub(in crate::sql) users: u32,
    pub(in crate::sql) entered: Entered,
    /// Updates that the database refused to end a deadlock; each was made again.
    pub(in crate::sql) deadlocks: u64,
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
            deadlocks: 0,
            bulk: Vec::new(),
            answers: Answers::default(),
            refreshes: Vec::new(),
        }
    }

    fn of_steps(steps: Steps) -> Acted {
        Acted::of(steps.into_one().expect("at least one step"))
    }
}
