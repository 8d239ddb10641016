//! Order entry: steps of a load curve, each with its users.
//!
//! Prevents: a step whose users begin with the random numbers of the step before.

use super::{Acted, Asked, InSql};
use crate::sql::contract::{Orders, Sql, scale_of};
use crate::sql::rows::Entered;
use crate::sql::steps::Steps;
use crate::trial::drive::slice_ns;
use plan::Tpcc;
use workloads::{Arrival, Pacing, Schedule, Stop};

impl InSql for Tpcc {
    fn act(&self, asked: &Asked<'_>, sql: &mut dyn Sql) -> anyhow::Result<Acted> {
        let scale = scale_of(self)?;
        let is_curve = self.users.len() > 1;
        let (mut steps, mut entered) = (Steps::default(), Entered::new(is_curve));
        for (nth, users) in self.users.iter().enumerate() {
            if is_curve {
                asked.around.doing(asked.phase, &format!(" · {users} users"));
            }
            let work = Orders {
                scale,
                home: match self.home {
                    plan::Home::Fixed => databases::order_entry::Home::Fixed,
                    plan::Home::Any => databases::order_entry::Home::Any,
                },
                load_seed: asked.trial.turn.block.seed,
                seed: asked.seed.wrapping_add(nth as u64),
                pauses: self.think_time,
                pacing: pacing(asked, self, *users),
            };
            let worked = sql.orders(&work)?;
            crate::signals::check(asked.trial.turn.cancel)?;
            steps.add(entered.add(*users, worked)?);
        }
        Ok(Acted {
            users: self.users_most(),
            entered,
            ..Acted::of_steps(steps)
        })
    }
}

fn pacing(asked: &Asked<'_>, tpcc: &Tpcc, users: u32) -> Pacing {
    Pacing {
        sessions: users,
        arrival: match tpcc.rate {
            Some(rate_per_s) => Arrival::Open {
                rate_per_s,
                schedule: Schedule::Poisson,
            },
            None => Arrival::Closed { think: None },
        },
        stop: Stop {
            time_ns: asked.phase.time.map(|time| time.0),
            operations_per_session: None,
        },
        slice_ns: slice_ns(asked.phase.time),
        cancel: Some(asked.trial.turn.cancel.clone()),
    }
}
