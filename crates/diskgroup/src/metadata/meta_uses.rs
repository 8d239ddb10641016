//! What each block of the metadata file is used for, and which of them are free.
//!
//! Gives the free block with the lowest number. Prevents: a walk over all blocks for each that is taken.

use std::collections::BTreeSet;
use std::ops::Index;

/// What a block of the metadata file is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetaUse {
    Free,
    Disks,
    Entry(u32),
    Leaf { file: u32, index: u32 },
}

/// The uses of all blocks.
#[derive(Default)]
pub(crate) struct MetaUses {
    uses: Vec<MetaUse>,
    /// From here on all blocks are free. A metadata file may be large and empty.
    fresh: u32,
    /// The free blocks before that.
    free: BTreeSet<u32>,
}

impl MetaUses {
    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> u32 {
        self.uses.len() as u32
    }

    pub(crate) fn get(&self, block: u32) -> Option<MetaUse> {
        self.uses.get(block as usize).copied()
    }

    /// The free block with the lowest number.
    pub(crate) fn first_free(&self) -> Option<u32> {
        let fresh = (self.fresh < self.blocks()).then_some(self.fresh);
        self.free.first().copied().or(fresh)
    }

    /// Adds free blocks at the end.
    pub(crate) fn grow(&mut self, blocks: u32) {
        let all = self.uses.len() + blocks as usize;
        self.uses.resize(all, MetaUse::Free);
    }

    /// Says what a block is used for from now on.
    pub(crate) fn set(&mut self, block: u32, used_for: MetaUse) {
        self.uses[block as usize] = used_for;
        if used_for != MetaUse::Free && block >= self.fresh {
            self.free.extend(self.fresh..block);
            self.fresh = block + 1;
        } else if used_for != MetaUse::Free {
            self.free.remove(&block);
        } else if block < self.fresh {
            self.free.insert(block);
        }
    }
}

impl Index<u32> for MetaUses {
    type Output = MetaUse;

    fn index(&self, block: u32) -> &MetaUse {
        &self.uses[block as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lowest_free_block_is_that_of_a_walk_over_all(
            steps in prop::collection::vec((0u8..8, any::<u32>()), 1..200),
        ) {
            let mut uses = MetaUses::default();
            for (what, number) in steps {
                let block = number % uses.blocks().max(1);
                match what {
                    0 => uses.grow(number % 9),
                    _ if uses.blocks() == 0 => {}
                    1..=2 => uses.set(block, MetaUse::Free),
                    3..=4 => uses.set(block, MetaUse::Entry(number)),
                    _ => {
                        if let Some(free) = uses.first_free() {
                            uses.set(free, MetaUse::Disks);
                        }
                    }
                }
                let walked = uses.uses.iter().position(|used| *used == MetaUse::Free);
                prop_assert_eq!(uses.first_free(), walked.map(|block| block as u32));
            }
        }
    }
}
