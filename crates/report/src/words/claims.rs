//! What the answer claims of the stacks, beside its words.
//!
//! Who knows the truth (a simulation does) can hold it against the claims. A clause is made with both at once, and one
//! that does not fit into the answer claims nothing. Prevents: an error rate of verdicts that is taken for one of the
//! advice.

use crate::ranking::verdicts::{Comparison, Verdict};

/// Something that the answer says of stacks.
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

/// A sentence of the answer, without its full stop. It begins with no name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause {
    pub words: String,
    pub claims: Vec<Claim>,
    /// It stays however long the answer becomes: what limits the advice.
    pub always: bool,
    /// Number of the group that it speaks of, as the answer has them.
    pub group: Option<usize>,
    /// It speaks of all that the clauses before it leave over of their group: without one of these it would be false.
    pub rest: bool,
}

impl Clause {
    pub(crate) fn of(words: String, claims: impl IntoIterator<Item = Claim>) -> Clause {
        Clause {
            words,
            claims: claims.into_iter().collect(),
            always: false,
            group: None,
            rest: false,
        }
    }

    pub(crate) fn always(self) -> Clause {
        Clause { always: true, ..self }
    }

    pub(crate) fn in_group(self, nth: usize) -> Clause {
        Clause {
            group: Some(nth),
            ..self
        }
    }

    pub(crate) fn of_the_rest(self) -> Clause {
        Clause { rest: true, ..self }
    }
}

impl From<String> for Clause {
    fn from(words: String) -> Clause {
        Clause::of(words, [])
    }
}
