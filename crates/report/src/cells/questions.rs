//! Decision support: the time of each question, response by users, temporary bytes and what of them met a device.
//!
//! Takes the runs of one stack in one phase, gives [`QuestionsFigures`]. The geometric mean gives a question of a
//! second and one of a minute the same weight, as the published description of TPC-H has it for one user. Prevents:
//! one long question that hides all others.

use crate::figures::{Figure, over};
use crate::history::{Runs, Seen};
use ledger::{AnswerRow, DecisionSupport, Measure, RefreshRow};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// One question on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuestionFigures {
    /// Which of the 22.
    pub question: u32,
    /// Seconds until its last row; of several users the mean of a block.
    pub seconds: Option<Figure>,
    /// Bytes of temporary files that it took, where one user asked and the database tells.
    pub temp_bytes: Option<Figure>,
    /// Rows of its answer, of the first set of parameters asked.
    pub rows: u64,
}

/// So many users at the same time on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsersFigures {
    /// Users.
    pub users: u32,
    /// Seconds from the first question to the last answer.
    pub seconds: Option<Figure>,
    /// Questions an hour.
    pub questions_per_hour: Option<Figure>,
    /// Seconds that a user waits for an answer, on average.
    pub response_s_mean: Option<Figure>,
    /// 95 % were faster.
    pub response_s_p95: Option<Figure>,
}

/// Refresh functions on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RefreshFigures {
    /// Seconds until all new orders of a pair had come: of several pairs the mean of a block.
    pub insert_s: Option<Figure>,
    /// Seconds until they had gone again.
    pub delete_s: Option<Figure>,
    /// Orders a second, of those that came and of those that went, each in a transaction of its own.
    pub orders_per_s: Option<Figure>,
}

/// Decision support on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuestionsFigures {
    /// Scale factor.
    pub scale: f64,
    /// "grouped" or "nested".
    pub text: String,
    /// Geometric mean of the times of all questions, seconds.
    pub geometric_mean_s: Option<Figure>,
    /// Seconds of processors a question, of the whole system.
    pub cpu_s_per_question: Option<Figure>,
    /// Bytes that the database wrote to temporary files, in the whole phase.
    pub temp_bytes: Option<Figure>,
    /// The database tells only how large they were when it deleted them, and uses their blocks again: bytes of
    /// temporary files, here and of each question, are at least so many. What is for each of them is at most so much.
    pub temp_is_least: bool,
    /// Bytes of the whole blocks in which the database wrote temporary files, for each of their bytes.
    pub temp_blocks_per_byte: Option<Figure>,
    /// Bytes that the lowest devices wrote in the phase, for each byte of temporary files: questions write nothing
    /// else, but for the database's own notes. Above 1, the stack writes more than it is told.
    pub written_per_temp_byte: Option<Figure>,
    /// Share of the bytes of temporary files that the devices of their own LUN set were sent: 1 is all of them, below
    /// it the page cache kept the rest.
    pub temp_device_share: Option<Figure>,
    /// By number.
    pub questions: Vec<QuestionFigures>,
    /// By users.
    pub by_users: Vec<UsersFigures>,
    /// Refresh functions after the questions, if there were any.
    pub refresh: Option<RefreshFigures>,
}

/// Geometric mean of the times of a run, seconds.
pub(crate) fn geometric_mean_s(asked: &DecisionSupport) -> Option<f64> {
    let logs: f64 = asked.answers.iter().map(|answer| seconds(answer).ln()).sum();
    let many = asked.answers.len();
    (many > 0).then(|| (logs / many as f64).exp())
}

/// At least a microsecond, so that it has a logarithm.
fn seconds(answer: &AnswerRow) -> f64 {
    answer.elapsed_ns.max(1000) as f64 / 1e9
}

impl QuestionsFigures {
    /// `None`: no decision support.
    pub(crate) fn of(runs: &[&Seen]) -> Option<QuestionsFigures> {
        let first = runs.iter().find_map(|run| run.questions.as_ref())?;
        let answers = || {
            runs.iter()
                .filter_map(|run| run.questions.as_ref())
                .flat_map(|asked| &asked.answers)
        };
        let questions: BTreeSet<u32> = answers().map(|answer| answer.question).collect();
        let steps: BTreeSet<u32> = answers().map(|answer| answer.users).collect();
        let asked = |run: &Seen| run.questions.as_ref().map(|asked| asked.answers.len() as f64);
        Some(QuestionsFigures {
            scale: first.scale,
            text: first.text.as_str().into(),
            geometric_mean_s: runs.figure(|run| run.questions.as_ref().and_then(geometric_mean_s)),
            cpu_s_per_question: runs.figure(|run| {
                let busy = run.get(Measure::CpuBusyNs).filter(|_| !refreshes(run));
                over(busy.map(|ns| ns / 1e9), asked(run))
            }),
            temp_bytes: runs.figure(|run| run.temporary_bytes()),
            temp_is_least: runs.iter().any(|run| run.temporary_is_least()),
            temp_blocks_per_byte: runs.figure(|run| per_temp_byte(run, Measure::DatabaseTempBlockBytes)),
            written_per_temp_byte: runs
                .figure(|run| per_temp_byte(run, Measure::LowWriteBytes).filter(|_| !refreshes(run))),
            temp_device_share: runs.figure(|run| per_temp_byte(run, Measure::TempDeviceWriteBytes)),
            questions: questions.into_iter().map(|one| question(one, runs)).collect(),
            by_users: steps.into_iter().map(|users| of_users(users, runs)).collect(),
            refresh: (!first.refreshes.is_empty()).then(|| refresh(runs)),
        })
    }
}

/// Whether the phase had refresh functions: what was counted then is theirs, too.
fn refreshes(run: &Seen) -> bool {
    let asked = run.questions.as_ref();
    asked.is_some_and(|asked| !asked.refreshes.is_empty())
}

/// Bytes of a measure for each byte of temporary files.
fn per_temp_byte(run: &Seen, bytes: Measure) -> Option<f64> {
    let temp = run.temporary_bytes().filter(|bytes| *bytes > 0.0);
    over(run.get(bytes), temp)
}

/// Answers of a run that are wanted.
fn wanted(run: &Seen, wanted: impl Fn(&AnswerRow) -> bool) -> Vec<&AnswerRow> {
    let all = run.questions.iter().flat_map(|asked| &asked.answers);
    all.filter(|answer| wanted(answer)).collect()
}

fn mean(of: &[f64]) -> Option<f64> {
    over(Some(of.iter().sum()), Some(of.len() as f64))
}

fn question(number: u32, runs: &[&Seen]) -> QuestionFigures {
    let of = |run: &Seen, pick: fn(&AnswerRow) -> Option<f64>| {
        let picked: Option<Vec<f64>> = wanted(run, |answer| answer.question == number)
            .into_iter()
            .map(pick)
            .collect();
        mean(&picked?)
    };
    let first = runs
        .iter()
        .find_map(|run| wanted(run, |answer| answer.question == number).first().copied());
    QuestionFigures {
        question: number,
        seconds: runs.figure(|run| of(run, |answer| Some(seconds(answer)))),
        temp_bytes: runs.figure(|run| of(run, |answer| answer.temp_bytes.map(|bytes| bytes as f64))),
        rows: first.map_or(0, |answer| answer.rows),
    }
}

fn refresh(runs: &[&Seen]) -> RefreshFigures {
    let seconds = |run: &Seen, pick: fn(&RefreshRow) -> u64| {
        let pairs = run.questions.iter().flat_map(|asked| &asked.refreshes);
        mean(&pairs.map(|pair| pick(pair) as f64 / 1e9).collect::<Vec<_>>())
    };
    let orders_per_s = |run: &Seen| {
        let pairs = run.questions.iter().flat_map(|asked| &asked.refreshes);
        let (orders, ns) = pairs.fold((0, 0), |(orders, ns), pair| {
            (orders + 2 * pair.orders, ns + pair.insert_ns + pair.delete_ns)
        });
        over(Some(orders as f64), Some(ns as f64 / 1e9))
    };
    RefreshFigures {
        insert_s: runs.figure(|run| seconds(run, |pair| pair.insert_ns)),
        delete_s: runs.figure(|run| seconds(run, |pair| pair.delete_ns)),
        orders_per_s: runs.figure(orders_per_s),
    }
}

fn of_users(users: u32, runs: &[&Seen]) -> UsersFigures {
    let times = |run: &Seen| -> Vec<f64> {
        let mut times: Vec<f64> = wanted(run, |answer| answer.users == users)
            .into_iter()
            .map(seconds)
            .collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let elapsed = |run: &Seen| {
        let answers = wanted(run, |answer| answer.users == users);
        let began = answers.iter().map(|answer| answer.began_ns).min()?;
        let ended = answers
            .iter()
            .map(|answer| answer.began_ns.saturating_add(answer.elapsed_ns))
            .max()?;
        Some(ended.saturating_sub(began) as f64 / 1e9)
    };
    UsersFigures {
        users,
        seconds: runs.figure(elapsed),
        questions_per_hour: runs.figure(|run| over(Some(times(run).len() as f64 * 3600.0), elapsed(run))),
        response_s_mean: runs.figure(|run| mean(&times(run))),
        response_s_p95: runs.figure(|run| {
            let times = times(run);
            // The nearest rank.
            let at = (times.len() as f64 * 0.95).ceil() as usize;
            times.get(at.saturating_sub(1)).copied()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_a_second_weighs_as_much_as_one_of_a_minute() {
        let answer = |elapsed_ns| AnswerRow {
            user: 0,
            question: 1,
            variant: 0,
            users: 1,
            began_ns: 0,
            elapsed_ns,
            rows: 1,
            digest: String::new(),
            temp_bytes: None,
        };
        let asked = |times: &[u64]| DecisionSupport {
            scale: 1.0,
            users: 1,
            text: ledger::QuestionForm::Grouped,
            limit_ns: 1,
            past_limit: None,
            answers: times.iter().copied().map(answer).collect(),
            refreshes: Vec::new(),
        };
        let mean = geometric_mean_s(&asked(&[1_000_000_000, 64_000_000_000])).expect("two times");
        assert!((mean - 8.0).abs() < 1e-9, "{mean}");
        assert_eq!(geometric_mean_s(&asked(&[])), None);
        assert!(geometric_mean_s(&asked(&[0])).is_some_and(|mean| mean > 0.0));
    }
}
