//! One phase on a database: driven, brought to rest, and told by its work.
//!
//! Prevents: a phase that ended while its last commits were on their way home, and one kind of phase that is asked what
//! another kind does.

use super::contract::{Sql, Trial};
use super::generator::Generator;
use super::refresh::Refreshing;
use super::rows;
use super::works::{Asked, Conditions, Rested};
use crate::host::beside::all_errors;
use crate::host::elsewhere;
use crate::host::observed::Host;
use crate::surroundings::Seen;
use crate::trial::around::{Around, phase_seed};
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use anyhow::Context;
use ledger::Measure;
use plan::Phase;

/// A phase and what it is run in.
pub(super) struct Work<'a> {
    pub(super) trial: &'a Trial<'a>,
    pub(super) around: &'a Around<'a>,
    pub(super) phase: &'a Phase,
    pub(super) ordinal: usize,
    /// Empties the page cache, and has models play from memory again.
    pub(super) cold: &'a dyn Fn() -> anyhow::Result<()>,
    /// Nothing is measured until caches are emptied again: models play at their devices' own pace.
    pub(super) own_pace: &'a dyn Fn() -> anyhow::Result<()>,
    /// What makes new orders.
    pub(super) generator: Generator<'a>,
    /// Asked before it, and after it where its work has some.
    pub(super) conditions: Conditions,
}

impl<'a> Work<'a> {
    pub(super) fn run(&mut self, sql: &mut dyn Sql, host: &mut Host<'_>) -> anyhow::Result<Done> {
        self.trial.stand.built.check()?;
        let work = crate::kinds::of(&self.phase.kind).in_sql();
        let work = work.with_context(|| format!("a database in SQL can't run {}", self.phase.name))?;
        if self.phase.kind.tpch().is_some_and(|tpch| tpch.refresh > 0) {
            // It reads tables, which nobody measures.
            (self.own_pace)()?;
        }
        let refreshing = work.prepare(&self.generator, sql)?;
        if refreshing.is_some() {
            // It read the tables.
            (self.cold)()?;
        }
        sql.begin_count()?;
        let mended = sql.condition().mended;
        host.start()?;
        let acted = work.act(&self.asked(refreshing.as_ref()), sql)?;
        let waited_ns_most = host.waited_ns_most(acted.users)?;
        let unsettled = sql.settle().context("checkpoint")?;
        let proof_ns = host.rest().context("drain")?;
        let now = targets::monotonic_ns();
        let mut seen = host.stop()?;
        (self.own_pace)()?;
        seen.notes.extend(unsettled);
        if self.trial.stand.stack.kind.server().is_some() {
            elsewhere::keep_users(&mut seen);
        }
        let counted = sql.counted()?;
        let condition = sql.condition();
        if let Some(lost) = condition.lost {
            seen.invalid = Some(lost);
        }
        add_mended(&mut seen, all_errors(None, (mended, condition.mended)));
        // Of a server, whose client may be the limit; SQLite works in these threads itself.
        let busy = acted
            .outcome
            .busy_share
            .map(|share| (Measure::GeneratorBusyShare, share));
        let elapsed_ns = acted.outcome.elapsed_ns;
        let drain_ns = now.saturating_sub(acted.outcome.ended).saturating_sub(proof_ns);
        let mut done = Done {
            elapsed_ns,
            drain_ns,
            measures: rows::counted(&counted).into_iter().chain(busy).collect(),
            seen,
            ..Done::default()
        };
        let mut rested = Rested {
            asked: self.asked(refreshing.as_ref()),
            acted,
            counted,
            waited_ns_most,
            conditions: &mut self.conditions,
        };
        work.tell(&mut rested, sql, &mut done)?;
        done.driven = Some(Driven::of(rested.acted.outcome));
        Ok(done)
    }

    /// The phase, as its work sees it.
    fn asked<'w>(&self, refreshing: Option<&'w Refreshing>) -> Asked<'w>
    where
        'a: 'w,
    {
        Asked {
            trial: self.trial,
            around: self.around,
            phase: self.phase,
            seed: phase_seed(self.trial.turn.block.seed, self.ordinal),
            cold: self.cold,
            refreshing,
        }
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
