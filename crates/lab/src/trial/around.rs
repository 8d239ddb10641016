//! What surrounds a phase in a trial, and how a finished one becomes rows of the result file.
//!
//! For every database and every kind of phase alike. Prevents: a phase that ran, or failed, and stands nowhere.

use crate::full;
use crate::record::{self, unix_ns};
use crate::signals;
use crate::sizes::Sizes;
use crate::surroundings::Seen;
use crate::trial::drive::Driven;
use crate::turn::Turn;
use anyhow::Context;
use ledger::{Ledger, Measure, PhaseKind, PhaseRun, PhaseStatus, TrialId};
use pages::Shape;
use plan::{Phase, Study};

/// What stays the same through a trial, or through a leg of it between two copies.
pub(crate) struct Around<'a> {
    pub(crate) study: &'a Study,
    /// Of the page engine; `None` where another database works.
    pub(crate) sizes: Option<&'a Sizes>,
    pub(crate) trial: TrialId,
    pub(crate) stack: &'a str,
    pub(crate) turn: &'a Turn<'a>,
    /// Recorded with every phase.
    pub(crate) fixed: Vec<(Measure, f64)>,
}

/// What can follow a recorded phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next phase.
    Next,
    /// None, for the stack has no space left.
    Full,
}

impl Around<'_> {
    /// Of the page engine's database.
    pub(crate) fn shape(&self) -> &Shape {
        &self.sizes.expect("the page engine has sizes").shape
    }

    /// Runs `work` as a phase of the ledger, and counts it as progress.
    pub(crate) fn recorded(
        &self,
        ledger: &mut Ledger,
        phase: &Phase,
        ordinal: usize,
        work: impl FnOnce() -> anyhow::Result<Done>,
    ) -> anyhow::Result<After> {
        self.doing(phase, "");
        let began = unix_ns();
        let done = work();
        self.record(ledger, phase, ordinal, began, done)
    }

    /// Records a phase that began at that time and ended with `done`, and counts it as progress.
    pub(crate) fn record(
        &self,
        ledger: &mut Ledger,
        phase: &Phase,
        ordinal: usize,
        began: u64,
        done: anyhow::Result<Done>,
    ) -> anyhow::Result<After> {
        let head = |elapsed_ns, drain_ns, status| self.head((phase, ordinal, began), (elapsed_ns, drain_ns), status);
        let mut after = After::Next;
        match done {
            Ok(mut done) if done.failed.is_some() => {
                signals::check(self.turn.cancel)?;
                let error = done.failed.take().context("an error")?;
                let run = head(done.elapsed_ns, 0, PhaseStatus::Failed(format!("{error:#}")));
                self.found(ledger, run, done, &error)?;
                return Err(error.context(format!("stack `{}`, phase `{}`", self.stack, phase.name)));
            }
            Ok(done) if done.full.is_some() => {
                let run = head(
                    done.elapsed_ns,
                    0,
                    PhaseStatus::Failed(done.full.clone().unwrap_or_default()),
                );
                self.ran_out(ledger, run, done)?;
                after = After::Full;
            }
            Ok(done) => {
                self.tell_invalid(phase, done.seen.invalid.as_deref());
                let status = done
                    .seen
                    .invalid
                    .clone()
                    .map_or(PhaseStatus::Valid, PhaseStatus::Invalid);
                let run = head(done.elapsed_ns, done.drain_ns, status);
                let mut measures = self.fixed.clone();
                measures.extend(done.measures);
                ledger.record_phase(&record::finished(
                    run,
                    done.driven.as_ref(),
                    done.counters.as_ref(),
                    &measures,
                    done.seen,
                    (done.order_entry, done.bulk_loads),
                )?)?;
            }
            Err(error) if full::ran_out_of_space(&error) => {
                let why = full::words(0, 0);
                let run = head(0, 0, PhaseStatus::Failed(why.clone()));
                self.ran_out(ledger, run, Done::out_of_space(why))?;
                after = After::Full;
            }
            Err(error) => {
                signals::check(self.turn.cancel)?;
                let status = PhaseStatus::Failed(format!("{error:#}"));
                ledger.record_phase(&record::failed(head(0, 0, status), &error))?;
                return Err(error.context(format!("stack `{}`, phase `{}`", self.stack, phase.name)));
            }
        }
        signals::check(self.turn.cancel)?;
        self.turn.progress.advance(1);
        Ok(after)
    }

    fn head(
        &self,
        (phase, ordinal, began_unix_ns): (&Phase, usize, u64),
        (elapsed_ns, drain_ns): (u64, u64),
        status: PhaseStatus,
    ) -> PhaseRun {
        PhaseRun {
            trial: self.trial,
            ordinal: ordinal as u32,
            name: phase.name.clone(),
            kind: kind(phase),
            ranked: phase.ranked,
            began_unix_ns,
            elapsed_ns,
            drain_ns,
            status,
        }
    }

    fn tell_invalid(&self, phase: &Phase, why: Option<&str>) {
        let Some(why) = why else { return };
        let (block, stack) = (self.turn.block.number + 1, self.stack);
        let said = format!(
            "block {block}: {stack}, {}: INVALID, the run goes on: {why}",
            phase.name
        );
        self.turn.progress.line(&said);
    }

    /// Records a phase that failed, with what it had found by then.
    fn found(&self, ledger: &mut Ledger, run: PhaseRun, done: Done, error: &anyhow::Error) -> anyhow::Result<()> {
        let mut measures = self.fixed.clone();
        measures.extend(done.measures);
        measures.extend(record::failed(run.clone(), error).measures);
        let record = record::finished(run, None, None, &measures, done.seen, (None, Vec::new()))?;
        ledger.record_phase(&record)?;
        Ok(())
    }

    /// Records a phase that ended for want of space: a result of the stack, with what was seen by then.
    fn ran_out(&self, ledger: &mut Ledger, run: PhaseRun, done: Done) -> anyhow::Result<()> {
        let (block, stack) = (self.turn.block.number + 1, self.stack);
        let why = done.full.unwrap_or_default();
        self.turn
            .progress
            .line(&format!("block {block}: {stack}, {}: {why}; the run goes on", run.name));
        let mut measures = self.fixed.clone();
        measures.extend(done.measures);
        measures.push((Measure::OutOfSpace, 1.0));
        let record = record::finished(
            run,
            None,
            done.counters.as_ref(),
            &measures,
            done.seen,
            (None, Vec::new()),
        )?;
        ledger.record_phase(&record)?;
        Ok(())
    }

    /// Says what is being done.
    pub(crate) fn doing(&self, phase: &Phase, how_far: &str) {
        self.turn.progress.doing(&format!(
            "block {} · {} · {}{how_far}",
            self.turn.block.number + 1,
            self.stack,
            phase.name
        ));
    }
}

/// A finished phase.
pub(crate) struct Done {
    /// What the loop saw; `None` where no work was driven.
    pub(crate) driven: Option<Driven>,
    /// What the page engine counted.
    pub(crate) counters: Option<pages::Counters>,
    pub(crate) elapsed_ns: u64,
    pub(crate) drain_ns: u64,
    /// Of this phase alone, beyond what engine and surroundings count.
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) seen: Seen,
    /// It ended because the stack had no space left: the result in words.
    pub(crate) full: Option<String>,
    /// It failed after it had found what must not be lost with the error.
    pub(crate) failed: Option<anyhow::Error>,
    /// Of a database in SQL.
    pub(crate) order_entry: Option<ledger::OrderEntry>,
    /// Of a database in SQL.
    pub(crate) bulk_loads: Vec<ledger::BulkLoadRow>,
}

impl Done {
    /// A phase of which nothing is known but that there was no space for it.
    fn out_of_space(why: String) -> Done {
        Done {
            driven: None,
            counters: None,
            elapsed_ns: 0,
            drain_ns: 0,
            measures: Vec::new(),
            seen: Seen::default(),
            full: Some(why),
            failed: None,
            order_entry: None,
            bulk_loads: Vec::new(),
        }
    }
}

/// Seed of a phase: the same on all stacks of a block, another for each phase.
pub(crate) fn phase_seed(block_seed: u64, ordinal: usize) -> u64 {
    block_seed ^ (ordinal as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn kind(phase: &Phase) -> PhaseKind {
    match &phase.kind {
        plan::PhaseKind::Random(random) if random.rate.is_some() => PhaseKind::Open,
        plan::PhaseKind::Random(_) => PhaseKind::Random,
        plan::PhaseKind::Scan(_) => PhaseKind::Scan,
        plan::PhaseKind::Age(_) => PhaseKind::Age,
        plan::PhaseKind::Copy(_) => PhaseKind::Copy,
        plan::PhaseKind::Rebalance(_) => PhaseKind::Rebalance,
        plan::PhaseKind::Tpcc(tpcc) if tpcc.rate.is_some() => PhaseKind::TpccOpen,
        plan::PhaseKind::Tpcc(_) => PhaseKind::Tpcc,
        plan::PhaseKind::Bulk(_) => PhaseKind::Bulk,
        plan::PhaseKind::PowerCut(cut) => match cut.end {
            plan::End::PowerCut => PhaseKind::PowerCut,
            plan::End::Kill => PhaseKind::Kill,
        },
    }
}
