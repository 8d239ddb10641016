//! The clock of a result file: when trials stood, and what was done meanwhile.
//!
//! Takes trials and phases, gives a [`Timeline`] of stretches. Trials that stood side by side share one. Prevents: time
//! that counts twice where stacks take turns.

use ledger::{FileServing, Measure, PhaseRun, Trial, TrialId, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What time can be spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimePart {
    /// Work of ranked phases, where it counts.
    RankedWork,
    /// Work of other phases, where it counts.
    OtherWork,
    /// Work that does not count: of invalid and failed phases, and of trials that were run again. Of ranked phases also
    /// that in dropped blocks, and that of stacks which are not ranked there.
    WorkNotCounted,
    /// Drains: what was written comes home, and devices come to rest.
    Drain,
    /// Warm-up before the points of a ramp.
    WarmUp,
    /// Files that were made before the points of a ramp.
    MakingFiles,
    /// From the begin of a trial until its first phase: the load, its settling, and the first rest.
    Loading,
    /// Within trials, around their phases: rests, checks, reading back.
    BetweenPhases,
    /// Before, between and after trials: undo, LUN files that are written again, building, judging.
    BetweenTrials,
}

/// What a phase tells of its time.
pub(crate) struct PhaseTime<'a> {
    pub(crate) run: &'a PhaseRun,
    pub(crate) serving: Option<&'a FileServing>,
    /// It came through, and nothing of the run itself shuts it out.
    pub(crate) counts: bool,
}

/// Time in which one trial stood, or several side by side.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// The block of its trials.
    pub(crate) block: u32,
    pub(crate) began_unix_ns: u64,
    pub(crate) ended_unix_ns: u64,
    /// When its first phase began.
    pub(crate) first_unix_ns: Option<u64>,
    /// The run ended within it: what follows was another run.
    pub(crate) is_cut_short: bool,
    /// A trial failed, which ends the run: only a trial that follows was another run's.
    pub(crate) has_failed: bool,
    /// Nanoseconds that its phases took.
    pub(crate) taken_ns: BTreeMap<TimePart, f64>,
}

/// All stretches, in the order they began.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) stretches: Vec<Stretch>,
    /// When the study ended.
    pub(crate) ended_unix_ns: Option<u64>,
}

impl Timeline {
    /// Of trials in the order they began. One under way has no end yet, and is left out.
    pub(crate) fn of<'a>(
        trials: &[Trial],
        phases: impl Iterator<Item = PhaseTime<'a>>,
        ended_unix_ns: Option<u64>,
    ) -> Timeline {
        let mut of_trial: BTreeMap<TrialId, Vec<PhaseTime<'a>>> = BTreeMap::new();
        for phase in phases {
            of_trial.entry(phase.run.trial).or_default().push(phase);
        }
        let counted = counted(trials);
        let mut stretches: Vec<Stretch> = Vec::new();
        for trial in trials.iter().filter(|trial| trial.status != TrialStatus::Running) {
            let phases = of_trial.remove(&trial.id).unwrap_or_default();
            let next = Stretch::of(trial, &phases, counted.contains(&trial.id));
            match stretches.last_mut() {
                Some(last) if next.began_unix_ns < last.ended_unix_ns => last.join(next),
                _ => stretches.push(next),
            }
        }
        Timeline {
            stretches,
            ended_unix_ns,
        }
    }
}

/// Trials that count: of those that were run again the last one that ended.
fn counted(trials: &[Trial]) -> BTreeSet<TrialId> {
    let ended = |trial: &&Trial| matches!(trial.status, TrialStatus::Done | TrialStatus::Failed(_));
    let ended = trials.iter().filter(ended);
    let last: BTreeMap<(u32, &str), TrialId> = ended
        .map(|trial| ((trial.block, trial.stack.as_str()), trial.id))
        .collect();
    last.into_values().collect()
}

impl Stretch {
    fn of(trial: &Trial, phases: &[PhaseTime<'_>], counts: bool) -> Stretch {
        let mut taken_ns: BTreeMap<TimePart, f64> = BTreeMap::new();
        let mut last = trial.began_unix_ns;
        for phase in phases {
            for (part, ns) in taken(phase, counts) {
                *taken_ns.entry(part).or_default() += ns;
            }
            let run = phase.run;
            let over = run.began_unix_ns.saturating_add(run.elapsed_ns);
            last = last.max(over.saturating_add(run.drain_ns));
        }
        Stretch {
            block: trial.block,
            began_unix_ns: trial.began_unix_ns,
            // A killed run said nothing of its end.
            ended_unix_ns: trial.ended_unix_ns.unwrap_or(last),
            first_unix_ns: phases.iter().map(|phase| phase.run.began_unix_ns).min(),
            is_cut_short: trial.status == TrialStatus::Interrupted,
            has_failed: matches!(trial.status, TrialStatus::Failed(_)),
            taken_ns,
        }
    }

    fn join(&mut self, other: Stretch) {
        self.ended_unix_ns = self.ended_unix_ns.max(other.ended_unix_ns);
        self.first_unix_ns = [self.first_unix_ns, other.first_unix_ns].into_iter().flatten().min();
        self.is_cut_short |= other.is_cut_short;
        self.has_failed |= other.has_failed;
        for (part, ns) in other.taken_ns {
            *self.taken_ns.entry(part).or_default() += ns;
        }
    }
}

fn taken(phase: &PhaseTime<'_>, trial_counts: bool) -> [(TimePart, f64); 4] {
    let run = phase.run;
    let work = match (trial_counts && phase.counts, run.ranked) {
        (false, _) => TimePart::WorkNotCounted,
        (true, true) => TimePart::RankedWork,
        (true, false) => TimePart::OtherWork,
    };
    let (warm_up_ns, making_ns) = phase.serving.map_or((0.0, 0.0), before_points);
    [
        (work, run.elapsed_ns as f64),
        (TimePart::Drain, run.drain_ns as f64),
        (TimePart::WarmUp, warm_up_ns),
        (TimePart::MakingFiles, making_ns),
    ]
}

/// Nanoseconds before the points of a ramp: of warm-up, and of the rest, in which files are made.
fn before_points(serving: &FileServing) -> (f64, f64) {
    let (mut warm_up_ns, mut making_ns, mut over_ns) = (0.0, 0.0, 0);
    for point in &serving.points {
        let before_ns = point.began_ns.saturating_sub(over_ns);
        let warmed_ns = serving.warm_up_ns.min(before_ns);
        warm_up_ns += warmed_ns as f64;
        making_ns += (before_ns - warmed_ns) as f64;
        let drain_ns = point.get(Measure::FilesDrainNs).unwrap_or(0.0);
        over_ns = point.ended_ns.saturating_add(drain_ns as u64);
    }
    (warm_up_ns, making_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{LoadPoint, PointMeasure};

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn what_is_before_a_point_and_no_warm_up_is_the_making_of_its_files() {
        let point = |began: u64, drain: f64| LoadPoint {
            asked_per_s: 1.0,
            began_ns: began * SECOND,
            ended_ns: (began + 2) * SECOND,
            in_time: 1,
            unsent: 0,
            data_bytes: 1,
            files: 1,
            measures: vec![PointMeasure::of(Measure::FilesDrainNs, drain * 1e9)],
            histograms: Vec::new(),
        };
        let serving = |points: Vec<LoadPoint>| FileServing {
            protocol: ledger::Protocol::Posix,
            server: None,
            work: "sfs97".into(),
            arrival: ledger::FileArrival::Poisson,
            sessions: 1,
            connections: None,
            transfer_bytes: 8192,
            warm_up_ns: SECOND,
            limit_ns: None,
            limit_of: ledger::LimitOf::Mean,
            reached_share: 0.95,
            points,
        };
        // Made in 3 s; then 1 s of drain and 4 s of making.
        let found = before_points(&serving(vec![point(4, 1.0), point(12, 1.0)]));
        assert_eq!(found, (2e9, 7e9));
        assert_eq!(before_points(&serving(Vec::new())), (0.0, 0.0));
        // A point that says to have begun too early takes nothing away.
        assert_eq!(before_points(&serving(vec![point(0, 0.0)])), (0.0, 0.0));
    }
}
