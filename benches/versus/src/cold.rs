//! Pages in memory that no cache of the processor holds, and ways to go through them.
//!
//! Takes a number of pages, gives microseconds a page. The pages are visited once each, in random order, as reads come
//! back. Prevents: a checksum that is measured on a page that was just there, where most of what it costs on one that
//! a device has written is missing.

use anyhow::Context;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;
use targets::{Memory, PREFETCH_BYTES, prefetch};

/// A page of the database that the other sections read.
pub(crate) const PAGE_BYTES: usize = 8192;
/// The engine's checksum covers what is behind it and its magic.
const COVERED_FROM: usize = 8;
const SEED: u64 = 1;
const MIB: f64 = 1048576.0;

/// What is done with a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// Its words are summed up: each is read once, and nothing else is done.
    Sum,
    /// The engine's checksum.
    Engine,
    /// That of the crate `crc-fast`: carry-less products beside the instruction.
    CrcFast,
    /// That of the crate `crc32c`: the instruction in three streams.
    Crc32c,
}

/// What is asked for ahead of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    Nothing,
    /// The page itself, all at once.
    Itself,
    /// The head of the next page, as the engine does it.
    Head,
    /// The whole page so many further on, all at once.
    Whole(usize),
}

impl Pass {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Pass::Sum => "sum of words",
            Pass::Engine => "engine's checksum",
            Pass::CrcFast => "crate crc-fast",
            Pass::Crc32c => "crate crc32c",
        }
    }
}

impl Ahead {
    pub(crate) fn words(self) -> String {
        match self {
            Ahead::Nothing => "nothing ahead".into(),
            Ahead::Itself => "itself asked for first".into(),
            Ahead::Head => format!("{PREFETCH_BYTES} bytes of the next before"),
            Ahead::Whole(1) => "the next before".into(),
            Ahead::Whole(further) => format!("the one {further} further before"),
        }
    }
}

/// Pages, and the order in which they are visited.
pub(crate) struct Pool {
    memory: Memory,
    order: Vec<u32>,
    /// How much of it the kernel keeps in huge pages, MiB; `None` where it does not tell.
    pub(crate) huge_mib: Option<f64>,
}

impl Pool {
    /// Makes it and fills it with numbers that nothing can guess.
    pub(crate) fn new(pages: u32, huge: bool) -> anyhow::Result<Pool> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let bytes = pages as usize * PAGE_BYTES;
        let before = in_huge_pages();
        let mut memory = Memory::new(bytes as u64, huge).context("take memory for the pages")?;
        for word in memory.bytes_mut(0, bytes).as_chunks_mut::<8>().0 {
            *word = random.next_u64().to_le_bytes();
        }
        let huge_mib = in_huge_pages()
            .zip(before)
            .map(|(after, before)| (after - before) / MIB);
        let mut order: Vec<u32> = (0..pages).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        Ok(Pool {
            memory,
            order,
            huge_mib,
        })
    }

    /// The page that is visited as the `nth`; nothing behind the last.
    fn page(&self, nth: usize) -> &[u8] {
        let place = self.order.get(nth);
        place.map_or(&[][..], |place| {
            self.memory.bytes(u64::from(*place) * PAGE_BYTES as u64, PAGE_BYTES)
        })
    }

    /// Visits all pages.
    #[inline(always)]
    fn visit(&self, ahead: Ahead, each: impl Fn(&[u8]) -> u64) -> u64 {
        let mut total = 0u64;
        for nth in 0..self.order.len() {
            let page = self.page(nth);
            let before: &[u8] = match ahead {
                Ahead::Itself => page,
                Ahead::Head => self.page(nth + 1).get(..PREFETCH_BYTES).unwrap_or_default(),
                Ahead::Whole(further) => self.page(nth + further),
                Ahead::Nothing => &[],
            };
            prefetch(before);
            total = total.wrapping_add(each(page));
        }
        total
    }

    /// Goes through all pages and gives the sum of what each gave.
    fn total(&self, pass: Pass, ahead: Ahead) -> u64 {
        match pass {
            Pass::Sum => self.visit(ahead, sum),
            Pass::Engine => self.visit(ahead, |page| u64::from(targets::crc32c(&page[COVERED_FROM..]))),
            Pass::CrcFast => self.visit(ahead, |page| u64::from(crc_fast::crc32_iscsi(&page[COVERED_FROM..]))),
            Pass::Crc32c => self.visit(ahead, |page| u64::from(crc32c::crc32c(&page[COVERED_FROM..]))),
        }
    }

    /// Microseconds a page.
    pub(crate) fn measure(&self, pass: Pass, ahead: Ahead) -> f64 {
        let began = Instant::now();
        std::hint::black_box(self.total(pass, ahead));
        began.elapsed().as_secs_f64() * 1e6 / self.order.len() as f64
    }
}

/// Sum of the words of a page, eight side by side, so that the compiler takes loads as wide as it has.
fn sum(page: &[u8]) -> u64 {
    let mut sums = [0u64; 8];
    for line in page.as_chunks::<64>().0 {
        for (sum, word) in sums.iter_mut().zip(line.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Bytes of this process in huge pages.
fn in_huge_pages() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    let kib: f64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_visited_once_and_all_ways_see_the_same_bytes() {
        let pool = Pool::new(37, false).unwrap();
        let mut order = pool.order.clone();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..37));
        assert!(pool.page(37).is_empty() && pool.page(36).len() == PAGE_BYTES);
        let checksums = pool.total(Pass::Crc32c, Ahead::Nothing);
        let words = pool.memory.bytes(0, 37 * PAGE_BYTES).as_chunks::<8>().0;
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let words = words.fold(0, u64::wrapping_add);
        for ahead in [
            Ahead::Nothing,
            Ahead::Itself,
            Ahead::Head,
            Ahead::Whole(1),
            Ahead::Whole(40),
        ] {
            assert_eq!(pool.total(Pass::Sum, ahead), words, "{ahead:?}");
            for pass in [Pass::Engine, Pass::CrcFast, Pass::Crc32c] {
                assert_eq!(pool.total(pass, ahead), checksums, "{pass:?} {ahead:?}");
            }
        }
    }
}
