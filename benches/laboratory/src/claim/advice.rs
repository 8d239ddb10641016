//! What the last sentence of a simulated study says, held against what is true.
//!
//! Takes the claims that the product's own code makes, and the true log ratios; says whether one of them is false.
//! Prevents: an error rate of verdicts that is taken for one of the advice.

use super::worlds::Shape;
use report::{Claim, Verdict};

/// True log ratios of all comparisons, stack after stack, in each phase after phase.
pub(crate) struct Truth<'a> {
    pub(crate) shape: Shape,
    pub(crate) margin: f64,
    pub(crate) ratios: &'a [f64],
}

impl Truth<'_> {
    /// Of a stack and a phase by their numbers; the base is 0 in all phases.
    fn of(&self, stack: usize, phase: usize) -> f64 {
        match stack {
            0 => 0.0,
            stack => self.ratios[(stack - 1) * self.shape.phases + phase],
        }
    }

    fn edge(&self) -> f64 {
        self.margin.ln_1p()
    }

    /// Whether any claim is false. Who is taken over another must not be beaten by it in every phase, beyond the
    /// margin.
    pub(crate) fn belies(&self, claims: &[Claim]) -> bool {
        claims.iter().any(|claim| match claim {
            Claim::Verdict { stack, phase, verdict } => {
                let truth = self.of(number(stack), number(phase));
                of_stats(*verdict).is_false(truth, self.margin)
            }
            Claim::Alike { stack, other, phase } => {
                let phase = number(phase);
                let apart = self.of(number(stack), phase) - self.of(number(other), phase);
                stats::Verdict::Equivalent.is_false(apart, self.margin)
            }
            Claim::Taken { stack, over } => {
                let taken = number(stack);
                let beats = |other: usize, phase: usize| self.of(other, phase) - self.of(taken, phase) > self.edge();
                over.iter()
                    .map(|other| number(other))
                    .any(|other| (0..self.shape.phases).all(|phase| beats(other, phase)))
            }
        })
    }
}

/// Names of simulated stacks and phases are their numbers.
fn number(name: &str) -> usize {
    name.parse().expect("a number")
}

fn of_stats(verdict: Verdict) -> stats::Verdict {
    match verdict {
        Verdict::Better => stats::Verdict::Better,
        Verdict::Worse => stats::Verdict::Worse,
        Verdict::Equivalent => stats::Verdict::Equivalent,
        Verdict::NotEnoughData => stats::Verdict::NotEnoughData,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_claim_can_be_false() {
        let shape = Shape {
            stacks: 3,
            phases: 2,
            blocks: 4,
        };
        // One is 6 % below the base, the other 4 % above it.
        let truth = Truth {
            shape,
            margin: 0.05,
            ratios: &[-0.06, -0.06, 0.04, 0.04],
        };
        let verdict = |stack: &str, verdict| Claim::Verdict {
            stack: stack.into(),
            phase: "1".into(),
            verdict,
        };
        let taken = |stack: &str, over: &str| Claim::Taken {
            stack: stack.into(),
            over: vec![over.into()],
        };
        let alike = Claim::Alike {
            stack: "1".into(),
            other: "2".into(),
            phase: "0".into(),
        };
        let falsehoods = [
            verdict("1", Verdict::Better),
            verdict("1", Verdict::Equivalent),
            taken("1", "0"),
            alike,
        ];
        for claim in falsehoods {
            assert!(truth.belies(std::slice::from_ref(&claim)), "{claim:?}");
        }
        let truths = [
            verdict("1", Verdict::Worse),
            verdict("2", Verdict::Equivalent),
            taken("0", "2"),
            taken("2", "1"),
        ];
        assert!(!truth.belies(&truths));
    }
}
