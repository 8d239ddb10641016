//! From key to page: keys that follow one another lie on scattered pages, as rows do that were inserted in random
//! order.
//!
//! A bijection of `0..pages` per schema: products with odd numbers and shifted sums, each of which is one to one on the
//! numbers of so many bits, walked until the result is a page (Black and Rogaway 2002). Less than two turns on average.
//! Prevents: a range of keys that becomes a sequential read, and a page that no key reaches.

use crate::format::content::mix;

/// The order of one database's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pages: u32,
    mask: u32,
    shift: u32,
    factors: [u32; 3],
    seed: u32,
}

impl Keys {
    pub(crate) fn new(pages: u32, seed: u64) -> Keys {
        let bits = (32 - (pages.max(2) - 1).leading_zeros()).max(2);
        let words = [1, 2, 3].map(|nth| mix(seed ^ 0x6B65_7973 ^ nth << 40) as u32 | 1);
        Keys {
            pages,
            mask: u32::MAX >> (32 - bits),
            shift: bits.div_ceil(2),
            factors: words,
            seed: mix(seed) as u32,
        }
    }

    /// Page of `key` (below `pages`) in `schema`.
    #[inline]
    pub(crate) fn page(&self, schema: u32, key: u32) -> u32 {
        let salt = (self.seed ^ schema).wrapping_mul(0x9E37_79B1).rotate_left(16);
        let [first, second, third] = self.factors;
        let mut value = key;
        loop {
            value = (value ^ salt).wrapping_mul(first) & self.mask;
            value ^= value >> self.shift;
            value = value.wrapping_mul(second) & self.mask;
            value ^= value >> self.shift;
            value = value.wrapping_mul(third) & self.mask;
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
