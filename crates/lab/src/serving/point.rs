//! One point of a ramp: the tree grown, warmed up, loaded, watched, brought to rest.
//!
//! Prevents: growth and warm-up counted as work, and what a point left unwritten counted at the next.

use super::{rows, work};
use crate::host::observed::Host;
use crate::surroundings::Seen;
use anyhow::Context;
use files::{FilesError, Point};
use ledger::{LoadPoint, Measure};
use plan::{Limit, LimitOf, Rate, Serving};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::Outcome;

/// A point that was run.
pub(super) struct Ran {
    pub(super) row: LoadPoint,
    pub(super) outcome: Outcome,
    pub(super) seen: Seen,
    /// Syncing and coming to rest.
    pub(super) drain_ns: u64,
    /// Inside the limit, and its rate was reached.
    pub(super) inside: bool,
}

/// What all points of a ramp have.
pub(super) struct Ramp<'a> {
    pub(super) serving: &'a Serving,
    /// Of each point, without its warm-up.
    pub(super) time_ns: u64,
    pub(super) seed: u64,
    /// When the phase began.
    pub(super) since: u64,
    pub(super) cancel: &'a Arc<AtomicBool>,
}

impl Ramp<'_> {
    /// Grows the tree to the data of a load, and has it written.
    pub(super) fn grow(&self, tree: &mut files::Serving, rate: Rate, host: &mut Host<'_>) -> anyhow::Result<()> {
        tree.grow_to(self.serving.data_bytes(rate), false)?;
        host.rest().context("rest before a point")?;
        Ok(())
    }

    /// Runs a point.
    pub(super) fn run(&self, tree: &mut files::Serving, rate: Rate, host: &mut Host<'_>) -> anyhow::Result<Ran> {
        let seed = self.seed ^ rate.0.to_bits();
        let mut warm_up = None;
        if self.serving.warm_up.0 > 0 {
            let pacing = work::pacing(self.serving, rate.0, self.serving.warm_up.0, self.cancel);
            warm_up = Some(tree.run(&pacing, !seed)?);
            host.rest().context("rest after the warm-up of a point")?;
        }
        let pacing = work::pacing(self.serving, rate.0, self.time_ns, self.cancel);
        host.start()?;
        let point = tree.run(&pacing, seed)?;
        let proof_ns = host.rest().context("rest after a point")?;
        let drain_ns = targets::monotonic_ns()
            .saturating_sub(point.outcome.ended)
            .saturating_sub(proof_ns);
        let mut seen = host.stop()?;
        rows::count_answers(&mut seen, warm_up.as_ref(), &point);
        seen.measures.push((Measure::FilesDrainNs, drain_ns as f64));
        Ok(Ran {
            row: rows::point(rate.0, self.since, self.time_ns, &point, &seen)?,
            inside: self.inside(&point),
            outcome: point.outcome,
            seen,
            drain_ns,
        })
    }

    /// As the report judges it: arrivals are drawn, so what fell due counts, not the rate that was asked.
    fn inside(&self, point: &Point) -> bool {
        let outcome = &point.outcome;
        let due = outcome.count().saturating_add(outcome.unsent);
        let reached = outcome.in_time_count as f64 >= self.serving.reached.0 * due as f64;
        reached
            && self
                .serving
                .until
                .is_none_or(|limit| response_ns(&point.outcome, limit) <= limit.response.0 as f64)
    }
}

/// The response that a limit holds for, over all classes.
fn response_ns(outcome: &Outcome, limit: Limit) -> f64 {
    let mut classes = outcome.classes.iter().filter(|class| class.count > 0);
    let Some(first) = classes.next() else { return 0.0 };
    let mut all = first.response.clone();
    for class in classes {
        all.add(&class.response).expect("all latencies have one range");
    }
    match limit.of {
        LimitOf::Mean => all.mean(),
        LimitOf::P99 => all.value_at_quantile(0.99) as f64,
    }
}

/// The stack has no space for the data.
pub(super) fn is_full(error: &anyhow::Error) -> bool {
    let of_files =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().is_some_and(FilesError::is_out_of_space);
    error.chain().any(of_files) || crate::full::ran_out_of_space(error)
}
