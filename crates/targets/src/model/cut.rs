//! Losing power: which of the writes that were not flushed are on the disks afterwards.
//!
//! Takes the durable content and the writes that no flush has covered, in the order they were completed (those in
//! flight last), gives the content after the cut. Each such write is lost, there in full, or there in some of its
//! sectors; how likely each is differs from cut to cut, so that "all lost", "all there" and "only the last one" come up
//! often. Prevents a recovery that works only when storage is kind.

use super::Disks;
use super::timing::uniform;
use crate::port::FileId;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a disk writes whole or not at all.
pub(super) const SECTOR: usize = 512;

/// A write that no flush covers yet.
pub(super) struct Unflushed {
    /// Place in the order of completed writes, from 1.
    pub(super) order: u64,
    pub(super) offset: u64,
    pub(super) data: Vec<u8>,
}

pub(super) fn lose<'a>(durable: &Disks, unflushed: impl Iterator<Item = (FileId, u64, &'a [u8])>, seed: u64) -> Disks {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let kept_share = [0.0, 0.1, 0.5, 0.9, 1.0][rng.next_u64() as usize % 5];
    let torn_share = [0.0, 0.2, 0.7][rng.next_u64() as usize % 3];
    let mut after = durable.clone();
    for (file, offset, data) in unflushed {
        let torn = uniform(&mut rng) < torn_share;
        let kept = uniform(&mut rng) < kept_share;
        match (torn, kept) {
            (true, _) => tear(&mut rng, &mut after, file, offset, data),
            (false, true) => after.write(file, offset, data),
            (false, false) => {}
        }
    }
    after
}

/// A prefix, a suffix or any sectors of a write.
fn tear(rng: &mut Xoshiro256PlusPlus, after: &mut Disks, file: FileId, offset: u64, data: &[u8]) {
    let sectors = data.len().div_ceil(SECTOR) as u64;
    let shape = rng.next_u64() % 3;
    let border = (rng.next_u64() % (sectors + 1)) as usize;
    for (index, sector) in data.chunks(SECTOR).enumerate() {
        let there = match shape {
            0 => index < border,
            1 => index >= border,
            _ => rng.next_u64().is_multiple_of(2),
        };
        if there {
            after.write(file, offset + (index * SECTOR) as u64, sector);
        }
    }
}
