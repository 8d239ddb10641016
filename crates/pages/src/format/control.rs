//! The control block: what a database is and from where its recovery starts.
//!
//! Two slots per worker, written in turn, so that a torn write leaves the other. Prevents: a crash in the middle of
//! recording a checkpoint that costs the database, and an open with parameters that the files were not made for.

use crate::error::PagesError;
use crate::format::page::{get_u32, get_u64, put_u32, put_u64};
use crate::format::shape::{BLOCK_BYTES, Settings, Shape, TornPages};

/// First bytes of a control block ("ASSAYCTL").
const CONTROL_MAGIC: u64 = 0x4C54_4359_4153_5341;
const FORMAT: u32 = 1;
const CONTROL_BYTES: usize = 136;

/// A control block: the first bytes of a 4 KiB block. All numbers little endian.
///
/// | bytes | content |
/// | --- | --- |
/// | 0..8 | magic `ASSAYCTL` |
/// | 8..12 | format: 1 |
/// | 12..16 | CRC32C of the block's first 136 bytes, this field zero |
/// | 16..24 | sequence: plus 1 with each record; its parity is the slot |
/// | 24..32 | identity of the database |
/// | 32..40 | checkpoint: LSN from which recovery replays |
/// | 40..44 | CRC32C field of the batch before that LSN |
/// | 44..48 | worker |
/// | 48..52, 52..56, 56..60 | page bytes, schemas, pages per schema |
/// | 60..64 | data files |
/// | 64..72 | content seed |
/// | 72..80, 80..88 | compressibility, duplication (f64) |
/// | 88..92 | torn pages: 0 log, 1 double, 2 none |
/// | 92..96, 96..100 | writers, workers |
/// | 104..112 | redo bytes |
/// | 112..136 | zero |
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Control {
    pub(crate) sequence: u64,
    pub(crate) database: u64,
    pub(crate) checkpoint: u64,
    pub(crate) previous: u32,
    pub(crate) worker: u32,
    pub(crate) files: u32,
    pub(crate) shape: Shape,
    pub(crate) torn_pages: TornPages,
    pub(crate) writers: u32,
    pub(crate) workers: u32,
    pub(crate) redo_bytes: u64,
}

fn crc(block: &[u8]) -> u32 {
    let crc = targets::crc32c(&block[..12]);
    let crc = targets::crc32c_append(crc, &[0; 4]);
    targets::crc32c_append(crc, &block[16..CONTROL_BYTES])
}

impl Control {
    pub(crate) fn encode(&self, block: &mut [u8]) {
        block.fill(0);
        put_u64(block, 0, CONTROL_MAGIC);
        put_u32(block, 8, FORMAT);
        put_u64(block, 16, self.sequence);
        put_u64(block, 24, self.database);
        put_u64(block, 32, self.checkpoint);
        put_u32(block, 40, self.previous);
        put_u32(block, 44, self.worker);
        put_u32(block, 48, self.shape.page_bytes);
        put_u32(block, 52, self.shape.schemas);
        put_u32(block, 56, self.shape.pages_per_schema);
        put_u32(block, 60, self.files);
        put_u64(block, 64, self.shape.seed);
        put_u64(block, 72, self.shape.compressibility.to_bits());
        put_u64(block, 80, self.shape.duplication.to_bits());
        let torn = match self.torn_pages {
            TornPages::Log => 0,
            TornPages::Double => 1,
            TornPages::None => 2,
        };
        put_u32(block, 88, torn);
        put_u32(block, 92, self.writers);
        put_u32(block, 96, self.workers);
        put_u64(block, 104, self.redo_bytes);
        let crc = crc(block);
        put_u32(block, 12, crc);
    }

    /// `None` when the block is not a whole control block.
    pub(crate) fn decode(block: &[u8]) -> Option<Control> {
        let whole =
            get_u64(block, 0) == CONTROL_MAGIC && get_u32(block, 8) == FORMAT && get_u32(block, 12) == crc(block);
        // Beyond these no database comes, and sums with them would have no room.
        let (sequence, checkpoint) = (get_u64(block, 16), get_u64(block, 32));
        let possible = (sequence | checkpoint) >> 62 == 0 && checkpoint.is_multiple_of(BLOCK_BYTES);
        if !whole || !possible {
            return None;
        }
        Some(Control {
            sequence,
            database: get_u64(block, 24),
            checkpoint,
            previous: get_u32(block, 40),
            worker: get_u32(block, 44),
            files: get_u32(block, 60),
            shape: Shape {
                page_bytes: get_u32(block, 48),
                schemas: get_u32(block, 52),
                pages_per_schema: get_u32(block, 56),
                seed: get_u64(block, 64),
                compressibility: f64::from_bits(get_u64(block, 72)),
                duplication: f64::from_bits(get_u64(block, 80)),
            },
            torn_pages: match get_u32(block, 88) {
                0 => TornPages::Log,
                1 => TornPages::Double,
                _ => TornPages::None,
            },
            writers: get_u32(block, 92),
            workers: get_u32(block, 96),
            redo_bytes: get_u64(block, 104),
        })
    }

    /// Refuses an open with parameters that the files were not made for.
    pub(crate) fn accept(&self, settings: &Settings, files: usize) -> Result<(), PagesError> {
        let made = (self.torn_pages, self.workers, self.redo_bytes, self.files as usize);
        let asked = (settings.torn_pages, settings.workers, settings.redo_bytes, files);
        let doublewrite = self.torn_pages == TornPages::Double && self.writers != settings.writers;
        if made == asked && !doublewrite {
            return Ok(());
        }
        Err(PagesError::settings(
            format!(
                "the database was made with torn_pages {:?}, {} workers, {} bytes of redo, {} data files and {} \
                 writers",
                self.torn_pages, self.workers, self.redo_bytes, self.files, self.writers
            ),
            "open it with these, or load it again",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_and_a_damaged_one_does_not() {
        let control = Control {
            sequence: 7,
            database: 8,
            checkpoint: 9 << 40,
            previous: 10,
            worker: 1,
            files: 5,
            shape: Shape {
                page_bytes: 8192,
                schemas: 64,
                pages_per_schema: 1000,
                seed: 3,
                compressibility: 2.5,
                duplication: 0.25,
            },
            torn_pages: TornPages::Double,
            writers: 8,
            workers: 2,
            redo_bytes: 1 << 30,
        };
        let mut block = vec![0; 4096];
        control.encode(&mut block);
        assert_eq!(Control::decode(&block), Some(control));
        for at in 0..CONTROL_BYTES {
            let mut bad = block.clone();
            bad[at] ^= 4;
            assert_eq!(Control::decode(&bad), None, "byte {at}");
        }
        assert_eq!(Control::decode(&vec![0; 4096]), None);
    }
}
