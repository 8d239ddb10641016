//! What the owner of a group tells the instances that have it open frozen: where extents lie, and which are held.
//!
//! Notices are a stream of bytes, and come through whatever is between two processes in pieces of any size, in order. A
//! notice counts when it is whole and its checksum is right. Prevents: a map of which one half is new.

use crate::error::GroupError;
use crate::layout::block::{Eye, Pen};
use crate::planted::Planted;

const MAGIC: u32 = u32::from_le_bytes(*b"ADGN");
const HEAD: usize = 20;
const ONE: usize = 20;
/// Most extents of one notice, so that a stream that is none of ours takes no more memory than its bytes.
const EXTENTS_MAX: u32 = 1 << 20;
/// Bytes of the largest notice.
pub(super) const LARGEST: usize = HEAD + ONE * EXTENTS_MAX as usize;

/// An extent (file, extent), and where its one copy lies from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    pub(crate) file: u32,
    pub(crate) extent: u32,
    pub(crate) disk: u16,
    /// The disk's file of the ports below, which is the same for all instances.
    pub(crate) slot: u16,
    pub(crate) au: u32,
    /// Writes wait.
    pub(crate) held: bool,
}

/// All that changed up to an epoch of the owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Notice {
    pub(crate) number: u64,
    pub(crate) extents: Vec<Told>,
}

impl Notice {
    /// Numbers are little-endian.
    ///
    /// | bytes | what |
    /// | --- | --- |
    /// | 0..4 | magic |
    /// | 4..8 | CRC32C of all that follows |
    /// | 8..16 | number: the owner's epoch |
    /// | 16..20 | extents |
    /// | then 20 each | file, extent, unit (4 each); disk, file of the ports (2 each); 1: held (4) |
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEAD + ONE * self.extents.len()];
        let mut pen = Pen::new(&mut bytes, 8);
        pen.u64(self.number);
        pen.u32(self.extents.len() as u32);
        for told in &self.extents {
            pen.u32(told.file);
            pen.u32(told.extent);
            pen.u32(told.au);
            pen.u16(told.disk);
            pen.u16(told.slot);
            pen.u32(u32::from(told.held));
        }
        let crc = targets::crc32c(&bytes[8..]);
        let mut pen = Pen::new(&mut bytes, 0);
        pen.u32(MAGIC);
        pen.u32(crc);
        bytes
    }
}

/// What has come of a stream of notices and was not taken yet.
#[derive(Default)]
pub(crate) struct Stream {
    bytes: Vec<u8>,
}

impl Stream {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// The next notice, if all of it has come.
    pub(crate) fn take(&mut self) -> Result<Option<Notice>, GroupError> {
        if self.bytes.len() < HEAD {
            return Ok(None);
        }
        let mut eye = Eye::new(&self.bytes, 0);
        let (magic, crc, number, count) = (eye.u32(), eye.u32(), eye.u64(), eye.u32());
        if magic != MAGIC || count > EXTENTS_MAX {
            return Err(damaged("what came is no notice of the group's owner"));
        }
        let whole = HEAD + ONE * count as usize;
        if self.bytes.len() < whole {
            return Ok(None);
        }
        if targets::crc32c(&self.bytes[8..whole]) != crc {
            return Err(damaged("the checksum of a notice of the group's owner"));
        }
        let read = if Planted::NoticeHalfRead.on() { count / 2 } else { count };
        let told = |_| Told {
            file: eye.u32(),
            extent: eye.u32(),
            au: eye.u32(),
            disk: eye.u16(),
            slot: eye.u16(),
            held: eye.u32() == 1,
        };
        let extents = (0..read).map(told).collect();
        self.bytes.drain(..whole);
        Ok(Some(Notice { number, extents }))
    }
}

fn damaged(what: &str) -> GroupError {
    GroupError::Refused {
        what: what.into(),
        cure: "end this instance: its maps may be old".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notices() -> Vec<Notice> {
        let told = |nth: u32| Told {
            file: 256 + nth,
            extent: nth * 7,
            disk: nth as u16 % 64,
            slot: nth as u16 % 60,
            au: u32::MAX - nth,
            held: nth.is_multiple_of(2),
        };
        let notice = |number: u64| Notice {
            number,
            extents: (0..number as u32 * 3).map(told).collect(),
        };
        (0..4).map(notice).collect()
    }

    #[test]
    fn a_stream_in_pieces_of_any_size_gives_whole_notices() {
        let bytes: Vec<u8> = notices().iter().flat_map(Notice::encode).collect();
        for piece in [1, 2, 3, 19, 20, 21, 64, bytes.len()] {
            let (mut stream, mut found) = (Stream::default(), Vec::new());
            for piece in bytes.chunks(piece) {
                stream.push(piece);
                while let Some(notice) = stream.take().unwrap() {
                    found.push(notice);
                }
            }
            assert_eq!(found, notices(), "pieces of {piece}");
        }
    }

    #[test]
    fn a_notice_that_lacks_a_byte_is_none_and_a_changed_one_is_refused() {
        let good = notices()[2].encode();
        for end in 0..good.len() {
            let mut stream = Stream::default();
            stream.push(&good[..end]);
            assert!(stream.take().unwrap().is_none(), "{end} bytes");
        }
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            let mut stream = Stream::default();
            stream.push(&bytes);
            // A count that says more waits for more, and never gives what is not there.
            assert!(!matches!(stream.take(), Ok(Some(_))), "byte {at}");
        }
    }
}
