//! Bulk loads, one after another, each into an empty table.
//!
//! Prevents: a load that counts as done while its rows are on their way home.

use super::{Acted, Asked, InSql, Rested};
use crate::sql::contract::Sql;
use crate::sql::rows;
use crate::sql::steps::Steps;
use crate::trial::done::Done;
use ledger::BulkLoadRow;
use plan::Bulk;

impl InSql for Bulk {
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted> {
        let (mut steps, mut loads): (_, Vec<BulkLoadRow>) = (Steps::default(), Vec::new());
        for &count in &self.rows {
            if let Some(before) = loads.last_mut() {
                // The next load begins with an empty table, and the time of this one has ended. What the look reads is
                // counted to the phase: to keep all tables until nothing is counted would take the room of all.
                before.space = rows::bulk_space(&sql.bulk_space()?);
            }
            asked.around.doing(asked.phase, &format!(" · {count} rows"));
            let result = sql.bulk(count, self.commit_every, asked.trial.turn.cancel)?;
            crate::signals::check(asked.trial.turn.cancel)?;
            loads.push(rows::bulk_load(&result)?);
            let mut outcome = result.outcome;
            // The time of a load ends when all is home.
            outcome.elapsed_ns = result.elapsed_ns;
            outcome.ended = outcome.began + result.elapsed_ns;
            steps.add(outcome);
        }
        Ok(Acted {
            bulk: loads,
            ..Acted::of_steps(steps)
        })
    }

    fn tell(&self, rested: &mut Rested<'_>, sql: &mut dyn Sql, done: &mut Done) -> anyhow::Result<()> {
        // The look at the largest table may read all of it: nothing is counted any more.
        if let Some(last) = rested.acted.bulk.last_mut() {
            last.space = rows::bulk_space(&sql.bulk_space()?);
        }
        done.bulk_loads = std::mem::take(&mut rested.acted.bulk);
        Ok(())
    }
}
