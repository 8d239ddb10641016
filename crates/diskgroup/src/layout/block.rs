//! The 4 KiB block that all metadata are made of: what it is, where it belongs, when it was written, and a checksum.
//!
//! Takes a body and an [`Address`], gives a sealed block; takes a block read, gives its sequence or a [`Flaw`].
//! Prevents: a block of another group, of another place, half written or of a newer format, taken for what was asked.

use crate::planted::Planted;
use crate::uuid::Uuid;

/// Bytes of a metadata block; all of them are aligned to it.
pub(crate) const BLOCK: usize = 4096;
/// Where the body starts.
pub(crate) const BODY: usize = 48;
/// Newest format version this program reads, and the one it writes.
pub const FORMAT_VERSION: u16 = 1;
const MAGIC: [u8; 4] = *b"ADGB";

/// Where a block belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Address {
    /// The header of a disk, by the disk's number; first and last block of the disk.
    Header(u16),
    /// The root; second block of every disk.
    Root,
    /// A block of a disk's allocation table.
    Table { disk: u16, index: u32 },
    /// A block of the metadata file.
    Meta(u32),
    /// The head of a journal transaction.
    Journal,
}

impl Address {
    pub(crate) fn code(self) -> u64 {
        match self {
            Address::Header(disk) => 1 << 56 | u64::from(disk),
            Address::Root => 2 << 56,
            Address::Table { disk, index } => 3 << 56 | u64::from(disk) << 32 | u64::from(index),
            Address::Meta(index) => 4 << 56 | u64::from(index),
            Address::Journal => 5 << 56,
        }
    }

    pub(crate) fn of(code: u64) -> Option<Address> {
        let address = match code >> 56 {
            1 => Address::Header(code as u16),
            2 => Address::Root,
            3 => Address::Table {
                disk: (code >> 32) as u16,
                index: code as u32,
            },
            4 => Address::Meta(code as u32),
            5 => Address::Journal,
            _ => return None,
        };
        (address.code() == code).then_some(address)
    }

    /// Whether the block changes through the journal.
    pub(crate) fn is_journalled(self) -> bool {
        matches!(self, Address::Root | Address::Table { .. } | Address::Meta(_))
    }
}

/// Why a block is not what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flaw {
    /// No block of ours.
    Foreign,
    /// Written by a newer version.
    Newer(u16),
    /// Damaged.
    Checksum,
    /// Of another group.
    OtherGroup(Uuid),
    /// It belongs elsewhere.
    Misplaced,
}

/// An empty block.
pub(crate) fn blank() -> Box<[u8]> {
    vec![0; BLOCK].into_boxed_slice()
}

/// Fills in the first 48 bytes of a block:
///
/// | bytes | what |
/// | --- | --- |
/// | 0..4 | magic `ADGB` |
/// | 4..8 | CRC32C of bytes 8..4096 |
/// | 8..24 | UUID of the group |
/// | 24..32 | address: kind in the top byte, disk in bits 32..48, index in bits 0..32 |
/// | 32..40 | sequence of the transaction that wrote it |
/// | 40..42 | format version |
/// | 42..48 | zero |
///
/// Kinds of address: 1 header, 2 root, 3 table, 4 metadata file, 5 journal. All numbers on disk are little endian.
pub(crate) fn seal(block: &mut [u8], group: Uuid, address: Address, sequence: u64) {
    block[0..4].copy_from_slice(&MAGIC);
    block[8..24].copy_from_slice(&group.0);
    block[24..32].copy_from_slice(&address.code().to_le_bytes());
    block[32..40].copy_from_slice(&sequence.to_le_bytes());
    block[40..42].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    block[42..48].fill(0);
    let crc = targets::crc32c(&block[8..BLOCK]);
    block[4..8].copy_from_slice(&crc.to_le_bytes());
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"))
}

/// What every block of ours says of itself, whatever its group and place.
pub(crate) fn whose(block: &[u8]) -> Result<Uuid, Flaw> {
    if block[0..4] != MAGIC {
        return Err(Flaw::Foreign);
    }
    let crc = u32::from_le_bytes(block[4..8].try_into().expect("four bytes"));
    let whole = crc == targets::crc32c(&block[8..BLOCK]);
    if !whole && !Planted::BlockChecksumUnchecked.on() {
        return Err(Flaw::Checksum);
    }
    let version = u16::from_le_bytes(block[40..42].try_into().expect("two bytes"));
    if version > FORMAT_VERSION {
        return Err(Flaw::Newer(version));
    }
    Ok(Uuid(block[8..24].try_into().expect("sixteen bytes")))
}

/// The sequence of a block that is what it should be.
pub(crate) fn open(block: &[u8], group: Uuid, address: Address) -> Result<u64, Flaw> {
    let found = whose(block)?;
    if found != group {
        return Err(Flaw::OtherGroup(found));
    }
    if u64_at(block, 24) != address.code() {
        return Err(Flaw::Misplaced);
    }
    Ok(u64_at(block, 32))
}

/// Writes numbers one after the other.
pub(crate) struct Pen<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(bytes: &'a mut [u8], at: usize) -> Pen<'a> {
        Pen { bytes, at }
    }
    pub(crate) fn put(&mut self, from: &[u8]) {
        self.bytes[self.at..self.at + from.len()].copy_from_slice(from);
        self.at += from.len();
    }
    pub(crate) fn u8(&mut self, n: u8) {
        self.put(&[n]);
    }
    pub(crate) fn u16(&mut self, n: u16) {
        self.put(&n.to_le_bytes());
    }
    pub(crate) fn u32(&mut self, n: u32) {
        self.put(&n.to_le_bytes());
    }
    pub(crate) fn u64(&mut self, n: u64) {
        self.put(&n.to_le_bytes());
    }
    /// A length byte and `room` bytes, the text at their start. The text has been checked to fit.
    pub(crate) fn text(&mut self, text: &str, room: usize) {
        self.u8(text.len() as u8);
        self.put(text.as_bytes());
        self.at += room - text.len();
    }
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }
}

/// Reads numbers one after the other.
pub(crate) struct Eye<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Eye<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Eye<'a> {
        Eye { bytes, at }
    }
    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        self.at += N;
        self.bytes[self.at - N..self.at].try_into().expect("as many bytes")
    }
    pub(crate) fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }
    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }
    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
    /// `None` when it is no text.
    pub(crate) fn text(&mut self, room: usize) -> Option<String> {
        let len = usize::from(self.u8());
        let bytes = self.bytes.get(self.at..self.at + len.min(room))?;
        self.at += room;
        (len <= room)
            .then(|| std::str::from_utf8(bytes).ok().map(str::to_owned))
            .flatten()
    }
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_block_opens_at_its_place_only() {
        let (group, other) = (Uuid([1; 16]), Uuid([2; 16]));
        let mut block = blank();
        block[100] = 7;
        seal(&mut block, group, Address::Meta(3), 42);
        assert_eq!(open(&block, group, Address::Meta(3)), Ok(42));
        assert_eq!(open(&block, group, Address::Meta(4)), Err(Flaw::Misplaced));
        assert_eq!(open(&block, other, Address::Meta(3)), Err(Flaw::OtherGroup(group)));
        block[4095] ^= 1;
        assert_eq!(open(&block, group, Address::Meta(3)), Err(Flaw::Checksum));
        assert_eq!(open(&blank(), group, Address::Root), Err(Flaw::Foreign));
    }

    #[test]
    fn addresses_survive_their_code() {
        let all = [
            Address::Header(9),
            Address::Root,
            Address::Table {
                disk: 63,
                index: u32::MAX,
            },
            Address::Meta(u32::MAX),
            Address::Journal,
        ];
        for address in all {
            assert_eq!(Address::of(address.code()), Some(address));
        }
        assert_eq!(Address::of(0), None);
    }
}
