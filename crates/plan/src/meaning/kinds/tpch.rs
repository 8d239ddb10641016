//! Phases of kind `tpch`.
//!
//! Takes the phases as written; gives [`Tpch`]. Prevents: two phases of one trial that ask tables of unlike scale, of
//! which only one was loaded, and users beside streams.

use super::asked::Asked;
use super::numbers::counts;
use crate::meaning::settle::Settle;
use crate::study::{Tpch, TpchRun};
use crate::written::{At, Limits, PhaseWord, RunWord, WrittenPhase, WrittenStudy};
use std::collections::BTreeSet;

/// Users of a phase, each with a session of the server.
const USERS_MAX: u64 = 1000;

/// The scale: what the first phase that says one says.
pub(super) struct Loaded {
    scale: f64,
}

impl Loaded {
    pub(super) fn of(written: &WrittenStudy, settle: &mut Settle<'_>) -> Loaded {
        let is = |phase: &&WrittenPhase| phase.kind.as_ref().is_some_and(|at| at.value == PhaseWord::Tpch);
        let said: Vec<&At<f64>> = written
            .phases
            .iter()
            .filter(is)
            .filter_map(|phase| phase.scale.as_ref())
            .collect();
        let no_phase = WrittenPhase::default();
        let key = no_phase.scale();
        let Some(first) = said.first() else {
            return Loaded { scale: key.usual };
        };
        for one in &said {
            if (one.value - first.value).abs() > 0.0 {
                let message = format!(
                    "scale {} here, {} before: the tables are loaded once",
                    one.value, first.value
                );
                let cure = "write the same scale in all phases of this kind, or in the first one only";
                settle.findings.add(&one.span, message, cure);
            }
        }
        // Below, a supplier has the same part twice.
        let hundredths = first.value * 100.0;
        if !key.limits.hold(&first.value) || (hundredths - hundredths.round()).abs() > 1e-6 {
            let message = format!("`scale` cannot be {}", first.value);
            let limits = &key.limits;
            let cure = format!("write a number from {limits} with at most two places: scale = 0.3");
            settle.findings.add(&first.span, message, cure);
            return Loaded { scale: key.usual };
        }
        Loaded { scale: first.value }
    }
}

pub(super) fn phase(phase: &WrittenPhase, loaded: &Loaded, settle: &mut Settle<'_>) -> Asked {
    let limit = phase.limit();
    if let Some(at) = limit.outside() {
        let message = format!("`limit` cannot be {}: it is {}", at.value, limit.limits);
        settle
            .findings
            .add(&at.span, message, format!("write {}", limit.example()));
    }
    let questions = questions(phase, settle);
    let tpch = Tpch {
        scale: loaded.scale,
        run: run(phase, questions.len(), settle),
        questions,
        text: phase.text().value(),
        limit: limit.value(),
        refresh: settle.count(&phase.refresh()),
    };
    Asked::of(tpch)
}

/// Those that are asked, ascending.
fn questions(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Vec<u32> {
    let Some(at) = &phase.questions else { return Tpch::all() };
    let most = u64::from(Tpch::QUESTIONS);
    let limits = Limits::from(1..=most);
    let mut all = BTreeSet::new();
    for value in &at.value.0 {
        let (value, span) = (*value, at.span.clone());
        let Some(number) = settle.within("questions", &At { value, span }, &limits) else {
            continue;
        };
        if !all.insert(number) {
            let message = format!("question {number} is there twice");
            settle.findings.add(
                &at.span,
                message,
                "name each question once: users and streams share them",
            );
        }
    }
    if at.value.0.is_empty() {
        let cure = "write questions = [3, 13, 18], or remove it: all 22 are asked";
        settle.findings.add(&at.span, "no question is asked", cure);
    }
    all.into_iter().collect()
}

fn run(phase: &WrittenPhase, questions: usize, settle: &mut Settle<'_>) -> TpchRun {
    let several = phase.streams.is_some() || phase.users.is_some();
    let run = phase.run().or_if(several, RunWord::Throughput).value();
    if let (Some(users), Some(_)) = (&phase.users, &phase.streams) {
        let cure = "keep one of them: `streams` ask everything each, `users` ask `each` questions";
        settle
            .findings
            .add(&users.span, "a phase has `streams` or `users`, not both", cure);
    }
    if let (Some(each), None) = (&phase.each, &phase.users) {
        let cure = "write `users` too, or remove it: streams ask all questions";
        settle
            .findings
            .add(&each.span, "`each` is of `users`, and there are none", cure);
    }
    let most = questions as u64;
    let too_many = |each: &&At<u64>| each.value > most && each.value <= Tpch::QUESTIONS.into() && most > 0;
    if let Some(each) = phase.each.as_ref().filter(too_many) {
        let message = format!(
            "{} questions of each user are more than the {questions} that are asked",
            each.value
        );
        let cure = format!("write at most each = {questions}, or more `questions`");
        settle.findings.add(&each.span, message, cure);
    }
    match (run, &phase.run) {
        (RunWord::Power, Some(at)) if several => {
            let cure = "remove `streams` and `users`, or write run = \"throughput\"";
            settle
                .findings
                .add(&at.span, "one user alone asks the questions of a power run", cure);
            TpchRun::Power
        }
        (RunWord::Power, _) => TpchRun::Power,
        (RunWord::Throughput, _) if phase.users.is_some() => TpchRun::Users {
            users: counts(&phase.users(), USERS_MAX, settle),
            each: settle.count(&phase.each()).min(questions.max(1) as u32),
        },
        (RunWord::Throughput, _) => TpchRun::Streams(settle.count(&phase.streams())),
    }
}
