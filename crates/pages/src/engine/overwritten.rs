//! The count of the pages that really came home.
//!
//! Prevents: a share of overwritten pages that is worked out instead of counted.

/// Pages of a worker that were written home since the count began: a bit each.
pub(crate) struct Overwritten {
    bits: Vec<u64>,
    count: u64,
}

impl Overwritten {
    pub(crate) fn new(pages: u32) -> Overwritten {
        Overwritten {
            bits: vec![0; pages.div_ceil(64) as usize],
            count: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bits.fill(0);
        self.count = 0;
    }

    #[inline]
    pub(crate) fn add(&mut self, local: u32) {
        let (word, bit) = (local as usize / 64, 1 << (local % 64));
        self.count += u64::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_once() {
        let mut pages = Overwritten::new(130);
        for local in [0, 64, 129, 64, 0] {
            pages.add(local);
        }
        assert_eq!(pages.count(), 3);
        pages.clear();
        assert_eq!(pages.count(), 0);
    }
}
