//! What the last sentence claims of the stacks, beside its words.
//!
//! Who knows the truth (a simulation does) can hold it against the claims. A clause is made with both at once, and one
//! that does not fit into the sentence claims nothing. Prevents: an error rate of verdicts that is taken for one of the
//! advice.

use crate::ranking::verdicts::{Comparison, Verdict};

/// Something that the sentence says of stacks.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// A verdict on a stack against its base in a phase.
    Verdict {
        /// The stack.
        stack: String,
        /// The phase.
        phase: String,
        /// What is said.
        verdict: Verdict,
    },
    /// Two stacks, neither of them the base, are equivalent in a phase.
    Alike {
        /// One of them.
        stack: String,
        /// The other.
        other: String,
        /// The phase.
        phase: String,
    },
    /// A stack is to be taken.
    Taken {
        /// The stack.
        stack: String,
        /// Those that are not, and that are not called undecided.
        over: Vec<String>,
    },
}

impl Claim {
    /// That a comparison has its verdict.
    pub(crate) fn verdict(one: &Comparison) -> Claim {
        Claim::Verdict {
            stack: one.stack.clone(),
            phase: one.phase.clone(),
            verdict: one.verdict,
        }
    }
}

/// A part of the sentence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause {
    pub words: String,
    pub claims: Vec<Claim>,
    /// It stays however long the answer becomes: what limits the advice.
    pub always: bool,
}

impl Clause {
    pub(crate) fn of(words: String, claims: impl IntoIterator<Item = Claim>) -> Clause {
        Clause {
            words,
            claims: claims.into_iter().collect(),
            always: false,
        }
    }

    pub(crate) fn always(self) -> Clause {
        Clause { always: true, ..self }
    }
}

impl From<String> for Clause {
    fn from(words: String) -> Clause {
        Clause::of(words, [])
    }
}
