//! One stack, once: the phases on an open instance, each recorded as it ends.
//!
//! Generic over the port and over what surrounds it, so that a model in virtual time and a host with devices go through
//! the same lines.

use crate::drive;
use crate::record::{self, unix_ns};
use crate::signals;
use crate::site::Turn;
use crate::sizes::Sizes;
use crate::surroundings::Surroundings;
use anyhow::Context;
use ledger::{Ledger, Measure, PhaseKind, PhaseRecord, PhaseRun, PhaseStatus, TrialId};
use pages::Instance;
use plan::{Phase, Study};
use targets::Port;

/// What stays the same through a trial.
pub(crate) struct Around<'a> {
    pub(crate) study: &'a Study,
    pub(crate) sizes: &'a Sizes,
    pub(crate) trial: TrialId,
    pub(crate) stack: &'a str,
    pub(crate) turn: &'a Turn<'a>,
    /// Recorded with every phase.
    pub(crate) fixed: Vec<(Measure, f64)>,
}

/// Runs all phases of the study on an instance that has just been loaded.
pub(crate) fn phases<P: Port + Send, S: Surroundings<P>>(
    instance: &mut Instance<P>,
    surroundings: &mut S,
    around: &Around<'_>,
    ledger: &mut Ledger,
) -> anyhow::Result<()> {
    for (ordinal, phase) in around.study.phases.iter().enumerate() {
        signals::check(around.turn.cancel)?;
        around.turn.progress.doing(&format!(
            "block {} · {} · {}",
            around.turn.block.number + 1,
            around.stack,
            phase.name
        ));
        let began = unix_ns();
        let head = |elapsed_ns, drain_ns, status| PhaseRun {
            trial: around.trial,
            ordinal: ordinal as u32,
            name: phase.name.clone(),
            kind: kind(phase),
            ranked: phase.ranked,
            began_unix_ns: began,
            elapsed_ns,
            drain_ns,
            status,
        };
        match one(instance, surroundings, around, phase, ordinal) {
            Ok(done) => {
                let status = done
                    .seen
                    .invalid
                    .clone()
                    .map_or(PhaseStatus::Valid, PhaseStatus::Invalid);
                let run = head(done.driven.outcome.elapsed_ns, done.drain_ns, status);
                let mut fixed = around.fixed.clone();
                fixed.push((Measure::WorkingSetTouchedBytes, done.touched_bytes as f64));
                ledger.record_phase(&record::finished(run, &done.driven, &done.counters, &fixed, done.seen)?)?;
            }
            Err(error) => {
                signals::check(around.turn.cancel)?;
                let status = PhaseStatus::Failed(format!("{error:#}"));
                ledger.record_phase(&PhaseRecord::new(head(0, 0, status)))?;
                return Err(error.context(format!("stack `{}`, phase `{}`", around.stack, phase.name)));
            }
        }
        signals::check(around.turn.cancel)?;
        around.turn.progress.advance(1);
    }
    Ok(())
}

struct Done {
    driven: drive::Driven,
    counters: pages::Counters,
    drain_ns: u64,
    touched_bytes: u64,
    seen: crate::surroundings::Seen,
}

fn one<P: Port + Send, S: Surroundings<P>>(
    instance: &mut Instance<P>,
    surroundings: &mut S,
    around: &Around<'_>,
    phase: &Phase,
    ordinal: usize,
) -> anyhow::Result<Done> {
    let before = instance.counters();
    surroundings.begin(instance)?;
    let driven = drive::phase(
        instance,
        phase,
        phase_seed(around.turn.block.seed, ordinal),
        around.turn.cancel,
    )?;
    // The phase has not ended before what it wrote is where it belongs; the time of that is charged to it.
    instance.checkpoint()?;
    let proof_ns = surroundings.settle(instance).context("drain")?;
    let now = instance.ports_mut().map(|port| port.now()).max().unwrap_or(0);
    let seen = surroundings.end(instance)?;
    let counters = instance.counters() - before;
    Ok(Done {
        drain_ns: now.saturating_sub(driven.outcome.ended).saturating_sub(proof_ns),
        touched_bytes: touched(around.sizes, phase, &counters),
        driven,
        counters,
        seen,
    })
}

/// Seed of a phase: the same on all stacks of a block, another for each phase.
fn phase_seed(block_seed: u64, ordinal: usize) -> u64 {
    block_seed ^ (ordinal as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn kind(phase: &Phase) -> PhaseKind {
    match &phase.kind {
        plan::PhaseKind::Random(random) if random.rate.is_some() => PhaseKind::Open,
        plan::PhaseKind::Random(_) => PhaseKind::Random,
        plan::PhaseKind::Scan(_) => PhaseKind::Scan,
    }
}

/// Bytes of distinct pages touched. Scans: what was read. Random reads: the expected number of distinct pages after that
/// many uniform draws, n (1 - exp(-draws / n)) (the occupancy problem); a hot spot would touch fewer.
fn touched(sizes: &Sizes, phase: &Phase, counters: &pages::Counters) -> u64 {
    let data = sizes.shape.data_bytes();
    match &phase.kind {
        plan::PhaseKind::Scan(_) => counters.multiblock_read_bytes.min(data),
        plan::PhaseKind::Random(_) => {
            let pages = sizes.shape.pages() as f64;
            let distinct = pages * -(-(counters.logical_reads as f64) / pages).exp_m1();
            (distinct * f64::from(sizes.shape.page_bytes)) as u64
        }
    }
}
