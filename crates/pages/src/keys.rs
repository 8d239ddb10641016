//! From key to page: keys that follow one another lie on scattered pages, as rows do that were inserted in random order.
//!
//! A bijection of `0..pages` per schema (a Feistel network with cycle walking, Black and Rogaway 2002). Prevents: a range of
//! keys that becomes a sequential read, and a page that no key reaches.

use crate::content::mix;

/// The order of one database's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pages: u32,
    half_bits: u32,
    seed: u64,
}

impl Keys {
    pub(crate) fn new(pages: u32, seed: u64) -> Keys {
        let bits = (32 - (pages.max(2) - 1).leading_zeros()).max(2);
        Keys {
            pages,
            half_bits: bits.div_ceil(2),
            seed: mix(seed ^ 0x6B65_7973),
        }
    }

    /// Page of `key` (below `pages`) in `schema`.
    pub(crate) fn page(&self, schema: u32, key: u32) -> u32 {
        let salt = self.seed ^ u64::from(schema) << 32;
        let mask = (1u32 << self.half_bits) - 1;
        let mut value = key;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for round in 0..3u64 {
                let f = (salt ^ u64::from(right) ^ round << 60).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let f = (f ^ (f >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                (left, right) = (right, left ^ ((f >> 40) as u32 & mask));
            }
            value = left << self.half_bits | right;
            if value < self.pages {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_reached_by_exactly_one_key() {
        for pages in [1, 2, 3, 16, 17, 1000, 4096, 5000] {
            let keys = Keys::new(pages, 9);
            let mut seen = vec![false; pages as usize];
            for key in 0..pages {
                let page = keys.page(1, key) as usize;
                assert!(!seen[page], "page {page} of {pages} twice");
                seen[page] = true;
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let keys = Keys::new(10_000, 3);
        let near = (0..9_999)
            .filter(|k| keys.page(0, *k).abs_diff(keys.page(0, k + 1)) < 100)
            .count();
        assert!(near < 400, "{near} of 9999 neighbours lie within 100 pages");
        assert_ne!(keys.page(0, 5), keys.page(1, 5));
    }
}
