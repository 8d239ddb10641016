//! What an instance has heard of the owner, and has not answered yet.

use crate::sharing::notice::Stream;
use std::collections::VecDeque;

/// Most notices without an answer that are told apart; of more, the last answer stands for several.
pub(super) const DUE_MAX: usize = 64;

/// What was heard, and what is not answered yet.
#[derive(Default)]
pub(crate) struct Hearing {
    pub(super) stream: Stream,
    /// Number of the last notice.
    pub(super) last: u64,
    /// Notices, each with the epoch of this instance's own board that its ports must have reached; at most [`DUE_MAX`].
    pub(super) due: VecDeque<(u64, u64)>,
}
