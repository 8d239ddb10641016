//! What is in a KiB of a file: run, file, place, version and a CRC32C of all of it.
//!
//! On the disk, little-endian: CRC32C of the rest (4 bytes), run (4), file (4), place in KiB (4), version (4), filling.
//! Prevents: data of another file, another place, another version or another run that are taken for good.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::LazyLock;
use targets::{Crc32cJoin, crc32c};

/// Bytes that are stamped and checked as one.
pub const GRAIN: usize = 1024;
const HEAD: usize = 20;
const FILLING: usize = GRAIN - HEAD;
/// Fillings, none of which shares a byte with another. A prime, so that no step through them is short.
const FILLINGS: usize = 1021;

/// Filling that does not compress: grains of one file and version that lie less than [`FILLINGS`] KiB apart have
/// different bytes, and others have the same ones by chance alone.
#[derive(Clone, Debug)]
pub struct Pool {
    run: u32,
    fillings: &'static Fillings,
    join: Crc32cJoin,
}

#[derive(Debug)]
struct Fillings {
    bytes: Vec<u8>,
    /// CRC32C of each.
    sums: Vec<u32>,
}

/// One for all users of a process: 1 MB.
static ALL: LazyLock<Fillings> = LazyLock::new(|| {
    let mut bytes = vec![0; FILLINGS * FILLING];
    Xoshiro256PlusPlus::seed_from_u64(0x6a55_a11e).fill_bytes(&mut bytes);
    let sums = bytes.chunks_exact(FILLING).map(crc32c).collect();
    Fillings { bytes, sums }
});

/// What a write brings: grains of one file, one version byte each.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Where the filling comes from.
    pub pool: &'a Pool,
    /// Number of the file in the model.
    pub file: u32,
    /// Place of the first grain, KiB.
    pub first: u32,
    /// Versions of the grains.
    pub versions: &'a [u8],
}

/// What is wrong with a grain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// Not a grain of this run, file and place, or its checksum is wrong.
    Foreign,
    /// A whole grain of another version.
    Version(u32),
}

impl Pool {
    /// `run`: told apart from data of other runs.
    pub fn new(run: u32) -> Pool {
        Pool {
            run,
            fillings: &ALL,
            join: Crc32cJoin::new(FILLING),
        }
    }

    /// Head and filling of a grain.
    #[inline]
    fn parts(&self, file: u32, place: u32, version: u32) -> ([u8; HEAD], &[u8]) {
        let mut head = [0; HEAD];
        for (at, word) in [self.run, file, place, version].into_iter().enumerate() {
            head[4 + at * 4..8 + at * 4].copy_from_slice(&word.to_le_bytes());
        }
        let mixed = (file ^ version.rotate_left(16) ^ self.run.rotate_left(8)).wrapping_mul(0x9e37_79b1);
        let nth = ((mixed >> 8) as usize + place as usize) % FILLINGS;
        let sum = self.join.join(crc32c(&head[4..]), self.fillings.sums[nth]);
        head[..4].copy_from_slice(&sum.to_le_bytes());
        (head, &self.fillings.bytes[nth * FILLING..][..FILLING])
    }

    /// Checks one grain against what it must be.
    pub fn check(&self, file: u32, place: u32, version: u8, grain: &[u8]) -> Result<(), Wrong> {
        let word = |at: usize| {
            let bytes = grain.get(at * 4..at * 4 + 4).and_then(|bytes| bytes.first_chunk::<4>());
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let known = (word(1), word(2), word(3)) == (self.run, file, place);
        if grain.len() != GRAIN || !known || crc32c(&grain[4..]) != word(0) {
            return Err(Wrong::Foreign);
        }
        match word(4) {
            seen if seen == u32::from(version) => Ok(()),
            seen => Err(Wrong::Version(seen)),
        }
    }
}

impl Content<'_> {
    /// Bytes.
    #[expect(clippy::len_without_is_empty, reason = "a write of nothing is never made")]
    pub fn len(&self) -> usize {
        self.versions.len() * GRAIN
    }

    fn grains(&self) -> impl Iterator<Item = ([u8; HEAD], &[u8])> {
        let numbered = self.versions.iter().zip(self.first..);
        numbered.map(|(version, place)| self.pool.parts(self.file, place, u32::from(*version)))
    }

    /// Writes all grains; `into` has [`Self::len`] bytes.
    pub fn fill(&self, into: &mut [u8]) {
        for (grain, (head, filling)) in into.chunks_exact_mut(GRAIN).zip(self.grains()) {
            grain[..HEAD].copy_from_slice(&head);
            grain[HEAD..].copy_from_slice(filling);
        }
    }

    /// Writes all grains behind what is there.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        for (head, filling) in self.grains() {
            out.extend_from_slice(&head);
            out.extend_from_slice(filling);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 128 KiB, as file systems compress at once: of one file, of one that was written to here and there, and of small
    /// files that lie beside each other.
    #[test]
    fn what_is_written_does_not_compress() {
        let pool = Pool::new(3);
        let written = |files: u32, version: fn(u32) -> u8| {
            let kib = 128 / files;
            let mut data = Vec::new();
            for file in 0..files {
                let versions: Vec<u8> = (0..kib).map(version).collect();
                let content = Content {
                    pool: &pool,
                    file: 40 + file,
                    first: 0,
                    versions: &versions,
                };
                content.append_to(&mut data);
            }
            data
        };
        let all = [
            written(1, |_| 1),
            written(1, |place| (place * 7 % 5) as u8),
            written(16, |_| 1),
            written(128, |_| 1),
        ];
        for (nth, data) in all.into_iter().enumerate() {
            let compressed = lz4_flex::compress(&data).len();
            assert!(
                compressed * 100 > data.len() * 90,
                "{nth}: {} bytes are {compressed}",
                data.len()
            );
        }
    }

    #[test]
    fn each_difference_is_seen() {
        let pool = Pool::new(3);
        let mut data = vec![0; 2 * GRAIN];
        Content {
            pool: &pool,
            file: 5,
            first: 8,
            versions: &[1, 2],
        }
        .fill(&mut data);
        assert_eq!(pool.check(5, 8, 1, &data[..GRAIN]), Ok(()));
        assert_eq!(pool.check(5, 9, 2, &data[GRAIN..]), Ok(()));
        assert_eq!(pool.check(5, 9, 3, &data[GRAIN..]), Err(Wrong::Version(2)));
        assert_eq!(pool.check(6, 9, 2, &data[GRAIN..]), Err(Wrong::Foreign));
        assert_eq!(pool.check(5, 8, 2, &data[GRAIN..]), Err(Wrong::Foreign));
        assert_eq!(
            Pool::new(4).check(5, 8, 1, &data[..GRAIN]),
            Err(Wrong::Foreign),
            "another run"
        );
        assert_eq!(
            pool.check(5, 8, 1, &data[..GRAIN - 1]),
            Err(Wrong::Foreign),
            "too short"
        );
        for bit in [0, 33, 150, 4000, GRAIN * 8 - 1] {
            let mut bad = data[..GRAIN].to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(pool.check(5, 8, 1, &bad).is_err(), "bit {bit}");
        }
    }
}
