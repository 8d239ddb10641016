//! Random work on rows of a table.
//!
//! Prevents: sessions that come in another way than those of the page engine.

use super::{Acted, Asked, InSql};
use crate::sql::contract::Sql;
use crate::trial::drive::random_pacing;
use plan::Random;

impl InSql for Random {
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted> {
        let pacing = random_pacing(self, asked.phase.time, asked.trial.turn.cancel);
        let worked = sql.scattered(self, asked.trial.scattered_rows, &pacing, asked.seed)?;
        Ok(Acted::of(worked.outcome))
    }
}
