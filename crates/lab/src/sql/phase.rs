//! One phase on a database: driven, brought to rest, and judged by the database's own conditions.
//!
//! Prevents: a phase that ended while its last commits were on their way home, and one whose database lost an order.

use super::contract::{Database, Sql, Trial, scale_of};
use super::generator::Generator;
use super::kinds;
use super::questions;
use super::refresh::{self, Refreshing};
use super::rows::{self, Entered};
use super::works::Asked;
use crate::host::beside::all_errors;
use crate::host::observed::Host;
use crate::surroundings::Seen;
use crate::trial::around::{Around, phase_seed};
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use anyhow::Context;
use databases::order_entry::{CONDITIONS, Scale};
use ledger::{AskedAt, Measure};
use plan::{Phase, Tpcc};

/// A phase and what it is run in.
pub(super) struct Work<'a> {
    pub(super) trial: &'a Trial<'a>,
    pub(super) around: &'a Around<'a>,
    pub(super) phase: &'a Phase,
    pub(super) ordinal: usize,
    pub(super) company: Option<Scale>,
    /// Empties the page cache, and has models play from memory again.
    pub(super) cold: &'a dyn Fn() -> anyhow::Result<()>,
    /// What makes new orders.
    pub(super) generator: Generator<'a>,
    /// Conditions broken before it.
    pub(super) before: Option<Vec<(u8, u64)>>,
    /// Conditions broken after it.
    pub(super) after: Option<Vec<(u8, u64)>>,
}

impl Work<'_> {
    pub(super) fn run(&mut self, sql: &mut dyn Sql, host: &mut Host<'_>) -> anyhow::Result<Done> {
        self.trial.stand.built.check()?;
        let refreshing = Refreshing::prepare(self.phase.kind.tpch(), &self.generator, sql)?;
        if refreshing.is_some() {
            // It read the tables.
            (self.cold)()?;
        }
        sql.begin_count()?;
        let mended = sql.condition().mended;
        host.start()?;
        let work = crate::kinds::of(&self.phase.kind).in_sql();
        let work = work.with_context(|| format!("a database in SQL can't run {}", self.phase.name))?;
        let acted = work.act(&self.asked(refreshing.as_ref()), sql)?;
        let waited_ns_most = host.waited_ns_most(acted.users)?;
        let unsettled = sql.settle().context("checkpoint")?;
        let proof_ns = host.rest().context("drain")?;
        let now = targets::monotonic_ns();
        let mut seen = host.stop()?;
        seen.notes.extend(unsettled);
        if self.trial.stand.stack.kind.server().is_some() {
            seen.notes.extend(of_users(&seen));
            forget_host(&mut seen);
        }
        let counted = sql.counted()?;
        let condition = sql.condition();
        if let Some(lost) = condition.lost {
            seen.invalid = Some(lost);
        }
        add_mended(&mut seen, all_errors(None, (mended, condition.mended)));
        let elapsed_ns = acted.outcome.elapsed_ns;
        let drain_ns = now.saturating_sub(acted.outcome.ended).saturating_sub(proof_ns);
        let tpcc = self.phase.kind.tpcc();
        let storage = tpcc
            .and(self.database())
            .and_then(|database| database.storage(&counted, waited_ns_most));
        let mut measures = rows::counted(&counted);
        measures.extend(storage.as_ref().map(|(ns, _)| (Measure::DatabaseStorageNs, *ns)));
        let mut done = Done {
            elapsed_ns,
            drain_ns,
            measures,
            seen,
            bulk_loads: acted.bulk,
            ..Done::default()
        };
        if let Some(tpcc) = tpcc {
            self.judge(sql, &mut done.seen)?;
            let told_by = storage.map(|(_, who)| who);
            done.measures.extend(acted.entered.sent());
            done.order_entry = Some(self.order_entry(tpcc, acted.entered, told_by)?);
        }
        if let Some(tpch) = self.phase.kind.tpch() {
            let asked = questions::rows(tpch, acted.answers, acted.refreshes);
            let wrong = refreshing.map(|refreshing| refreshing.tables_wrong(sql)).transpose()?;
            done.measures.extend(refresh::measure(wrong));
            if let Some(why) = questions::judge(&asked).or(wrong.and_then(refresh::judge)) {
                done.seen.invalid = Some(why);
            }
            done.questions = Some(asked);
        }
        done.driven = Some(Driven::of(acted.outcome));
        Ok(done)
    }

    /// The phase, as its work sees it.
    fn asked<'w>(&'w self, refreshing: Option<&'w Refreshing>) -> Asked<'w> {
        Asked {
            trial: self.trial,
            around: self.around,
            phase: self.phase,
            seed: phase_seed(self.trial.turn.block.seed, self.ordinal),
            refreshing,
        }
    }

    fn database(&self) -> Option<&dyn Database> {
        kinds::of(&self.trial.stand.stack.engine)
    }

    /// Asks the conditions; a database that breaks one has no figures.
    fn judge(&mut self, sql: &mut dyn Sql, seen: &mut Seen) -> anyhow::Result<()> {
        let Some(scale) = &self.company else { return Ok(()) };
        self.around.doing(self.phase, " · asking the conditions");
        let after = sql.broken(scale)?;
        let before = self.before.as_deref().unwrap_or_default();
        for (moment, broken) in [(AskedAt::Before, before), (AskedAt::After, after.as_slice())] {
            if let Some((number, found)) = broken.first() {
                let says = CONDITIONS.iter().find(|c| c.number == *number).map_or("", |c| c.says);
                seen.invalid = Some(format!(
                    "consistency condition {number} is broken {} the phase ({found} rows): {says}",
                    moment.as_str()
                ));
            }
        }
        self.after = Some(after);
        Ok(())
    }

    fn order_entry(
        &self,
        tpcc: &Tpcc,
        entered: Entered,
        storage_told_by: Option<String>,
    ) -> anyhow::Result<ledger::OrderEntry> {
        let scale = scale_of(tpcc)?;
        let asked = [(AskedAt::Before, &self.before), (AskedAt::After, &self.after)];
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
            isolation: self.database().map_or("", |database| database.isolation()).to_string(),
            arrival: if tpcc.rate.is_some() { "open" } else { "closed" }.to_string(),
            pauses: tpcc.think_time,
            home: match tpcc.home {
                plan::Home::Fixed => "own warehouse",
                plan::Home::Any => "any warehouse",
            }
            .to_string(),
            storage_told_by,
            transactions: entered.transactions(),
            conditions,
            waits: entered.waits()?,
            steps: entered.load_steps(),
        })
    }
}

/// Reads that another copy served, to the errors that devices counted themselves.
fn add_mended(seen: &mut Seen, mended: Option<u64>) {
    let Some(mended) = mended else { return };
    let counted = seen
        .measures
        .iter_mut()
        .find(|(measure, _)| *measure == Measure::DeviceErrors);
    match counted {
        Some((_, errors)) => *errors += mended as f64,
        None => seen.measures.push((Measure::DeviceErrors, mended as f64)),
    }
}

/// A server that was there before the study is no child of this process, and may run on this host or on another:
/// processors, memory and devices that are seen here are the users' and not its own, and what others did beside the
/// phase may be its work. What remains is this process's own time, and the clock.
fn forget_host(seen: &mut Seen) {
    use Measure as M;
    seen.measures.retain(|(measure, _)| {
        !matches!(
            measure,
            M::CpuBusyNs
                | M::CpuUserNs
                | M::CpuSystemNs
                | M::CpuKernelThreadsNs
                | M::CpuCores
                | M::CpuAllowed
                | M::CpuAllowedBusyNs
                | M::CpuIdleShare
                | M::CpuStealNs
                | M::CpuStealShare
                | M::CpuOthersShare
                | M::CpuThrottledShare
                | M::CpuThrottledPeriodsShare
                | M::CpuThermalThrottles
                | M::PsiCpuSomeNs
                | M::PsiIoSomeNs
                | M::PsiIoFullNs
                | M::PsiMemorySomeNs
                | M::MemoryOwnBytesPeak
                | M::MemoryCacheBytesPeak
                | M::MemoryDirtyPeak
                | M::MemoryTotalBytesPeak
                | M::MemoryBudgetBytes
                | M::MemoryBudgetEnforced
                | M::DeviceErrors
                | M::OthersReadBytes
                | M::OthersWriteBytes
                | M::OthersUnseen
        )
    });
    seen.samples.clear();
}

/// Less is left, and users wait for a processor of their own: what the validity sheet asks of a host.
const IDLE_SHARE_MIN: f64 = 0.04;
/// So much taken from the users' host, and its limits reached so often, is what they waited for.
const STOLEN_SHARE_MAX: f64 = 0.05;
const THROTTLED_SHARE_MAX: f64 = 0.01;

/// What speaks against the users' own host, where the server's is out of sight: that it has room says nothing of the
/// server, that it has none says that the rate may be the users'.
fn of_users(seen: &Seen) -> Option<String> {
    let of = |wanted: Measure| {
        let found = seen.measures.iter().find(|(measure, _)| *measure == wanted);
        found.map(|(_, share)| *share)
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let idle = of(Measure::CpuIdleShare).filter(|share| *share < IDLE_SHARE_MIN);
    let stolen = of(Measure::CpuStealShare).filter(|share| *share > STOLEN_SHARE_MAX);
    let held = of(Measure::CpuThrottledPeriodsShare).filter(|share| *share > THROTTLED_SHARE_MAX);
    let said = [
        idle.map(|share| format!("{} of its processors' time was idle", percent(share))),
        stolen.map(|share| format!("its hypervisor gave {} of it to others", percent(share))),
        held.map(|share| format!("a limit held it back in {} of its periods", percent(share))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| {
        format!(
            "the host that plays the users was short of processors ({}), so the rate may be theirs \
             and not the server's: use fewer users, or a host with more processors for them",
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_here_is_not_told_of_a_server_that_is_not_ours() {
        // All that a host can give: what remains is this process's own, and what the server counted.
        let mut seen = Seen {
            measures: Measure::ALL.iter().map(|measure| (*measure, 1.0)).collect(),
            samples: vec![ledger::Sample {
                at_ns: 1,
                name: "cpu.busy_cores".into(),
                value: 0.1,
            }],
            ..Seen::default()
        };
        forget_host(&mut seen);
        let left = |start: &str| {
            let names = seen.measures.iter().map(|(measure, _)| measure.name());
            names.filter(|name| name.starts_with(start)).collect::<Vec<_>>()
        };
        let own = [
            "cpu.own_ns",
            "cpu.server.user_ns",
            "cpu.server.system_ns",
            "cpu.client.user_ns",
            "cpu.client.system_ns",
        ];
        assert_eq!(left("cpu."), own);
        assert_eq!(left("memory."), ["memory.server_bytes_peak"]);
        assert!(left("psi.").is_empty() && left("others.").is_empty() && seen.samples.is_empty());
        assert_eq!(left("clock.").len(), 2, "durations are of this clock");
        assert!(!left("engine.").is_empty());
    }

    #[test]
    fn users_without_a_processor_are_told_and_users_with_one_prove_nothing() {
        let with = |measures: &[(Measure, f64)]| {
            of_users(&Seen {
                measures: measures.to_vec(),
                ..Seen::default()
            })
        };
        assert_eq!(with(&[]), None);
        assert_eq!(
            with(&[(Measure::CpuIdleShare, 0.97), (Measure::CpuStealShare, 0.01)]),
            None
        );
        let short = with(&[(Measure::CpuIdleShare, 0.01), (Measure::CpuStealShare, 0.2)]).unwrap();
        assert!(short.contains("1 % of its processors' time was idle"), "{short}");
        assert!(
            short.contains("20 % of it to others") && short.contains("use fewer users"),
            "{short}"
        );
        let held = with(&[(Measure::CpuThrottledPeriodsShare, 0.5)]).unwrap();
        assert!(held.contains("in 50 % of its periods"), "{held}");
    }
}
