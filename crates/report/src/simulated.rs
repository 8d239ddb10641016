//! What the answer would claim of a study that was simulated: block ratios and no result file.
//!
//! Takes the design, then study after study their ratios and the decision on them; gives the claims of the answer
//! that a report of such a study has. Prevents: an error rate of the advice that a copy of the code gives.

use crate::analysis::{Analysis, StudyHead};
use crate::derived::looks;
use crate::history::{Book, PhaseHead};
use crate::ranking::alike::pairs_alike;
use crate::ranking::rank::{Pair, Ranking};
use crate::ranking::verdicts::verdicts;
use crate::words::claims::Claim;
use crate::words::sentence::answer;
use ledger::PhaseKind;
use stats::{DecidedApart, Design, History};

/// Studies of one design.
#[derive(Debug)]
pub struct Simulated {
    book: Book,
    pairs: Vec<Pair>,
    empty: Analysis,
}

impl Simulated {
    /// Studies in which each of `stacks` stacks but the first, which is the base, is compared in each of `phases`
    /// phases. Their names are their numbers from 0.
    pub fn new(design: &Design, stacks: usize, phases: usize) -> Simulated {
        let head = |phase: usize| PhaseHead {
            name: phase.to_string(),
            kind: PhaseKind::Random,
            ranked: true,
        };
        let pair = |stack: usize, phase: usize| Pair {
            stack: stack.to_string(),
            base: "0".into(),
            phase: head(phase),
            before: None,
        };
        let of_stack = |stack: usize| (0..phases).map(move |phase| pair(stack, phase));
        let study = ledger::Study {
            blocks_planned: design.blocks,
            comparisons: design.comparisons,
            margin: design.margin,
            alpha: design.alpha,
            alpha_reserved: design.reserved,
            ..ledger::Study::default()
        };
        let extension = |number: u32| ledger::Extension {
            number,
            blocks: design.blocks,
            after_block: design.blocks * number,
            began_unix_ns: 0,
        };
        let extensions: Vec<_> = (1..=design.extensions).map(extension).collect();
        Simulated {
            pairs: (1..stacks).flat_map(of_stack).collect(),
            empty: Analysis::empty(StudyHead::of(&study, &extensions)),
            book: Book::without_runs(study, extensions),
        }
    }

    /// What the answer of such a study claims. Histories and comparisons of the decision: stack after stack, in each
    /// phase after phase.
    pub fn claims(&mut self, decision: DecidedApart, histories: &[History]) -> Vec<Claim> {
        let ranking = Ranking {
            pairs: std::mem::take(&mut self.pairs),
            unranked: Vec::new(),
            dropped: Vec::new(),
            decision,
            histories: histories.to_vec(),
        };
        self.empty.study.blocks_valid = ranking.decision.blocks_valid;
        self.empty.go_on = ranking.decision.go_on.into();
        self.empty.comparisons = verdicts(&self.book, &ranking).0;
        self.empty.looks = looks(&ranking);
        self.empty.pairs_alike = pairs_alike(&self.book, &ranking);
        self.pairs = ranking.pairs;
        answer(&self.empty).claims
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::verdicts::Verdict;

    fn claims(means: [f64; 2]) -> Vec<Claim> {
        let design = Design::new(4, 2, 0.05);
        let ys = |mean: f64| [0.001, -0.001, 0.002, -0.002].map(|off| Some(mean + off)).to_vec();
        let histories = means.map(|mean| History {
            stack: String::new(),
            phase: String::new(),
            ys: ys(mean),
        });
        let decision = stats::decide_apart(&design, &histories, &[0, 0]);
        Simulated::new(&design, 3, 1).claims(decision, &histories)
    }

    fn verdict(stack: &str, verdict: Verdict) -> Claim {
        Claim::Verdict {
            stack: stack.into(),
            phase: "0".into(),
            verdict,
        }
    }

    #[test]
    fn what_is_alike_is_claimed_of_each_pair_and_of_none_too_far_apart() {
        let near = claims([0.0, 0.0]);
        let of_base = ["1", "2"].map(|stack| verdict(stack, Verdict::Equivalent));
        let pair = Claim::Alike {
            stack: "1".into(),
            other: "2".into(),
            phase: "0".into(),
        };
        assert_eq!(near, [&of_base[..], &[pair]].concat());
        assert_eq!(
            claims([0.03, -0.03]),
            of_base,
            "each is near the base, and they are 6 % apart"
        );
    }

    #[test]
    fn who_is_taken_is_claimed_with_the_reason() {
        let taken = |stack: &str| Claim::Taken {
            stack: stack.into(),
            over: vec!["2".into()],
        };
        let found = claims([0.0, -0.5]);
        assert!(found.contains(&taken("0")) && found.contains(&taken("1")), "{found:?}");
        assert!(found.contains(&verdict("2", Verdict::Worse)), "{found:?}");
        assert!(found.contains(&verdict("1", Verdict::Equivalent)), "{found:?}");
    }
}
