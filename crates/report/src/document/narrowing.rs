//! How an interval narrowed, look by look.
//!
//! Plain types. Prevents: a drawing without the blocks of its looks.

use super::forms::Tone;

/// The intervals of one ratio, look by look.
pub(crate) struct Narrowing {
    pub(crate) looks: Vec<Look>,
    pub(crate) margin: f64,
    pub(crate) tone: Tone,
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Blocks in it.
    pub(crate) blocks: u32,
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}
