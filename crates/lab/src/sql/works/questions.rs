//! Decision support: steps of questions, and the refresh functions after them.
//!
//! Prevents: a step that finds in the page cache what the step before it read, and steps that go on though a question
//! took longer than the study lets it.

use super::{Acted, Asked, InSql, Rested};
use crate::sql::contract::Sql;
use crate::sql::generator::Generator;
use crate::sql::questions::{self, Answers};
use crate::sql::refresh::{self, Refreshing};
use crate::sql::steps::Steps;
use crate::trial::done::Done;
use plan::Tpch;

impl InSql for Tpch {
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted> {
        let (mut steps, mut answers, mut most) = (Steps::default(), Answers::default(), 1);
        for (users, asking) in questions::steps(self, asked.trial.study.seed.unwrap_or(1), asked.seed)? {
            if self.is_curve() {
                asked.around.doing(asked.phase, &format!(" · {users} users"));
            }
            if answers.has_any() {
                (asked.cold)()?;
            }
            let step = sql.ask(&asking)?;
            crate::signals::check(asked.trial.turn.cancel)?;
            steps.add(answers.add(users, step));
            most = most.max(users);
            if answers.is_past_limit() {
                break;
            }
        }
        let mut acted = Acted {
            users: most,
            answers,
            ..Acted::of_steps(steps)
        };
        if let Some(refreshing) = asked.refreshing {
            acted.refreshes = refreshing.run(sql, &mut acted.outcome)?;
        }
        crate::signals::check(asked.trial.turn.cancel)?;
        Ok(acted)
    }

    fn prepare(&self, generator: &Generator<'_>, sql: &mut dyn Sql) -> anyhow::Result<Option<Refreshing>> {
        Refreshing::prepare(self, generator, sql)
    }

    fn tell(&self, rested: &mut Rested<'_>, sql: &mut dyn Sql, done: &mut Done) -> anyhow::Result<()> {
        let acted = &mut rested.acted;
        let (answers, refreshes) = (std::mem::take(&mut acted.answers), std::mem::take(&mut acted.refreshes));
        let asked = questions::rows(self, answers, refreshes);
        let refreshing = rested.asked.refreshing;
        let wrong = refreshing.map(|refreshing| refreshing.tables_wrong(sql)).transpose()?;
        done.measures.extend(refresh::measure(wrong));
        if let Some(why) = questions::judge(&asked).or(wrong.and_then(refresh::judge)) {
            done.seen.invalid = Some(why);
        }
        done.questions = Some(asked);
        Ok(())
    }
}
