//! A phase of decision support: who asks what, and whether its users get one answer to a question.
//!
//! Takes the plan's words, gives lists of questions, rows of the result file and a judgement. Prevents: a fast wrong
//! answer, and parameters or orders that one stack has and another has not.

use super::contract::Asking;
use databases::decision_support::{Answered, Ask, Question, Scale, of_stream, of_users};
use ledger::{AnswerRow, DecisionSupport, RefreshRow};
use plan::{Study, Tpch, TpchRun, TpchText};
use std::collections::BTreeMap;
use std::time::Duration;
use workloads::Outcome;

/// The scale of the study's tables, if it has decision support.
pub(super) fn scale(study: &Study) -> anyhow::Result<Option<Scale>> {
    let tpch = study.phases.iter().find_map(|phase| phase.kind.tpch());
    Ok(tpch.map(|tpch| Scale::new(tpch.scale)).transpose()?)
}

/// The steps of a phase: users at work, and what each of them asks. `study_seed` draws parameters, `block_seed` orders.
pub(super) fn steps(tpch: &Tpch, study_seed: u64, block_seed: u64) -> anyhow::Result<Vec<(u32, Asking)>> {
    let scale = Scale::new(tpch.scale)?;
    let number = |number: &u32| u8::try_from(*number).ok().and_then(Question::new);
    let asked: Vec<Question> = tpch.questions.iter().filter_map(number).collect();
    let stream = |stream| of_stream(&asked, scale, study_seed, block_seed, stream);
    let asking = |users: Vec<Vec<Ask>>| {
        let asking = Asking {
            users,
            text: match tpch.text {
                TpchText::Grouped => databases::decision_support::Text::Grouped,
                TpchText::Nested => databases::decision_support::Text::Nested,
            },
            limit: Duration::from_nanos(tpch.limit.0),
        };
        (asking.users.len() as u32, asking)
    };
    Ok(match &tpch.run {
        TpchRun::Power => vec![asking(vec![stream(0)])],
        TpchRun::Streams(streams) => vec![asking((0..*streams).map(stream).collect())],
        TpchRun::Users { users, .. } => {
            let step = |users: &u32| {
                let count = (*users, tpch.asked_by(*users));
                asking(of_users(&asked, scale, study_seed, block_seed, count))
            };
            users.iter().map(step).collect()
        }
    })
}

/// Answers so far: of a step nothing else stays. Steps come one after the other; the clock of a phase leaves out what
/// lies between them.
#[derive(Default)]
pub(super) struct Answers {
    rows: Vec<AnswerRow>,
    past_limit: Option<u32>,
    /// When the next step begins.
    ended_ns: u64,
}

impl Answers {
    /// Adds those of so many users; gives the outcome of their step back.
    pub(super) fn add(&mut self, users: u32, step: Answered) -> Outcome {
        let Answered {
            outcome,
            asked,
            past_limit,
        } = step;
        let shift_ns = self.ended_ns;
        self.rows.extend(asked.into_iter().map(|asked| AnswerRow {
            user: asked.user,
            question: asked.question.number().into(),
            variant: asked.variant,
            users,
            began_ns: shift_ns + asked.began.saturating_sub(outcome.began),
            elapsed_ns: asked.elapsed_ns,
            rows: asked.rows,
            digest: asked.digest,
            temp_bytes: asked.temp_bytes,
        }));
        self.past_limit = self.past_limit.or(past_limit.map(|past| past.number().into()));
        self.ended_ns += outcome.elapsed_ns;
        outcome
    }

    /// A step is over.
    pub(super) fn has_any(&self) -> bool {
        !self.rows.is_empty()
    }

    /// A question ran past its limit: no step may follow.
    pub(super) fn is_past_limit(&self) -> bool {
        self.past_limit.is_some()
    }
}

/// Rows of the result file.
pub(super) fn rows(tpch: &Tpch, answers: Answers, refreshes: Vec<RefreshRow>) -> DecisionSupport {
    DecisionSupport {
        scale: tpch.scale,
        users: tpch.users_most(),
        text: match tpch.text {
            TpchText::Grouped => ledger::QuestionForm::Grouped,
            TpchText::Nested => ledger::QuestionForm::Nested,
        },
        limit_ns: tpch.limit.0,
        past_limit: answers.past_limit,
        answers: answers.rows,
        refreshes,
    }
}

/// Why a phase does not count, if it does not: two users have other answers to the same question, or a question ran
/// past its limit. The report compares the answers of all runs, because no single run is known to be right.
pub(super) fn judge(asked: &DecisionSupport) -> Option<String> {
    let mut known = BTreeMap::new();
    for answer in &asked.answers {
        let first = known.entry((answer.question, answer.variant)).or_insert(&answer.digest);
        if **first != answer.digest {
            return Some(format!(
                "question {} (parameters {}) has two answers in one phase: one of the two is wrong, and that is data \
                 loss, whatever the speed",
                answer.question, answer.variant
            ));
        }
    }
    asked.past_limit.map(|question| {
        format!(
            "question {question} ran past its limit of {}: its text or its memory does not suit this database at this \
             scale; raise `limit`, or write text = \"grouped\"",
            plan::Duration(asked.limit_ns)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(digests: &[&str], past_limit: Option<u32>) -> DecisionSupport {
        let answer = |digest: &&str| AnswerRow {
            user: 0,
            question: 5,
            variant: 1,
            users: 1,
            began_ns: 0,
            elapsed_ns: 1,
            rows: 1,
            digest: (*digest).to_string(),
            temp_bytes: None,
        };
        DecisionSupport {
            scale: 0.01,
            users: 1,
            text: ledger::QuestionForm::Grouped,
            limit_ns: 600_000_000_000,
            past_limit,
            answers: digests.iter().map(answer).collect(),
            refreshes: Vec::new(),
        }
    }

    #[test]
    fn steps_of_a_load_curve_differ_by_their_users_alone() {
        let tpch = Tpch {
            scale: 0.01,
            run: TpchRun::Users {
                users: vec![1, 3],
                each: 2,
            },
            questions: Tpch::all(),
            text: TpchText::Grouped,
            limit: plan::Duration(1),
            refresh: 0,
        };
        let asked = |(users, asking): (u32, Asking)| {
            let all = asking.users.iter().flatten();
            let mut numbers: Vec<u8> = all.map(|ask| ask.question.number()).collect();
            numbers.sort_unstable();
            (users, asking.users.len(), numbers)
        };
        let steps: Vec<_> = steps(&tpch, 1, 2).unwrap().into_iter().map(asked).collect();
        let once: Vec<u8> = (1..=22).collect();
        assert_eq!(steps, [(1, 1, once.clone()), (3, 3, once)]);
    }

    #[test]
    fn a_planted_wrong_answer_is_seen_within_a_phase() {
        assert_eq!(judge(&asked(&["right", "right"], None)), None);
        let said = judge(&asked(&["one", "another"], None)).unwrap();
        assert!(
            said.starts_with("question 5 (parameters 1)") && said.contains("data loss"),
            "{said}"
        );
        let late = judge(&asked(&[], Some(20))).unwrap();
        assert!(late.starts_with("question 20 ran past its limit of 10m"), "{late}");
    }
}
