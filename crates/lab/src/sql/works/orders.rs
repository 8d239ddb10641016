//! Order entry: steps of a load curve, each with its users.
//!
//! Afterwards the database's own conditions are asked. Prevents: a step whose users begin with the random numbers of
//! the step before, and a phase that counts though its database lost an order.

use super::{Acted, Asked, Conditions, InSql, Rested};
use crate::sql::contract::{Database, Orders, Sql, scale_of};
use crate::sql::kinds;
use crate::sql::rows::{self, Entered};
use crate::sql::steps::Steps;
use crate::surroundings::Seen;
use crate::trial::done::Done;
use crate::trial::drive::slice_ns;
use anyhow::Context;
use databases::order_entry::CONDITIONS;
use ledger::{AskedAt, Measure};
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

    fn has_conditions(&self) -> bool {
        true
    }

    fn tell(&self, rested: &mut Rested<'_>, sql: &mut dyn Sql, done: &mut Done) -> anyhow::Result<()> {
        let engine = &rested.asked.trial.stand.stack.engine;
        let database = kinds::of(engine).context("the page engine takes no SQL")?;
        let storage = database.storage(&rested.counted, rested.waited_ns_most);
        done.measures
            .extend(storage.as_ref().map(|(ns, _)| (Measure::DatabaseStorageNs, *ns)));
        judge(rested, sql, &mut done.seen)?;
        let entered = std::mem::take(&mut rested.acted.entered);
        done.measures.extend(entered.sent());
        let told_by = storage.map(|(_, who)| who);
        done.order_entry = Some(order_entry(self, entered, database, told_by, rested.conditions)?);
        Ok(())
    }
}

/// Asks the conditions; a database that breaks one has no figures.
fn judge(rested: &mut Rested<'_>, sql: &mut dyn Sql, seen: &mut Seen) -> anyhow::Result<()> {
    let Some(scale) = &rested.conditions.company else {
        return Ok(());
    };
    rested
        .asked
        .around
        .doing(rested.asked.phase, " · asking the conditions");
    let after = sql.broken(scale)?;
    let before = rested.conditions.before.as_deref().unwrap_or_default();
    for (moment, broken) in [(AskedAt::Before, before), (AskedAt::After, after.as_slice())] {
        if let Some((number, found)) = broken.first() {
            let says = CONDITIONS.iter().find(|c| c.number == *number).map_or("", |c| c.says);
            seen.invalid = Some(format!(
                "consistency condition {number} is broken {} the phase ({found} rows): {says}",
                moment.as_str()
            ));
        }
    }
    rested.conditions.after = Some(after);
    Ok(())
}

fn order_entry(
    tpcc: &Tpcc,
    entered: Entered,
    database: &dyn Database,
    storage_told_by: Option<String>,
    conditions: &Conditions,
) -> anyhow::Result<ledger::OrderEntry> {
    let scale = scale_of(tpcc)?;
    let asked = [
        (AskedAt::Before, &conditions.before),
        (AskedAt::After, &conditions.after),
    ];
    let conditions = asked
        .into_iter()
        .filter_map(|(moment, broken)| Some(rows::conditions(moment, broken.as_ref()?)))
        .flatten()
        .collect();
    Ok(ledger::OrderEntry {
        users: tpcc.users_most(),
        warehouses: tpcc.warehouses,
        items: scale.items,
        customers: scale.customers,
        isolation: database.isolation(),
        arrival: if tpcc.rate.is_some() {
            ledger::Arrival::Open
        } else {
            ledger::Arrival::Closed
        },
        pauses: tpcc.think_time,
        home: match tpcc.home {
            plan::Home::Fixed => ledger::Home::Own,
            plan::Home::Any => ledger::Home::Any,
        },
        storage_told_by,
        transactions: entered.transactions(),
        conditions,
        waits: entered.waits()?,
        steps: entered.load_steps(),
    })
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
