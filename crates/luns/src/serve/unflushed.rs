//! A volatile write cache: what was written and not flushed lies here, and a power cut loses an arbitrary part of it.
//!
//! Takes writes by sector, gives reads what was written last, hands over the oldest when it is to go home: it stays
//! here until whoever took it says that it is there. A cut keeps, for each write by itself, all of it, none of it, or
//! some of its sectors, as large as the device says that its sectors are. Prevents: a device that is called volatile
//! and whose bytes were on the disk all along, and a write that is lost because storing it failed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// So many of the writes that went home are remembered.
const RECENT: usize = 64;

/// The smallest write.
pub const SECTOR_BYTES: u64 = 512;

struct Write {
    lun: u16,
    offset: u64,
    bytes: Arc<[u8]>,
}

/// A piece of a write, as it goes to the file below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// LUN of the set.
    pub lun: u16,
    /// Offset on it in bytes.
    pub offset: u64,
    /// What was written.
    pub bytes: Arc<[u8]>,
}

/// Writes that no flush has covered.
#[derive(Default)]
pub struct Unflushed {
    writes: VecDeque<Write>,
    /// Writes that went from the front before.
    gone: usize,
    /// The write that each sector of a LUN has its newest content from.
    newest: BTreeMap<(u16, u64), usize>,
    held: u64,
    /// Offset and length of those that went home last.
    recent: VecDeque<(u64, u64)>,
}

impl Unflushed {
    /// Takes a write; offset and length are multiples of [`SECTOR_BYTES`].
    pub fn write(&mut self, lun: u16, offset: u64, bytes: &[u8]) {
        assert!(
            offset.is_multiple_of(SECTOR_BYTES) && (bytes.len() as u64).is_multiple_of(SECTOR_BYTES),
            "whole sectors"
        );
        let nth = self.gone + self.writes.len();
        let first = offset / SECTOR_BYTES;
        for sector in first..first + bytes.len() as u64 / SECTOR_BYTES {
            self.newest.insert((lun, sector), nth);
        }
        self.held += bytes.len() as u64;
        self.writes.push_back(Write {
            lun,
            offset,
            bytes: bytes.into(),
        });
    }

    /// Lays what was written over what was read from the file below.
    pub fn lay_over(&self, lun: u16, offset: u64, read: &mut [u8]) {
        let first = offset / SECTOR_BYTES;
        let end = (offset + read.len() as u64).div_ceil(SECTOR_BYTES);
        for ((_, sector), nth) in self.newest.range((lun, first)..(lun, end)) {
            let write = &self.writes[*nth - self.gone];
            let from = (sector * SECTOR_BYTES - write.offset) as usize;
            let at = (sector * SECTOR_BYTES).saturating_sub(offset) as usize;
            let len = (SECTOR_BYTES as usize).min(read.len() - at);
            read[at..at + len].copy_from_slice(&write.bytes[from..from + len]);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.held
    }

    /// Writes that ever went home or were lost.
    pub fn gone(&self) -> usize {
        self.gone
    }

    /// Whether something that touches a range may have gone since [`Unflushed::gone`] was `before`: a read of the file
    /// below since then may have missed it.
    pub fn went_since(&self, before: usize, offset: u64, len: u64) -> bool {
        let went = self.gone - before;
        let touches = |(from, bytes): &(u64, u64)| *from < offset + len && offset < from + bytes;
        went > self.recent.len() || self.recent.iter().rev().take(went).any(touches)
    }

    /// Writes that ever came: all of them are home when [`Unflushed::gone`] has reached it.
    pub fn come(&self) -> usize {
        self.gone + self.writes.len()
    }

    /// The oldest write; it stays here, and reads see it.
    pub fn oldest(&self) -> Option<Piece> {
        let write = self.writes.front()?;
        Some(Piece {
            lun: write.lun,
            offset: write.offset,
            bytes: write.bytes.clone(),
        })
    }

    /// The oldest write is in the file below. The rest stays unflushed.
    pub fn is_home(&mut self) {
        let Some(write) = self.writes.pop_front() else {
            return;
        };
        let first = write.offset / SECTOR_BYTES;
        for sector in first..first + write.bytes.len() as u64 / SECTOR_BYTES {
            if self.newest.get(&(write.lun, sector)) == Some(&self.gone) {
                self.newest.remove(&(write.lun, sector));
            }
        }
        self.gone += 1;
        self.held -= write.bytes.len() as u64;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((write.offset, write.bytes.len() as u64));
    }

    /// The power fails: takes out everything and gives what arrived, an arbitrary part by `seed`, in the order of
    /// writing. A sector of `sector_bytes`, a multiple of [`SECTOR_BYTES`], is kept or lost as a whole.
    pub fn cut(&mut self, seed: u64, sector_bytes: u32) -> Vec<Piece> {
        let sector = u64::from(sector_bytes);
        assert!(sector > 0 && sector.is_multiple_of(SECTOR_BYTES), "whole sectors");
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut kept = Vec::new();
        self.newest.clear();
        self.recent.clear();
        self.held = 0;
        self.gone += self.writes.len();
        for write in self.writes.drain(..) {
            let piece = |from: usize, bytes: Arc<[u8]>| Piece {
                lun: write.lun,
                offset: write.offset + from as u64,
                bytes,
            };
            match rng.next_u64() % 4 {
                0 => kept.push(piece(0, write.bytes.clone())),
                1 => {}
                _ => {
                    // Sectors side by side are one piece: each piece is a write to the file below.
                    let mut from = None;
                    let (mut at, end) = (0, write.bytes.len());
                    while at < end {
                        let keeps = rng.next_u64().is_multiple_of(2);
                        if keeps {
                            from.get_or_insert(at);
                        } else if let Some(from) = from.take() {
                            kept.push(piece(from, write.bytes[from..at].into()));
                        }
                        at += (sector - (write.offset + at as u64) % sector) as usize;
                    }
                    if let Some(from) = from {
                        kept.push(piece(from, write.bytes[from..].into()));
                    }
                }
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_see_the_newest_write_of_each_sector() {
        let mut cache = Unflushed::default();
        cache.write(0, 0, &[1; 2048]);
        cache.write(0, 1024, &[2; 512]);
        cache.write(1, 512, &[3; 512]);
        let mut read = vec![9; 3072];
        cache.lay_over(0, 0, &mut read);
        let seen: Vec<u8> = read.chunks(512).map(|s| s[0]).collect();
        assert_eq!(seen, [1, 1, 2, 1, 9, 9]);
        // In the middle of sectors too.
        let mut part = vec![9; 600];
        cache.lay_over(0, 1000 + 24, &mut part);
        assert_eq!((part[0], part[511], part[512]), (2, 2, 1));
        assert_eq!(cache.bytes(), 3072);
    }

    #[test]
    fn a_full_cache_gives_up_its_oldest_and_keeps_the_rest_unflushed() {
        let mut cache = Unflushed::default();
        cache.write(0, 0, &[1; 1024]);
        cache.write(0, 512, &[2; 1024]);
        cache.write(0, 4096, &[3; 512]);
        let oldest = cache.oldest().unwrap();
        assert_eq!((oldest.bytes[0], cache.bytes()), (1, 2560), "it goes when it is home");
        let seen = |cache: &Unflushed| -> Vec<u8> {
            let mut read = vec![9; 4608];
            cache.lay_over(0, 0, &mut read);
            read.chunks(512).map(|s| s[0]).collect()
        };
        assert_eq!(seen(&cache), [1, 2, 2, 9, 9, 9, 9, 9, 3], "until then it is read here");
        cache.is_home();
        assert_eq!((cache.bytes(), cache.gone(), cache.come()), (1536, 1, 3));
        assert_eq!(
            seen(&cache),
            [9, 2, 2, 9, 9, 9, 9, 9, 3],
            "the first sector is below by now"
        );
        cache.write(0, 0, &[4; 512]);
        let mut order = Vec::new();
        while let Some(piece) = cache.oldest() {
            order.push(piece.bytes[0]);
            cache.is_home();
        }
        assert_eq!((order, cache.bytes()), (vec![2, 3, 4], 0));
        assert_eq!(cache.gone(), cache.come());
        assert!(cache.went_since(0, 4096, 512) && !cache.went_since(3, 4096, 512));
        assert!(cache.went_since(3, 0, 512) && !cache.went_since(4, 0, 1 << 20));
    }

    #[test]
    fn a_cut_keeps_some() {
        let fill = || {
            let mut cache = Unflushed::default();
            for nth in 0..200u8 {
                cache.write(0, u64::from(nth) * 8192, &[nth; 8192]);
            }
            cache
        };
        let mut whole = 0;
        let mut torn = 0;
        let mut cache = fill();
        let kept = cache.cut(5, 512);
        for nth in 0..200u64 {
            let bytes: usize = kept
                .iter()
                .filter(|p| p.offset / 8192 == nth)
                .map(|p| p.bytes.len())
                .sum();
            whole += usize::from(bytes == 8192);
            torn += usize::from(bytes > 0 && bytes < 8192);
        }
        let lost = 200 - whole - torn;
        assert!(whole > 20 && torn > 50 && lost > 20, "{whole} {torn} {lost}");
        assert_eq!((cache.bytes(), cache.gone()), (0, 200));
        assert!(cache.went_since(199, 1 << 40, 512), "nobody knows what");
        assert_eq!(kept, fill().cut(5, 512), "the same seed loses the same");
    }

    #[test]
    fn nothing_is_torn_inside_a_sector_of_the_device() {
        let mut cache = Unflushed::default();
        for nth in 0..200u64 {
            cache.write(0, nth * 32_768 + 1024, &[nth as u8; 16_384]);
        }
        let kept = cache.cut(5, 4096);
        let edges = kept.iter().flat_map(|p| [p.offset, p.offset + p.bytes.len() as u64]);
        let inside = edges.filter(|at| !at.is_multiple_of(4096));
        // Where the write itself begins and ends inside one.
        assert!(inside.into_iter().all(|at| matches!(at % 32_768, 1024 | 17_408)));
        let parts = |nth: u64| kept.iter().filter(|p| p.offset / 32_768 == nth).count();
        assert!((0..200).filter(|nth| parts(*nth) > 1).count() > 20);
    }
}
