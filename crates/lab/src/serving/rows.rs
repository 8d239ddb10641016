//! From a ramp to rows of the result file.
//!
//! Prevents: counts of one point that stand at another, and a sum over points of what is no sum.

use super::work;
use crate::record;
use crate::surroundings::Seen;
use files::{Counts, Point};
use ledger::{FileServing, LimitOf, LoadPoint, Measure, Nature, PointMeasure};
use plan::{Files, Protocol, Serving};
use workloads::Outcome;

/// What was wrong in the answers of a point, however it ended. A wrong answer, and a listing refused at first, count in
/// the warm-up too: whoever uses the stack does not know of it.
#[derive(Debug, Default)]
pub(super) struct Answers {
    wrong: u64,
    listed_again: u64,
    notes: Vec<String>,
}

impl Answers {
    /// Adds those of users who worked on a tree. `when`: what is said behind "wrong answer".
    pub(super) fn add(&mut self, counts: &Counts, wrong: &[String], when: &str) {
        self.wrong += counts.wrong;
        self.listed_again += counts.listed_again;
        let said = wrong.iter().map(|wrong| format!("wrong answer{when}: {wrong}"));
        self.notes.extend(said);
    }

    /// Adds those of a point that ended by an error to what was seen at the points before.
    pub(super) fn of_unfinished(self, seen: &mut Seen) {
        add_to(seen, Measure::FilesWrong, self.wrong);
        add_to(seen, Measure::FilesListedAgain, self.listed_again);
        seen.notes.extend(self.notes);
    }
}

/// Adds what was counted of a finished point's answers, and what was wrong in them and in its warm-up.
pub(super) fn count_answers(seen: &mut Seen, answers: Answers, counts: &Counts) {
    let counts = Counts {
        wrong: answers.wrong,
        listed_again: answers.listed_again,
        ..*counts
    };
    seen.measures.extend(counted(&counts));
    seen.notes.extend(answers.notes);
}

/// Adds to a count of the whole ramp.
pub(super) fn add_to(seen: &mut Seen, measure: Measure, count: u64) {
    match seen.measures.iter_mut().find(|(known, _)| *known == measure) {
        Some((_, known)) => *known += count as f64,
        None => seen.measures.push((measure, count as f64)),
    }
}

/// What was lost in a ramp that did not come to its end, in words that go with the reason; `None`: nothing was.
pub(super) fn loss(seen: &Seen) -> Option<String> {
    let (_, wrong) = seen
        .measures
        .iter()
        .find(|(measure, wrong)| *measure == Measure::FilesWrong && *wrong > 0.0)?;
    Some(format!(
        "{wrong} answers were wrong before, DATA LOST: the notes name them"
    ))
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
        (Measure::FilesSubstituted, counts.substituted),
        (Measure::FilesReconnects, counts.reconnects),
        (Measure::FilesRepeated, counts.repeated),
        (Measure::FilesTraces, counts.traces),
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
    let measures = seen.measures.iter().copied().chain(busy(outcome));
    let measures = measures.map(|(measure, value)| PointMeasure::of(measure, value));
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

/// How busy the thread was that speaks for the users: of several points the busiest counts, for at one of them it may
/// be the limit, and at the others not. `None`: nobody speaks for them.
pub(super) fn busy(outcome: &Outcome) -> Option<(Measure, f64)> {
    outcome.busy_share.map(|share| (Measure::GeneratorBusyShare, share))
}

/// The ramp.
pub(super) fn serving(serving: &Serving, files: &Files, server: Option<String>, points: Vec<LoadPoint>) -> FileServing {
    let nfs = files.protocol == Protocol::Nfs3;
    FileServing {
        protocol: if nfs {
            ledger::Protocol::Nfs3
        } else {
            ledger::Protocol::Posix
        },
        server,
        work: work::words(serving),
        arrival: match serving.arrival {
            plan::FileArrival::Poisson => ledger::FileArrival::Poisson,
            plan::FileArrival::Fixed => ledger::FileArrival::Fixed,
        },
        sessions: serving.sessions,
        connections: nfs.then_some(files.connections),
        transfer_bytes: files.transfer.0,
        warm_up_ns: serving.warm_up.0,
        limit_ns: serving.until.map(|limit| limit.response.0),
        limit_of: match serving.until.map(|limit| limit.of) {
            Some(plan::LimitOf::P99) => LimitOf::P99,
            Some(plan::LimitOf::Mean) | None => LimitOf::Mean,
        },
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

    fn counts_of(wrong: u64) -> Counts {
        Counts {
            calls: 100,
            wrong,
            listed_again: 1,
            ..Counts::default()
        }
    }

    fn count(seen: &Seen, measure: Measure) -> f64 {
        seen.measures.iter().find(|(known, _)| *known == measure).unwrap().1
    }

    #[test]
    fn connections_that_broke_and_work_that_was_another_are_told() {
        let counts = Counts {
            substituted: 1,
            reconnects: 2,
            repeated: 3,
            traces: 4,
            ..counts_of(0)
        };
        let points = [0, 1].map(|_| {
            let mut seen = Seen::default();
            count_answers(&mut seen, Answers::default(), &counts);
            seen
        });
        let all = together(points.into());
        let of = |measure| count(&all, measure);
        assert_eq!(
            (of(Measure::FilesSubstituted), of(Measure::FilesReconnects)),
            (2.0, 4.0)
        );
        assert_eq!((of(Measure::FilesRepeated), of(Measure::FilesTraces)), (6.0, 8.0));
    }

    /// The users of a server are one thread, which may be at its end in one point alone.
    #[test]
    fn each_point_says_how_busy_its_users_were_and_the_ramp_the_most_of_them() {
        let (serving, files) = work::tests::serving("sessions = 1\n");
        let config = work::config(&serving, &files, 1, 2).unwrap();
        let mut null = files::Serving::begin(config, files::Place::Null).unwrap();
        null.grow_to(1 << 20, false).unwrap();
        let mut steps = crate::sql::steps::Steps::default();
        for share in [0.4, 0.9, 0.2] {
            let mut ran = null.run(&workloads::Pacing::closed(1, 1_000_000), 1).unwrap();
            ran.outcome.busy_share = Some(share);
            let row = point(1.0, 0, 1_000_000, &ran, &Seen::default()).unwrap();
            assert_eq!(row.get(Measure::GeneratorBusyShare), Some(share));
            steps.add(ran.outcome);
        }
        let whole = steps.into_one().unwrap();
        assert_eq!(busy(&whole), Some((Measure::GeneratorBusyShare, 0.9)));
    }

    #[test]
    fn what_is_wrong_in_a_warm_up_counts() {
        let mut answers = Answers::default();
        answers.add(&counts_of(3), &["early".to_string()], " in the warm-up");
        answers.add(&counts_of(4), &["late".to_string()], "");
        let mut seen = Seen::default();
        count_answers(&mut seen, answers, &counts_of(4));
        assert_eq!(count(&seen, Measure::FilesWrong), 7.0);
        assert_eq!(count(&seen, Measure::FilesListedAgain), 2.0);
        assert_eq!(count(&seen, Measure::FilesCalls), 100.0, "work of the warm-up does not");
        assert_eq!(seen.notes, ["wrong answer in the warm-up: early", "wrong answer: late"]);
    }

    #[test]
    fn what_is_wrong_in_a_point_without_an_end_counts_and_its_work_does_not() {
        let mut seen = Seen::default();
        assert_eq!(loss(&seen), None);
        let mut first = Answers::default();
        first.add(&counts_of(0), &[], "");
        count_answers(&mut seen, first, &counts_of(0));
        assert_eq!(loss(&seen), None, "nothing was wrong");
        let mut last = Answers::default();
        last.add(&counts_of(2), &["late".to_string()], "");
        last.of_unfinished(&mut seen);
        assert_eq!(count(&seen, Measure::FilesWrong), 2.0);
        assert_eq!(count(&seen, Measure::FilesListedAgain), 2.0);
        assert_eq!(count(&seen, Measure::FilesCalls), 100.0, "of the point that ended");
        let said = loss(&seen).unwrap();
        assert_eq!(said, "2 answers were wrong before, DATA LOST: the notes name them");
        // The first point may be the last one.
        let (mut alone, mut only) = (Seen::default(), Answers::default());
        only.add(&counts_of(1), &[], "");
        only.of_unfinished(&mut alone);
        assert_eq!(count(&alone, Measure::FilesWrong), 1.0);
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
