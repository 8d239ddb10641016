//! One stack, once: the phases on an open instance, each recorded as it ends.
//!
//! Generic over the port and over what surrounds it, so that a model in virtual time and a host with devices go through
//! the same lines.

use crate::full;
use crate::moves::rebalance::{self, Regroup, Told};
use crate::record::{self, unix_ns};
use crate::signals;
use crate::site::Turn;
use crate::sizes::Sizes;
use crate::surroundings::{Seen, Surroundings};
use crate::trial::ageing;
use crate::trial::drive::{self, Driven};
use anyhow::Context;
use ledger::{Ledger, Measure, PhaseKind, PhaseRun, PhaseStatus, TrialId};
use pages::{Instance, Shape};
use plan::{Phase, Study};
use targets::Port;

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

/// How a leg of a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// All phases are done.
    Done,
    /// The phase of this number is a copy: the instance must be closed and opened elsewhere.
    Copy(usize),
    /// The phase of this number cuts the power or kills the engine: the instance must be closed, and is opened again after each cut.
    Cut(usize),
    /// The stack has no space left: no phase can follow.
    Full,
}

/// What can follow a recorded phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next phase.
    Next,
    /// None, for the stack has no space left.
    Full,
}

/// Runs the phases of the study from number `first` on an instance, up to the next copy.
pub(crate) fn phases<P: Port + Send, S: Surroundings<P>>(
    instance: &mut Instance<P>,
    surroundings: &mut S,
    around: &Around<'_>,
    ledger: &mut Ledger,
    first: usize,
    regroup: Option<&dyn Regroup>,
) -> anyhow::Result<Leg> {
    for (ordinal, phase) in around.study.phases.iter().enumerate().skip(first) {
        signals::check(around.turn.cancel)?;
        if let plan::PhaseKind::Copy(_) = &phase.kind {
            return Ok(Leg::Copy(ordinal));
        }
        if let plan::PhaseKind::PowerCut(_) = &phase.kind {
            // What came before is as it would be on a machine that has run for a while.
            instance.checkpoint()?;
            return Ok(Leg::Cut(ordinal));
        }
        let after = around.recorded(ledger, phase, ordinal, || {
            one(instance, surroundings, around, phase, ordinal, regroup)
        })?;
        if after == After::Full {
            let left = around.study.phases.len() - ordinal - 1;
            around.turn.progress.advance(left as u64);
            return Ok(Leg::Full);
        }
    }
    Ok(Leg::Done)
}

impl Around<'_> {
    /// Of the page engine's database.
    fn shape(&self) -> &Shape {
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

fn one<P: Port + Send, S: Surroundings<P>>(
    instance: &mut Instance<P>,
    surroundings: &mut S,
    around: &Around<'_>,
    phase: &Phase,
    ordinal: usize,
    regroup: Option<&dyn Regroup>,
) -> anyhow::Result<Done> {
    instance.count_overwritten();
    surroundings.expect(phase);
    let mut told = Told::default();
    let mut piece = observed(instance, surroundings, around, End::Always, |instance| {
        work(instance, around, (phase, ordinal), regroup, &mut told)
    })?;
    piece.seen.samples.extend(told.samples);
    piece.seen.invalid = piece.seen.invalid.or(told.invalid);
    Ok(done(instance, around, phase, piece, told.measures))
}

/// Work that was observed from its first operation to the last device at rest: a phase, or a stint of one.
pub(crate) struct Piece {
    /// `None` where the stack had no space left.
    pub(crate) driven: Option<Driven>,
    pub(crate) counters: pages::Counters,
    pub(crate) elapsed_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) seen: Seen,
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

/// Does `work` on an instance, and observes it.
pub(crate) fn observed<P: Port + Send, S: Surroundings<P>>(
    instance: &mut Instance<P>,
    surroundings: &mut S,
    around: &Around<'_>,
    end: End,
    work: impl FnOnce(&mut Instance<P>) -> anyhow::Result<Driven>,
) -> anyhow::Result<Piece> {
    let before = instance.counters();
    surroundings.begin(instance)?;
    let began = clock(instance);
    let worked = work(instance).and_then(|driven| {
        if end == End::AfterChanges && (instance.counters() - before).commits == 0 {
            return Ok((driven, 0));
        }
        // The phase has not ended before what it wrote is where it belongs; the time of that is charged to it.
        instance.checkpoint()?;
        Ok((driven, surroundings.settle(instance).context("drain")?))
    });
    let now = clock(instance);
    let (driven, proof_ns, full) = match worked {
        Ok((driven, proof_ns)) => (Some(driven), proof_ns, None),
        Err(error) if full::ran_out_of_space(&error) => {
            let all = around.shape().pages();
            (None, 0, Some(full::words(instance.overwritten_pages(), all)))
        }
        Err(error) => return Err(error),
    };
    let seen = surroundings.end(instance, full.is_some())?;
    let drain_ns = |driven: &Driven| now.saturating_sub(driven.outcome.ended).saturating_sub(proof_ns);
    Ok(Piece {
        elapsed_ns: driven
            .as_ref()
            .map_or(now.saturating_sub(began), |d| d.outcome.elapsed_ns),
        drain_ns: driven.as_ref().map_or(0, drain_ns),
        driven,
        counters: instance.counters() - before,
        seen,
        full,
    })
}

/// A phase that is over, from all that was seen of it.
pub(crate) fn done<P: Port>(
    instance: &Instance<P>,
    around: &Around<'_>,
    phase: &Phase,
    piece: Piece,
    mut measures: Vec<(Measure, f64)>,
) -> Done {
    let touched = touched(around.shape(), phase, &piece.counters);
    // Where time is virtual nobody measured a ceiling, and a thread's own time says nothing.
    let has_ceiling = (around.fixed.iter()).any(|(measure, _)| *measure == Measure::GeneratorCeilingIops);
    let busy = piece.driven.as_ref().and_then(|driven| driven.outcome.busy_share);
    measures.extend(
        busy.filter(|_| has_ceiling)
            .map(|share| (Measure::GeneratorBusyShare, share)),
    );
    measures.push((Measure::WorkingSetTouchedBytes, touched as f64));
    if piece.counters.commits > 0 {
        let overwritten = instance.overwritten_pages() * u64::from(around.shape().page_bytes);
        measures.push((Measure::EngineOverwrittenBytes, overwritten as f64));
    }
    Done {
        elapsed_ns: piece.elapsed_ns,
        drain_ns: piece.drain_ns,
        driven: piece.driven,
        counters: Some(piece.counters),
        measures,
        seen: piece.seen,
        full: piece.full,
        failed: None,
        order_entry: None,
        bulk_loads: Vec::new(),
    }
}

/// The latest of the workers' clocks.
pub(crate) fn clock<P: Port>(instance: &mut Instance<P>) -> u64 {
    instance.ports_mut().map(|port| port.now()).max().unwrap_or(0)
}

/// The work of a phase, without the drain.
fn work<P: Port + Send>(
    instance: &mut Instance<P>,
    around: &Around<'_>,
    (phase, ordinal): (&Phase, usize),
    regroup: Option<&dyn Regroup>,
    told: &mut Told,
) -> anyhow::Result<Driven> {
    let seed = phase_seed(around.turn.block.seed, ordinal);
    match (&phase.kind, regroup) {
        (plan::PhaseKind::Rebalance(asked), Some(regroup)) => {
            rebalance::phase(instance, regroup, (phase, asked), around, seed, told)
        }
        (plan::PhaseKind::Rebalance(_), None) => anyhow::bail!("no disk group is here to be rebalanced"),
        (plan::PhaseKind::Age(age), _) => Ok(ageing::phase(instance, (phase, age), around, seed)?),
        _ => Ok(drive::phase(instance, phase, seed, around.turn.cancel)?),
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

/// Bytes of distinct pages touched. Scans: what was read; copies and ageings: all. Random reads: the expected number of distinct pages after that
/// many uniform draws from a range, n (1 - exp(-draws / n)) (the occupancy problem), range by range: hot spot, hot schema, the rest.
fn touched(shape: &Shape, phase: &Phase, counters: &pages::Counters) -> u64 {
    let data = shape.data_bytes();
    let random = match &phase.kind {
        plan::PhaseKind::Scan(_) => return counters.multiblock_read_bytes.min(data),
        plan::PhaseKind::Copy(_) | plan::PhaseKind::Age(_) => return data,
        plan::PhaseKind::Tpcc(_) | plan::PhaseKind::Bulk(_) => return 0,
        plan::PhaseKind::Random(random) => Some(random),
        plan::PhaseKind::Rebalance(rebalance) => Some(&rebalance.work),
        plan::PhaseKind::PowerCut(_) => None,
    };
    let (all, draws) = (shape.pages() as f64, counters.logical_reads as f64);
    let one_in = |frequency: u32| {
        if frequency == 0 {
            0.0
        } else {
            1.0 / f64::from(frequency)
        }
    };
    let spot = random.and_then(|random| random.hotspot).map_or((0.0, 0.0), |spot| {
        let pages = spot.size.0.div_ceil(u64::from(shape.page_bytes)) * u64::from(shape.schemas);
        (one_in(spot.frequency), (pages as f64).min(all))
    });
    let schema = random.map_or(0.0, |random| one_in(random.hot_schema_frequency));
    let rest = (1.0 - spot.0) * (1.0 - schema);
    let ranges = [
        spot,
        ((1.0 - spot.0) * schema, f64::from(shape.pages_per_schema)),
        (rest, all),
    ];
    let distinct = |(share, pages): (f64, f64)| match pages > 0.0 {
        true => pages * -(-(draws * share) / pages).exp_m1(),
        false => 0.0,
    };
    let pages = ranges.into_iter().map(distinct).sum::<f64>().min(all);
    (pages * f64::from(shape.page_bytes)) as u64
}
