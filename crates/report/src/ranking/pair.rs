//! What is compared: two stacks in a phase, or two phases on a stack.
//!
//! Prevents: two places that take the same comparison for two.

use crate::history::PhaseHead;

/// A stack against its base in a phase, or against itself in an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub stack: String,
    pub base: String,
    pub phase: PhaseHead,
    /// The earlier phase; stack and base are then the same.
    pub before: Option<PhaseHead>,
}
