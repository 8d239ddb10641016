//! Answers of decision support, compared over all runs of a study.
//!
//! Takes the answers of valid runs, says which runs do not count; and of each run whether its users agree. No single
//! run is known to be right, so the first does not judge the others: more than half of the runs do. Prevents: a stack
//! that answers wrongly first, and makes all others invalid.

use ledger::DecisionSupport;
use std::collections::BTreeMap;

/// Number of a question, and its set of parameters.
type Asked = (u32, u32);

/// Digests of a question's answers, each with the number of runs that have it.
type Digests = BTreeMap<String, u64>;

/// How the answers of a run stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answers {
    /// As in most runs, as far as there are any.
    #[default]
    Alike,
    /// Most runs have another answer, or two users of the run have unlike ones.
    Wrong,
    /// No answer has more than half of the runs: nobody knows which is wrong.
    Open,
}

/// The runs whose answers most others do not have; all runs, where no answer has more than half of them.
pub(crate) fn doubts<K>(runs: &[(K, &DecisionSupport)]) -> Vec<(K, Doubt)>
where
    K: Copy,
{
    let mut all: BTreeMap<Asked, Digests> = BTreeMap::new();
    for (_, run) in runs {
        for (asked, digest) in answers(run) {
            *all.entry(asked).or_default().entry(digest.to_string()).or_default() += 1;
        }
    }
    // An answer that is known to be wrong comes before one that may be.
    let gravest = |run: &DecisionSupport| {
        let of_run = answers(run).into_iter();
        let doubts = of_run.filter_map(|(asked, digest)| doubt(asked, digest, &all[&asked]));
        doubts.min_by_key(|doubt| doubt.answers != Answers::Wrong)
    };
    let doubts = runs.iter().filter_map(|(key, run)| Some((*key, gravest(run)?)));
    doubts.collect()
}

/// Whether two users of a run got unlike answers to one question.
pub(crate) fn differ_within(run: &DecisionSupport) -> bool {
    let known = answers(run);
    let mut all = run.answers.iter();
    all.any(|answer| known[&(answer.question, answer.variant)] != answer.digest)
}

/// A run's answers, each question once: users of a valid run have the same.
fn answers(run: &DecisionSupport) -> BTreeMap<Asked, &str> {
    let all = run.answers.iter();
    all.map(|answer| ((answer.question, answer.variant), answer.digest.as_str()))
        .collect()
}

/// Why a run does not count.
pub(crate) struct Doubt {
    /// How they stand: wrong, or open.
    pub(crate) answers: Answers,
    /// In words.
    pub(crate) why: String,
}

fn doubt((question, parameters): Asked, digest: &str, digests: &Digests) -> Option<Doubt> {
    let runs: u64 = digests.values().sum();
    let most = digests.iter().find(|(_, count)| **count * 2 > runs);
    let question = format!("question {question} (parameters {parameters})");
    match most {
        Some((one, _)) if one == digest => None,
        Some((_, count)) => Some(Doubt {
            answers: Answers::Wrong,
            why: format!("{question} has another answer than in {count} of {runs} runs: that is data loss"),
        }),
        None => Some(Doubt {
            answers: Answers::Open,
            why: format!(
                "{question} has {} answers in {runs} runs, and none of them in more than half: at least one run lost \
                 data, and nobody knows which",
                digests.len()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::AnswerRow;

    #[test]
    fn most_runs_judge_and_not_the_first() {
        let digests = |counts: &[(&str, u64)]| -> Digests {
            counts
                .iter()
                .map(|(digest, count)| (digest.to_string(), *count))
                .collect()
        };
        let said = |digest, counts: &[(&str, u64)]| doubt((5, 1), digest, &digests(counts));
        assert!(said("a", &[("a", 1)]).is_none(), "one run alone");
        assert!(said("a", &[("a", 2), ("b", 1)]).is_none());
        let wrong = said("b", &[("a", 2), ("b", 1)]).unwrap();
        assert_eq!(wrong.answers, Answers::Wrong);
        assert_eq!(
            wrong.why,
            "question 5 (parameters 1) has another answer than in 2 of 3 runs: that is data loss"
        );
        for digest in ["a", "b"] {
            let open = said(digest, &[("a", 1), ("b", 1)]).unwrap();
            assert!(
                open.answers == Answers::Open && open.why.contains("2 answers in 2 runs"),
                "{}",
                open.why
            );
        }
    }

    fn run(answers: &[(u32, &str)]) -> DecisionSupport {
        let answer = |(question, digest): &(u32, &str)| AnswerRow {
            user: 0,
            question: *question,
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
            limit_ns: 1,
            past_limit: None,
            answers: answers.iter().map(answer).collect(),
            refreshes: Vec::new(),
        }
    }

    #[test]
    fn a_run_whose_users_disagree_is_wrong_by_itself() {
        assert!(!differ_within(&run(&[(5, "a"), (6, "b"), (5, "a")])));
        assert!(differ_within(&run(&[(5, "a"), (6, "b"), (5, "b")])));
    }

    #[test]
    fn an_answer_that_is_wrong_is_told_before_one_that_is_open() {
        // Of question 3 each run has an answer of its own; of question 5 the last one alone is wrong.
        let runs = [
            run(&[(3, "a"), (5, "x")]),
            run(&[(3, "b"), (5, "x")]),
            run(&[(3, "c"), (5, "y")]),
        ];
        let keyed: Vec<(usize, &DecisionSupport)> = runs.iter().enumerate().collect();
        let found: Vec<_> = doubts(&keyed)
            .iter()
            .map(|(key, doubt)| (*key, doubt.answers))
            .collect();
        assert_eq!(found, [(0, Answers::Open), (1, Answers::Open), (2, Answers::Wrong)]);
    }
}
