//! Answers of decision support, compared over all runs of a study.
//!
//! Takes the answers of valid runs, says which runs do not count. No single run is known to be right, so the first does
//! not judge the others: more than half of the runs do. Prevents: a stack that answers wrongly first, and makes all
//! others invalid.

use ledger::DecisionSupport;
use std::collections::BTreeMap;

/// Number of a question, and its set of parameters.
type Asked = (u32, u32);

/// Digests of a question's answers, each with the number of runs that have it.
type Digests = BTreeMap<String, u64>;

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
    let first_doubt = |run: &DecisionSupport| {
        let mut of_run = answers(run).into_iter();
        of_run.find_map(|(asked, digest)| doubt(asked, digest, &all[&asked]))
    };
    let doubts = runs.iter().filter_map(|(key, run)| Some((*key, first_doubt(run)?)));
    doubts.collect()
}

/// A run's answers, each question once: users of a valid run have the same.
fn answers(run: &DecisionSupport) -> BTreeMap<Asked, &str> {
    let all = run.answers.iter();
    all.map(|answer| ((answer.question, answer.variant), answer.digest.as_str()))
        .collect()
}

/// Why a run does not count.
pub(crate) struct Doubt {
    /// Most others have one answer, and this run has another.
    pub(crate) is_wrong: bool,
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
            is_wrong: true,
            why: format!("{question} has another answer than in {count} of {runs} runs: that is data loss"),
        }),
        None => Some(Doubt {
            is_wrong: false,
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
        assert!(wrong.is_wrong);
        assert_eq!(
            wrong.why,
            "question 5 (parameters 1) has another answer than in 2 of 3 runs: that is data loss"
        );
        for digest in ["a", "b"] {
            let open = said(digest, &[("a", 1), ("b", 1)]).unwrap();
            assert!(
                !open.is_wrong && open.why.contains("2 answers in 2 runs"),
                "{}",
                open.why
            );
        }
    }
}
