//! A volatile write cache: what was written and not flushed lies here, and a power cut loses an arbitrary part of it.
//!
//! Takes writes by sector, gives reads what was written last, hands everything over at a flush. A cut keeps, for each write by itself,
//! all of it, none of it, or some of its sectors. Prevents: a device that is called volatile and whose bytes were on the disk all along.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};

/// What is lost or kept as a whole.
pub const SECTOR_BYTES: u64 = 512;

struct Write {
    lun: u16,
    offset: u64,
    bytes: Vec<u8>,
}

/// A piece of a write, as it goes to the file below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// LUN of the set.
    pub lun: u16,
    /// Offset on it in bytes.
    pub offset: u64,
    /// What was written.
    pub bytes: Vec<u8>,
}

/// Writes that no flush has covered.
#[derive(Default)]
pub struct Unflushed {
    writes: VecDeque<Write>,
    /// Writes that were handed over from the front before.
    gone: usize,
    /// The write that each sector of a LUN has its newest content from.
    newest: BTreeMap<(u16, u64), usize>,
    held: u64,
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
            bytes: bytes.to_vec(),
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

    /// Takes out the oldest writes, at least so many bytes if there are as many: room for new ones. The rest stays unflushed.
    pub fn take_oldest(&mut self, bytes: u64) -> Vec<Piece> {
        let mut taken = Vec::new();
        let mut freed = 0;
        while freed < bytes
            && let Some(write) = self.writes.pop_front()
        {
            let first = write.offset / SECTOR_BYTES;
            for sector in first..first + write.bytes.len() as u64 / SECTOR_BYTES {
                if self.newest.get(&(write.lun, sector)) == Some(&self.gone) {
                    self.newest.remove(&(write.lun, sector));
                }
            }
            self.gone += 1;
            freed += write.bytes.len() as u64;
            taken.push(Piece {
                lun: write.lun,
                offset: write.offset,
                bytes: write.bytes,
            });
        }
        self.held -= freed;
        taken
    }

    /// Takes out everything, in the order in which it was written: a flush.
    pub fn take_all(&mut self) -> Vec<Piece> {
        self.newest.clear();
        self.held = 0;
        self.gone = 0;
        let piece = |w: Write| Piece {
            lun: w.lun,
            offset: w.offset,
            bytes: w.bytes,
        };
        self.writes.drain(..).map(piece).collect()
    }

    /// The power fails: takes out everything and gives what arrived, an arbitrary part by `seed`, in the order of writing.
    pub fn cut(&mut self, seed: u64) -> Vec<Piece> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut kept = Vec::new();
        for piece in self.take_all() {
            match rng.next_u64() % 4 {
                0 => kept.push(piece),
                1 => {}
                _ => {
                    // Sectors side by side are one piece: each piece is a write to the file below.
                    let mut run_to = None;
                    for (nth, sector) in piece.bytes.chunks(SECTOR_BYTES as usize).enumerate() {
                        if !rng.next_u64().is_multiple_of(2) {
                            continue;
                        }
                        match kept.last_mut().filter(|_| run_to == Some(nth)) {
                            Some(run) => run.bytes.extend_from_slice(sector),
                            None => kept.push(Piece {
                                lun: piece.lun,
                                offset: piece.offset + nth as u64 * SECTOR_BYTES,
                                bytes: sector.to_vec(),
                            }),
                        }
                        run_to = Some(nth + 1);
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
        let oldest = cache.take_oldest(600);
        assert_eq!((oldest.len(), oldest[0].bytes[0], cache.bytes()), (1, 1, 1536));
        let mut read = vec![9; 4608];
        cache.lay_over(0, 0, &mut read);
        let seen: Vec<u8> = read.chunks(512).map(|s| s[0]).collect();
        assert_eq!(seen, [9, 2, 2, 9, 9, 9, 9, 9, 3], "the first sector is below by now");
        cache.write(0, 0, &[4; 512]);
        assert_eq!(cache.take_all().len(), 3);
        assert_eq!(cache.take_oldest(100).len(), 0);
    }

    #[test]
    fn a_flush_keeps_all_and_a_cut_some() {
        let fill = || {
            let mut cache = Unflushed::default();
            for nth in 0..200u8 {
                cache.write(0, u64::from(nth) * 8192, &[nth; 8192]);
            }
            cache
        };
        assert_eq!(fill().take_all().len(), 200);
        let mut whole = 0;
        let mut torn = 0;
        let mut cache = fill();
        let kept = cache.cut(5);
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
        assert_eq!(cache.bytes(), 0);
        assert_eq!(kept, fill().cut(5), "the same seed loses the same");
    }
}
