//! Which stack runs when, and with which seed: an infinite pure function of (study seed, stacks, block).

/// One block: each stack once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// 0-based.
    pub number: u32,
    /// Indices of stacks in the order they run. Blocks 2k and 2k+1 are a mirrored pair.
    pub order: Vec<usize>,
    /// The same for all stacks of the block.
    pub seed: u64,
}
