//! From a ramp to rows of the result file.
//!
//! Prevents: counts of one point that stand at another, and a sum over points of what is no sum.

use super::work;
use crate::record;
use crate::surroundings::Seen;
use files::{Counts, Point};
use ledger::{FileServing, LoadPoint, Measure, Nature, PointMeasure};
use plan::{Files, LimitOf, Protocol, Serving};

/// Adds what was counted of a point's answers, and what was wrong in them. A wrong answer, and a listing refused at
/// first, count in the warm-up too: whoever uses the stack does not know of it.
pub(super) fn count_answers(seen: &mut Seen, warm_up: Option<&Point>, point: &Point) {
    let mut counts = point.counts;
    if let Some(before) = warm_up {
        counts.wrong += before.counts.wrong;
        counts.listed_again += before.counts.listed_again;
    }
    seen.measures.extend(counted(&counts));
    let said = |wrong: &[String], when: &str| -> Vec<String> {
        wrong
            .iter()
            .map(|wrong| format!("wrong answer{when}: {wrong}"))
            .collect()
    };
    if let Some(before) = warm_up {
        seen.notes.extend(said(&before.wrong, " in the warm-up"));
    }
    seen.notes.extend(said(&point.wrong, ""));
}

fn counted(counts: &Counts) -> Vec<(Measure, f64)> {
    [
        (Measure::EngineReadBytes, counts.read_bytes),
        (Measure::EngineWriteBytes, counts.written_bytes),
        (Measure::FilesChecked, counts.read_bytes),
        (Measure::FilesCalls, counts.calls),
        (Measure::FilesWrong, counts.wrong),
        (Measure::FilesRedrawn, counts.redraws),
        (Measure::FilesTriedAgain, counts.later),
        (Measure::FilesListedAgain, counts.listed_again),
    ]
    .into_iter()
    .map(|(measure, count)| (measure, count as f64))
    .collect()
}

/// A point of the ramp.
pub(super) fn point(
    asked_per_s: f64,
    since: u64,
    time_ns: u64,
    point: &Point,
    seen: &Seen,
) -> anyhow::Result<LoadPoint> {
    let outcome = &point.outcome;
    let began_ns = outcome.began.saturating_sub(since);
    let measures = seen
        .measures
        .iter()
        .map(|(measure, value)| PointMeasure::of(*measure, *value));
    Ok(LoadPoint {
        asked_per_s,
        began_ns,
        ended_ns: began_ns + time_ns,
        in_time: outcome.in_time_count,
        unsent: outcome.unsent,
        data_bytes: point.tree.bytes,
        files: point.tree.files,
        measures: measures.collect(),
        histograms: record::step_histograms(outcome)?,
    })
}

/// The ramp.
pub(super) fn serving(serving: &Serving, files: &Files, server: Option<String>, points: Vec<LoadPoint>) -> FileServing {
    let nfs = files.protocol == Protocol::Nfs3;
    FileServing {
        protocol: if nfs { "nfs3" } else { "posix" }.to_string(),
        server,
        work: work::words(serving),
        arrival: match serving.arrival {
            plan::FileArrival::Poisson => "poisson",
            plan::FileArrival::Fixed => "fixed",
        }
        .to_string(),
        sessions: serving.sessions,
        connections: nfs.then_some(files.connections),
        transfer_bytes: files.transfer.0,
        warm_up_ns: serving.warm_up.0,
        limit_ns: serving.until.map(|limit| limit.response.0),
        limit_of: match serving.until.map(|limit| limit.of) {
            Some(LimitOf::P99) => "p99",
            Some(LimitOf::Mean) | None => "mean",
        }
        .to_string(),
        reached_share: serving.reached.0,
        points,
    }
}

/// Puts the samples of a point behind the points before it. The clock of a ramp stops while a point drains.
pub(super) fn shift(seen: &mut Seen, before_ns: u64, elapsed_ns: u64) {
    seen.samples.retain(|sample| sample.at_ns <= elapsed_ns);
    for sample in &mut seen.samples {
        sample.at_ns += before_ns;
    }
}

/// What was seen at all points, as of one phase: amounts add up, of the rest the highest counts, of shares the mean.
pub(super) fn together(all: Vec<Seen>) -> Seen {
    let points = all.len().max(1) as f64;
    let mut sum = Seen::default();
    for seen in all {
        for (measure, value) in seen.measures {
            match sum.measures.iter_mut().find(|(known, _)| *known == measure) {
                None => sum.measures.push((measure, first(measure, value, points))),
                Some((_, known)) => *known = combined(measure, *known, value, points),
            }
        }
        sum.samples.extend(seen.samples);
        sum.notes.extend(seen.notes);
        sum.remarks.extend(seen.remarks);
        sum.invalid = sum.invalid.or(seen.invalid);
    }
    sum.notes.dedup();
    sum.remarks.dedup();
    sum
}

fn first(measure: Measure, value: f64, points: f64) -> f64 {
    match measure.nature() {
        Nature::Share => value / points,
        Nature::Amount | Nature::Level => value,
    }
}

fn combined(measure: Measure, known: f64, value: f64, points: f64) -> f64 {
    match measure.nature() {
        Nature::Share => known + value / points,
        Nature::Amount => known + value,
        Nature::Level => known.max(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> workloads::Outcome {
        workloads::Outcome {
            began: 0,
            ended: 0,
            elapsed_ns: 0,
            classes: Vec::new(),
            slices: Vec::new(),
            in_time_count: 0,
            in_time_units: 0,
            unsent: 0,
            fairness: (0, 0),
            sessions: 1,
            cancelled: false,
            busy_share: None,
        }
    }

    #[test]
    fn what_is_wrong_in_a_warm_up_counts() {
        let of = |wrong: u64, words: &str| Point {
            outcome: nothing(),
            counts: Counts {
                calls: 100,
                wrong,
                listed_again: 1,
                ..Counts::default()
            },
            tree: files::TreeSize::default(),
            wrong: vec![words.to_string()],
        };
        let mut seen = Seen::default();
        count_answers(&mut seen, Some(&of(3, "early")), &of(4, "late"));
        let count = |measure: Measure| seen.measures.iter().find(|(known, _)| *known == measure).unwrap().1;
        assert_eq!(count(Measure::FilesWrong), 7.0);
        assert_eq!(count(Measure::FilesListedAgain), 2.0);
        assert_eq!(count(Measure::FilesCalls), 100.0, "work of the warm-up does not");
        assert_eq!(seen.notes, ["wrong answer in the warm-up: early", "wrong answer: late"]);
    }

    #[test]
    fn samples_of_points_lie_one_behind_the_other() {
        let sample = |at_ns| ledger::Sample {
            at_ns,
            name: "low.read_bytes".to_string(),
            value: 1.0,
        };
        let mut all = Vec::new();
        for nth in 0..2 {
            // The last sample is of the drain, which no rate is drawn of.
            let mut seen = Seen {
                samples: [4, 10, 13].map(sample).to_vec(),
                ..Seen::default()
            };
            shift(&mut seen, nth * 10, 10);
            all.push(seen);
        }
        let times: Vec<u64> = together(all).samples.iter().map(|sample| sample.at_ns).collect();
        assert_eq!(times, [4, 10, 14, 20]);
    }

    #[test]
    fn amounts_add_up_levels_do_not_and_shares_are_means() {
        let seen = |factor: f64| Seen {
            measures: vec![
                (Measure::CpuBusyNs, 10.0 * factor),
                (Measure::LowReadBytes, 5.0 * factor),
                (Measure::MemoryTotalBytesPeak, 7.0 * factor),
                (Measure::CpuIdleShare, 0.2 * factor),
                (Measure::CpuCores, 2.0),
                (Measure::EngineCacheBytes, 64.0),
                (Measure::DeviceErrors, 1.0),
            ],
            ..Seen::default()
        };
        let all = together(vec![seen(1.0), seen(2.0), seen(3.0)]);
        let of = |measure: Measure| all.measures.iter().find(|(known, _)| *known == measure).unwrap().1;
        assert_eq!(of(Measure::CpuBusyNs), 60.0);
        assert_eq!(of(Measure::LowReadBytes), 30.0);
        assert_eq!(of(Measure::MemoryTotalBytesPeak), 21.0);
        assert!((of(Measure::CpuIdleShare) - 0.4).abs() < 1e-9);
        assert_eq!(of(Measure::CpuCores), 2.0);
        assert_eq!((of(Measure::EngineCacheBytes), of(Measure::DeviceErrors)), (64.0, 3.0));
    }
}
