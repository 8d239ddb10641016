//! Refresh functions of a phase of decision support: made before it, run after its questions, judged after it.
//!
//! Takes a database with the tables; gives rows of the result file. Prevents: time of the generator in the time of the
//! database, and tables that are not what they were.

use super::contract::Sql;
use super::generator::Generator;
use anyhow::Context;
use databases::decision_support::{Held, RefreshSet, Scale};
use ledger::{Measure, RefreshRow};
use plan::Tpch;
use workloads::Outcome;

/// What is going to be inserted and deleted, and what the tables held before.
pub(crate) struct Refreshing {
    sets: Vec<RefreshSet>,
    before: Vec<Held>,
}

impl Refreshing {
    /// `None`: the phase has none.
    pub(super) fn prepare(
        tpch: &Tpch,
        generator: &Generator<'_>,
        sql: &mut dyn Sql,
    ) -> anyhow::Result<Option<Refreshing>> {
        if tpch.refresh == 0 {
            return Ok(None);
        }
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

    /// How many tables are not what they were before.
    pub(super) fn tables_wrong(&self, sql: &mut dyn Sql) -> anyhow::Result<usize> {
        Ok(unlike(&self.before, &sql.refreshed()?))
    }
}

fn unlike<T: PartialEq>(before: &[T], after: &[T]) -> usize {
    let pairs = before.iter().zip(after);
    pairs.filter(|(before, after)| before != after).count() + before.len().abs_diff(after.len())
}

/// Why a phase does not count after which so many tables are wrong.
pub(super) fn judge(tables_wrong: usize) -> Option<String> {
    (tables_wrong > 0).then(|| {
        "the refresh functions deleted what they had inserted, and the tables are not what they were: rows or values \
         were lost, and that is data loss, whatever the speed"
            .to_string()
    })
}

/// The count for the report, where it was asked for.
pub(super) fn measure(tables_wrong: Option<usize>) -> Option<(Measure, f64)> {
    tables_wrong.map(|tables| (Measure::DatabaseTablesWrong, tables as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_refresh_functions_left_changed_is_counted_and_shuts_the_phase_out() {
        assert_eq!(unlike(&["orders", "lines"], &["orders", "lines"]), 0);
        let wrong = unlike(&["orders", "lines"], &["orders", "fewer lines"]);
        assert_eq!(measure(Some(wrong)), Some((Measure::DatabaseTablesWrong, 1.0)));
        assert!(judge(wrong).is_some_and(|why| why.contains("data loss")));
        assert_eq!((judge(0), measure(None)), (None, None));
    }
}
