//! One stack, once: the phases on an open instance, each recorded as it ends.
//!
//! Generic over the port and what surrounds it: a model in virtual time and a host go through the same lines.

use crate::full;
use crate::group::changing::Changes;
use crate::instances::others::Others;
use crate::instances::process;
use crate::instances::settled::{Settled, fewest};
use crate::instances::shares;
use crate::kinds::{self, OnPages};
use crate::moves::rebalance::Told;
use crate::ports::PageEngine;
use crate::signals;
use crate::surroundings::{Seen, Surroundings};
use crate::trial::around::{After, Around};
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use crate::trial::on_pages::{PageWork, Stage};
use anyhow::Context;
use ledger::{InstanceRow, Ledger, Measure};
use plan::Phase;
use targets::Port;

/// How a leg of a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// All phases are done.
    Done,
    /// The phase of this number is a copy: the instance must be closed and opened elsewhere.
    Copy(usize),
    /// The phase of this number cuts the power or kills the engine: the instance is closed, and opened after each cut.
    Cut(usize),
    /// The stack has no space left: no phase can follow.
    Full,
}

/// A database that stands loaded, with what surrounds it: what phases run on.
pub(crate) struct Loaded<'a> {
    pub(crate) instance: PageEngine,
    /// Those that have the rest of its workers.
    pub(crate) others: Others,
    pub(crate) surroundings: Box<dyn Surroundings + 'a>,
    pub(crate) around: &'a Around<'a>,
    /// The disk group or the volume that it lies in.
    pub(crate) changes: Option<&'a dyn Changes>,
}

/// Work that was observed from its first operation to the last device at rest: a phase, or a stint of one.
pub(crate) struct Piece {
    /// `None` where the stack had no space left.
    pub(crate) driven: Option<Driven>,
    pub(crate) counters: pages::Counters,
    /// Checkpoints of the worker that had the fewest, of all instances, with that of the drain.
    pub(crate) checkpoints_least: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) seen: Seen,
    /// What each instance did, where there are several.
    pub(crate) instances: Vec<InstanceRow>,
    /// It ended because the stack had no space left: the result in words.
    pub(crate) full: Option<String>,
}

/// When a piece of work ends with a checkpoint, and everything below at rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Always,
    /// Where something was changed: what only read leaves nothing behind.
    AfterChanges,
}

impl<'a> Loaded<'a> {
    /// Runs the phases of the study from number `first` on, up to the next copy.
    pub(crate) fn phases(&mut self, ledger: &mut Ledger, first: usize) -> anyhow::Result<Leg> {
        let around = self.around;
        for (ordinal, phase) in around.study.phases.iter().enumerate().skip(first) {
            signals::check(around.turn.cancel)?;
            let work = match kinds::of(&phase.kind).on_pages() {
                OnPages::Work(work) => work,
                OnPages::Copy => return Ok(Leg::Copy(ordinal)),
                OnPages::Cut => {
                    // What came before is as it would be on a machine that has run for a while.
                    self.instance.checkpoint()?;
                    return Ok(Leg::Cut(ordinal));
                }
                OnPages::Nothing => anyhow::bail!("{}: the page engine can't run it", phase.name),
            };
            if around.recorded(ledger, ordinal, || self.phase(ordinal, work))? == After::Full {
                return Ok(Leg::Full);
            }
        }
        Ok(Leg::Done)
    }

    fn phase(&mut self, ordinal: usize, work: &dyn PageWork) -> anyhow::Result<Done> {
        let (around, changes) = (self.around, self.changes);
        let phase = &around.study.phases[ordinal];
        self.expect(phase)?;
        let mut told = Told::default();
        let mut each = Vec::new();
        let knows_peak = !self.others.is_none() && process::forget_peak();
        self.others.read_clocks()?;
        let before = self.shares(knows_peak);
        let mut piece = self.observed(End::Always, |instance, others| {
            let worked = work.run(&mut Stage {
                instance,
                others,
                around,
                ordinal,
                changes,
            })?;
            (told, each) = (worked.told, worked.each);
            Ok(worked.driven)
        })?;
        if !each.is_empty() {
            let after = self.shares(knows_peak);
            let bound_ns = self.others.clock_bound_ns()?;
            piece.instances = shares::told(&each, (&before, &after), (told.overlap, bound_ns), &mut piece.seen);
        }
        piece.seen.samples.extend(told.samples);
        piece.seen.invalid = piece.seen.invalid.or(told.invalid);
        Ok(self.done(work, piece, told.measures))
    }

    /// This phase comes next.
    pub(crate) fn expect(&mut self, phase: &Phase) -> anyhow::Result<()> {
        self.instance.count_overwritten();
        self.others.begin_phase()?;
        self.surroundings.expect(phase);
        Ok(())
    }

    /// Does `work` on the instance, and observes it.
    pub(crate) fn observed(
        &mut self,
        end: End,
        work: impl FnOnce(&mut PageEngine, &mut Others) -> anyhow::Result<Driven>,
    ) -> anyhow::Result<Piece> {
        let (before, checkpoints) = (self.counters(), self.instance.checkpoints_of_workers());
        self.surroundings.begin(&mut self.instance)?;
        let began = self.now();
        let worked = work(&mut self.instance, &mut self.others);
        let worked = worked.and_then(|driven| Ok((driven, self.settle(end, &before)?)));
        let now = self.now();
        let (driven, proof_ns, full) = match worked {
            Ok((driven, proof_ns)) => (Some(driven), proof_ns, None),
            Err(error) if full::ran_out_of_space(&error) => (None, 0, Some(self.full())),
            Err(error) => return Err(error),
        };
        let seen = self.surroundings.end(&mut self.instance, full.is_some())?;
        let drain_ns = |driven: &Driven| now.saturating_sub(driven.outcome.ended).saturating_sub(proof_ns);
        Ok(Piece {
            elapsed_ns: driven
                .as_ref()
                .map_or(now.saturating_sub(began), |d| d.outcome.elapsed_ns),
            drain_ns: driven.as_ref().map_or(0, drain_ns),
            driven,
            counters: self.counters() - before,
            checkpoints_least: self.checkpoints_least(&checkpoints),
            seen,
            instances: Vec::new(),
            full,
        })
    }

    /// Brings home what was written since; gives the time that was spent only on proving that everything is at rest.
    fn settle(&mut self, end: End, before: &pages::Counters) -> anyhow::Result<u64> {
        if end == End::AfterChanges && (self.counters() - *before).commits == 0 {
            return Ok(0);
        }
        // The phase has not ended before what it wrote is where it belongs; the time of that is charged to it.
        let (instance, cancel) = (&mut self.instance, self.around.turn.cancel);
        self.others.settle(cancel, || Ok(instance.checkpoint()?))?;
        self.surroundings.settle(&mut self.instance).context("drain")
    }

    /// A phase that is over, from all that was seen of it.
    pub(crate) fn done(&self, work: &dyn PageWork, piece: Piece, mut measures: Vec<(Measure, f64)>) -> Done {
        let shape = self.around.shape();
        let touched = work.touched(shape, &piece.counters);
        // Where time is virtual nobody measured a ceiling, and a thread's own time says nothing.
        let has_ceiling = (self.around.fixed.iter()).any(|(measure, _)| *measure == Measure::GeneratorCeilingIops);
        let busy = piece.driven.as_ref().and_then(|driven| driven.outcome.busy_share);
        measures.extend(
            busy.filter(|_| has_ceiling)
                .map(|share| (Measure::GeneratorBusyShare, share)),
        );
        measures.push((Measure::WorkingSetTouchedBytes, touched as f64));
        let knows_all = piece.full.is_none() || self.others.is_none();
        if piece.counters.commits > 0 && knows_all {
            let overwritten = self.overwritten_pages() * u64::from(shape.page_bytes);
            measures.push((Measure::EngineOverwrittenBytes, overwritten as f64));
            measures.push((Measure::EngineCheckpointsLeast, piece.checkpoints_least as f64));
        }
        Done {
            elapsed_ns: piece.elapsed_ns,
            drain_ns: piece.drain_ns,
            driven: piece.driven,
            counters: Some(piece.counters),
            measures,
            seen: piece.seen,
            instances: piece.instances,
            full: piece.full,
            ..Done::default()
        }
    }

    /// What all instances have counted.
    fn counters(&self) -> pages::Counters {
        self.instance.counters() + self.others.counters()
    }

    /// Distinct pages that came home since the phase began, of all instances.
    fn overwritten_pages(&self) -> u64 {
        self.instance.overwritten_pages() + self.others.overwritten_pages()
    }

    /// That no space is left, in words. Others have not settled: what they brought home in this phase is not known.
    fn full(&self) -> String {
        match self.others.is_none() {
            true => full::words(self.instance.overwritten_pages(), self.around.shape().pages()),
            false => full::words_of_several(),
        }
    }

    /// Checkpoints of the worker of all instances that had the fewest. `before`: of this instance's workers.
    fn checkpoints_least(&self, before: &[u64]) -> u64 {
        let own = fewest(before, &self.instance.checkpoints_of_workers());
        self.others.checkpoints_least().map_or(own, |theirs| own.min(theirs))
    }

    /// What each instance has counted and taken, this one first; nothing where it is alone.
    fn shares(&self, knows_peak: bool) -> Vec<Settled> {
        if self.others.is_none() {
            return Vec::new();
        }
        let own = Settled {
            counters: self.instance.counters(),
            ..process::taken(knows_peak)
        };
        [vec![own], self.others.settled()].concat()
    }

    /// The latest of the workers' clocks.
    pub(crate) fn now(&mut self) -> u64 {
        self.instance.ports_mut().map(|port| port.now()).max().unwrap_or(0)
    }
}
