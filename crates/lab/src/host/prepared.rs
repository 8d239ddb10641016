//! What is found once, before the first trial of a study on this host, and holds for all stacks.

use crate::ceiling::Ceiling;
use crate::sizes::Sizes;
use targets::Method;

/// What was found before the first trial.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) sizes: Option<Sizes>,
    /// Bytes of the data of random work, the same on every stack.
    pub(crate) data_bytes: Option<u64>,
    pub(crate) method: Method,
    /// Budget in bytes, and 0 not enforced, 1 cgroup v1, 2 cgroup v2.
    pub(crate) budget: Option<(u64, u8)>,
    /// What the generator itself can do.
    pub(crate) ceiling: Ceiling,
    /// Facts of the study as a whole.
    pub(crate) facts: Vec<ledger::Disclosed>,
}
