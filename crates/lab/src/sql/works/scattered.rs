//! Random work on rows of a table.
//!
//! Prevents: sessions that come in another way than those of the page engine.

use super::{Acted, Asked, InSql, Rested};
use crate::sql::contract::Sql;
use crate::trial::done::Done;
use crate::trial::drive::random_pacing;
use plan::Random;

impl InSql for Random {
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted> {
        let pacing = random_pacing(self, asked.phase.time, asked.trial.turn.cancel);
        let worked = sql.scattered(self, asked.trial.scattered_rows, &pacing, asked.seed)?;
        let deadlocks = worked.refused.iter().map(|[_, deadlocks]| deadlocks).sum();
        Ok(Acted {
            deadlocks,
            ..Acted::of(worked.outcome)
        })
    }

    fn tell(&self, rested: &mut Rested<'_>, _: &mut dyn Sql, done: &mut Done) -> anyhow::Result<()> {
        let deadlocks = rested.acted.deadlocks;
        if deadlocks > 0 {
            let words = format!("the server refused {deadlocks} updates to end deadlocks; each was made again");
            done.seen.remarks.push(words);
        }
        Ok(())
    }
}
