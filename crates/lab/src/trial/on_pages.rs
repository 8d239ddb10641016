//! Work on the page engine: what a kind of phase must offer, whole or in stints, and what it is given.
//!
//! Prevents: work of one instance that is told as the work of all, and an interruption of work that cannot go on.

use crate::group::changing::Changes;
use crate::instances::others::Others;
use crate::instances::shares::{self, Part};
use crate::moves::rebalance::Told;
use crate::ports::PageEngine;
use crate::trial::around::{Around, phase_seed};
use crate::trial::drive::{Driven, Paced, Work, slice_ns};
use pages::{Counters, PausedScan, Shape};
use plan::{Duration, Phase, Random};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::Pacing;

/// Work of a phase on open instances.
pub(crate) trait PageWork {
    /// All of it, without the drain.
    fn run(&self, stage: &mut Stage<'_>) -> anyhow::Result<Worked>;

    /// Bytes of distinct pages that it touched.
    fn touched(&self, shape: &Shape, counters: &Counters) -> u64 {
        touched_by_draws(shape, None, counters)
    }

    /// The same work in stints, if it can be interrupted.
    fn in_stints(&self) -> Option<&dyn InStints> {
        None
    }
}

/// What a phase works on.
pub(crate) struct Stage<'a> {
    pub(crate) instance: &'a mut PageEngine,
    pub(crate) others: &'a mut Others,
    pub(crate) around: &'a Around<'a>,
    pub(crate) ordinal: usize,
    /// The disk group or the volume that the database lies in.
    pub(crate) changes: Option<&'a dyn Changes>,
}

/// What was done.
pub(crate) struct Worked {
    /// By all instances together.
    pub(crate) driven: Driven,
    /// What there is to tell beside that.
    pub(crate) told: Told,
    /// By each of several instances.
    pub(crate) each: Vec<Part>,
}

impl<'a> Stage<'a> {
    pub(crate) fn phase(&self) -> &'a Phase {
        &self.around.study.phases[self.ordinal]
    }

    pub(crate) fn seed(&self) -> u64 {
        phase_seed(self.around.turn.block.seed, self.ordinal)
    }

    pub(crate) fn cancel(&self) -> &'a Arc<AtomicBool> {
        self.around.turn.cancel
    }

    /// Work of all instances at this pace; `own` is the part of this one.
    pub(crate) fn all(
        &mut self,
        work: Work,
        pacing: Pacing,
        own: impl FnOnce(&mut PageEngine, &Paced) -> anyhow::Result<Driven>,
    ) -> anyhow::Result<Worked> {
        let (phase, workers, seed) = (self.phase(), self.around.study.workers, self.seed());
        let (cancel, instance) = (self.cancel(), &mut *self.instance);
        let paced = Paced {
            work,
            pacing,
            seed,
            at: None,
        };
        if self.others.is_none() {
            return Ok(Worked {
                driven: own(instance, &paced)?,
                told: Told::default(),
                each: Vec::new(),
            });
        }
        let (driven, mut theirs) = self.others.with(paced, cancel, |paced| own(instance, paced))?;
        theirs.insert(0, driven);
        let each: Vec<Part> = theirs.iter().map(Part::of).collect();
        // Work without a time ends when it is done, and that is a part of the result.
        let told = Told {
            overlap: phase.time.map(|_| shares::overlap(&each)),
            ..Told::default()
        };
        Ok(Worked {
            driven: Driven::together(theirs, self.others.spread(workers)),
            told,
            each,
        })
    }
}

/// Scans that were interrupted, a worker each.
pub(crate) type Paused = Option<Vec<PausedScan>>;

/// Work that can be interrupted and goes on.
pub(crate) trait InStints: PageWork {
    /// One stint on the instance, without the drain; and whether the work has come to its end by itself.
    fn stint(
        &self,
        instance: &mut PageEngine,
        stint: &Stint<'_>,
        paused: &mut Paused,
    ) -> anyhow::Result<(Driven, bool)>;
}

/// A turn of one side in a phase.
pub(crate) struct Stint<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) cancel: &'a Arc<AtomicBool>,
}

impl Stint<'_> {
    /// Width of slices: that of the whole phase, and a stint is a whole number of them.
    pub(crate) fn paced(&self, pacing: Pacing) -> Pacing {
        let usual = slice_ns(self.phase.time).min(self.time.0);
        let slice_ns = self.time.0.div_ceil(self.time.0.div_ceil(usual));
        Pacing { slice_ns, ..pacing }
    }
}

/// Bytes of distinct pages that random reads touched: the expected number of distinct pages after that many uniform
/// draws from a range, n (1 - exp(-draws / n)) (the occupancy problem), range by range: hot spot, hot schema, the rest.
pub(crate) fn touched_by_draws(shape: &Shape, random: Option<&Random>, counters: &Counters) -> u64 {
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
