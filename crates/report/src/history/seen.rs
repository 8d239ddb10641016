//! One finished phase with all that was seen in it, and the runs of one phase on one stack.
//!
//! Prevents: a run that came through and must not count, counted.

use crate::cells::answers::Answers;
use crate::cells::ramp::Ramp;
use crate::distribution::Distribution;
use crate::figures::Figure;
use crate::spent::timeline::PhaseTime;
use ledger::{
    BulkLoadRow, DecisionSupport, FileServing, InstanceRow, Measure, OrderEntry, PhaseId, PhaseRun, PhaseStatus,
    Sample, Slice, UserScan,
};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

/// One finished phase with all that was seen in it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub id: PhaseId,
    pub run: PhaseRun,
    pub measures: BTreeMap<Measure, f64>,
    pub histograms: Vec<Distribution>,
    pub slices: Vec<Slice>,
    pub scans: Vec<UserScan>,
    pub instances: Vec<InstanceRow>,
    /// Bytes that arrays with inline reduction kept, from time to time.
    pub stored: Vec<Sample>,
    pub orders: Option<OrderEntry>,
    pub questions: Option<DecisionSupport>,
    pub bulk: Vec<BulkLoadRow>,
    pub serving: Option<FileServing>,
    /// How its answers stand to each other and to those of other runs.
    pub answers: Answers,
    /// What its ramp came to, as far as that was asked for.
    pub ramp: OnceCell<Ramp>,
    /// p99 of response that its kind is judged by, as far as that was asked for.
    pub response_p99_ns: Cell<Option<Option<f64>>>,
}

impl Seen {
    pub(crate) fn get(&self, measure: Measure) -> Option<f64> {
        self.measures.get(&measure).copied().filter(|value| value.is_finite())
    }

    /// Whether its instances were on several hosts.
    pub(crate) fn is_on_several_hosts(&self) -> bool {
        self.get(Measure::HostsClockBoundNs).is_some()
    }

    /// Processor time of the host. Of several hosts one alone was observed, and the operations are those of all.
    pub(crate) fn busy_ns(&self) -> Option<f64> {
        self.get(Measure::CpuBusyNs).filter(|_| !self.is_on_several_hosts())
    }

    /// Sum of the measures that are there; `None` when none is.
    pub(crate) fn sum(&self, measures: &[Measure]) -> Option<f64> {
        let found: Vec<f64> = measures.iter().filter_map(|measure| self.get(*measure)).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// Seconds of the phase, drain included: the divisor of every rate.
    pub(crate) fn total_s(&self) -> f64 {
        self.run.elapsed_ns.saturating_add(self.run.drain_ns) as f64 / 1e9
    }

    /// Whether it came through; of these some do not count ([`Seen::counts`]).
    pub(crate) fn is_valid(&self) -> bool {
        self.run.status == PhaseStatus::Valid
    }

    /// Why it does not count though it came through.
    pub(crate) fn refused(&self) -> Option<Refused> {
        let slept = self.get(Measure::ClockSleptNs).filter(|ns| *ns > CLOCK_STEP_NS_MAX);
        slept
            .map(Refused::Slept)
            .or_else(|| self.mostly_stolen().map(Refused::Stolen))
    }

    /// The share of all processor time that the hypervisor took, where it was most of a ranked run's. What is not
    /// ranked took longer for it and left what it would have left.
    pub(crate) fn mostly_stolen(&self) -> Option<f64> {
        let much = self.get(Measure::CpuStealNs)? >= STEAL_NS_REFUSED && self.run.ranked;
        let share = self.get(Measure::CpuStealShare)?;
        Some(share).filter(|share| much && *share > STEAL_REFUSED)
    }

    /// Whether its numbers are in ratios and figures.
    pub(crate) fn counts(&self) -> bool {
        self.is_valid() && self.refused().is_none()
    }

    /// When it ran, for where the time of the study went.
    pub(super) fn time(&self) -> PhaseTime<'_> {
        PhaseTime {
            run: &self.run,
            serving: self.serving.as_ref(),
            counts: self.counts(),
        }
    }
}

/// What shuts a run out that came through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refused {
    /// The host slept for so many nanoseconds.
    Slept(f64),
    /// The hypervisor gave this share of all processor time to others.
    Stolen(f64),
}

/// Of all processor time, wanted or not: so a rate is more the neighbours' than the stack's. (Where a hypervisor does a
/// guest's I/O on the guest's processors, a stack that wants little of them and moves much loses as much as it wants by
/// itself: that is a doubt, and no neighbour.) In phases too short for a second of it, such a burst is scatter.
const STEAL_REFUSED: f64 = 0.5;
const STEAL_NS_REFUSED: f64 = 1e9;
/// Reading three clocks takes microseconds; a step that anybody would make is larger.
pub(crate) const CLOCK_STEP_NS_MAX: f64 = 10e6;

/// The runs of one phase on one stack.
pub(crate) trait Runs {
    /// Over all of them.
    fn figure(&self, value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure>;

    /// What they measured.
    fn measured(&self, measure: Measure) -> Option<Figure> {
        self.figure(|run| run.get(measure))
    }
}

impl Runs for [&Seen] {
    fn figure(&self, value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure> {
        Figure::of(self.iter().map(|run| value(run)))
    }
}
