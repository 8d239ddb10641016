//! What an array with inline reduction keeps of what it is given: each distinct block once, compressed.
//!
//! Takes blocks by content as they are written, gives bytes before and after. Compression is LZ4's, and what is kept of
//! a block takes whole sectors; two blocks are one when 128 bits of hash agree. Nothing is moved: the LUN file holds
//! all of it. Prevents: space of an array that is claimed for data which would not have compressed.

use super::unflushed::SECTOR_BYTES;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// Two halves, each of a hash of its own.
type Digest = (u64, u64);

struct Content {
    blocks: u64,
    bytes: u64,
}

/// Blocks that were written, and what is kept for them.
pub struct Reduction {
    block_bytes: u64,
    of: HashMap<(u16, u64), Digest>,
    kept: HashMap<Digest, Content>,
    physical: u64,
}

impl Reduction {
    /// By blocks of so many bytes, a multiple of [`SECTOR_BYTES`].
    pub fn new(block_bytes: u32) -> Reduction {
        let block_bytes = u64::from(block_bytes);
        assert!(
            block_bytes > 0 && block_bytes.is_multiple_of(SECTOR_BYTES),
            "whole sectors"
        );
        Reduction {
            block_bytes,
            of: HashMap::new(),
            kept: HashMap::new(),
            physical: 0,
        }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Block number `nth` of a LUN has this content now.
    pub fn write(&mut self, lun: u16, nth: u64, content: &[u8]) {
        let digest = digest(content);
        let before = self.of.insert((lun, nth), digest);
        if before == Some(digest) {
            return;
        }
        let physical = &mut self.physical;
        let kept = self.kept.entry(digest).or_insert_with(|| {
            let bytes = compressed_bytes(content);
            *physical += bytes;
            Content { blocks: 0, bytes }
        });
        kept.blocks += 1;
        let Some(before) = before else { return };
        if let Some(content) = self.kept.get_mut(&before) {
            content.blocks -= 1;
            if content.blocks == 0 {
                self.physical -= content.bytes;
                self.kept.remove(&before);
            }
        }
    }

    /// Bytes of the blocks that were ever written.
    pub fn logical_bytes(&self) -> u64 {
        self.of.len() as u64 * self.block_bytes
    }

    /// Bytes that are kept for them.
    pub fn physical_bytes(&self) -> u64 {
        self.physical
    }
}

fn digest(content: &[u8]) -> Digest {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        hasher.write(content);
        hasher.finish()
    };
    (half(0), half(1))
}

/// Whole sectors, and never more than the content: what does not compress is kept as it is.
fn compressed_bytes(content: &[u8]) -> u64 {
    let compressed = lz4_flex::block::compress(content).len() as u64;
    compressed.min(content.len() as u64).next_multiple_of(SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const BLOCK: usize = 8192;

    /// So many bytes of chance, then zeros.
    fn content(seed: u64, random: usize) -> Vec<u8> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut bytes = vec![0; BLOCK];
        rng.fill_bytes(&mut bytes[..random]);
        bytes
    }

    #[test]
    fn what_is_kept_follows_compressibility_and_duplication() {
        let fill = |random: usize, distinct: u64| {
            let mut reduction = Reduction::new(BLOCK as u32);
            for nth in 0..1000 {
                reduction.write(0, nth, &content(nth % distinct, random));
            }
            assert_eq!(reduction.logical_bytes(), 1000 * BLOCK as u64);
            reduction.logical_bytes() as f64 / reduction.physical_bytes() as f64
        };
        assert_eq!(fill(BLOCK, 1000), 1.0, "chance does not compress");
        // A sector at most is lost to rounding: of a half that is an eighth.
        let half = fill(BLOCK / 2, 1000);
        assert!((1.7..=2.0).contains(&half), "{half}");
        assert_eq!(fill(BLOCK, 100), 10.0, "each of a hundred is there ten times");
        assert!(fill(0, 1) > 10_000.0, "zeros are one block, and small");
    }

    #[test]
    fn what_is_overwritten_is_given_back_when_nobody_has_it_any_more() {
        let mut reduction = Reduction::new(BLOCK as u32);
        let (a, b) = (content(1, BLOCK), content(2, BLOCK));
        reduction.write(0, 0, &a);
        reduction.write(1, 0, &a);
        reduction.write(0, 0, &b);
        assert_eq!(reduction.physical_bytes(), 2 * BLOCK as u64);
        reduction.write(1, 0, &b);
        reduction.write(1, 0, &b);
        assert_eq!(
            (reduction.physical_bytes(), reduction.logical_bytes()),
            (BLOCK as u64, 2 * BLOCK as u64)
        );
    }
}
