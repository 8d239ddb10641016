//! Refresh functions of a phase of decision support: made before it, run after its questions, judged after it.
//!
//! Takes a database with the tables; gives rows of the result file. Prevents: time of the generator in the time of the
//! database, and tables that are not what they were.

use super::contract::Sql;
use super::generator::Generator;
use anyhow::Context;
use databases::decision_support::{Held, RefreshSet, Scale};
use ledger::RefreshRow;
use plan::Tpch;
use workloads::Outcome;

/// What is going to be inserted and deleted, and what the tables held before.
pub(super) struct Refreshing {
    sets: Vec<RefreshSet>,
    before: Vec<Held>,
}

impl Refreshing {
    /// `None`: the phase has none.
    pub(super) fn prepare(
        tpch: Option<&Tpch>,
        generator: &Generator<'_>,
        sql: &mut dyn Sql,
    ) -> anyhow::Result<Option<Refreshing>> {
        let Some(tpch) = tpch.filter(|tpch| tpch.refresh > 0) else {
            return Ok(None);
        };
        let scale = Scale::new(tpch.scale)?;
        let sets = (0..tpch.refresh).map(|set| RefreshSet::of(generator, scale, set));
        Ok(Some(Refreshing {
            sets: sets.collect::<Result<_, _>>().context("make new orders")?,
            before: sql.refreshed()?,
        }))
    }

    /// Runs them; their time follows that of the questions.
    pub(super) fn run(&self, sql: &mut dyn Sql, outcome: &mut Outcome) -> anyhow::Result<Vec<RefreshRow>> {
        let began = targets::monotonic_ns();
        let done = sql.refresh(&self.sets)?;
        outcome.ended = targets::monotonic_ns();
        outcome.elapsed_ns += outcome.ended - began;
        let row = |one: &databases::decision_support::Refreshed| RefreshRow {
            orders: one.orders,
            lines: one.lines,
            insert_ns: one.insert_ns,
            delete_ns: one.delete_ns,
        };
        Ok(done.iter().map(row).collect())
    }

    /// Why the phase does not count, if it does not.
    pub(super) fn judge(&self, sql: &mut dyn Sql) -> anyhow::Result<Option<String>> {
        let after = sql.refreshed()?;
        let words = "the refresh functions deleted what they had inserted, and the tables are not what they were: rows \
             or values were lost, and that is data loss, whatever the speed";
        Ok((after != self.before).then(|| words.to_string()))
    }
}
