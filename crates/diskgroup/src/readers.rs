//! The readers of what stands on disks as pure functions of bytes, for fuzz targets; no part of what the room offers.
//!
//! Each takes bytes of any length and content and says whether they were taken for what they claim to be. [`seal`] and
//! [`seal_transaction`] make checksums right, so that a fuzzer gets past them. Prevents: a reader that is only ever fed
//! with what we wrote.

use crate::layout::block::{self, Address, BLOCK, BODY, Pen};
use crate::layout::disk;
use crate::layout::file::{self, LEAF_EXTENTS};
use crate::layout::header::{Found, Place, judge};
use crate::layout::journal;
use crate::layout::root::Root;
use crate::metadata::space::Space;
use crate::uuid::Uuid;

/// A block of 4096 bytes, cut or filled with zeros.
fn whole(bytes: &[u8]) -> Box<[u8]> {
    let mut block = block::blank();
    let len = bytes.len().min(BLOCK);
    block[..len].copy_from_slice(&bytes[..len]);
    block
}

/// Makes a block of 4096 bytes one of a group: magic, place (`code`: see the table at `block::seal`), sequence and
/// checksum. Shorter ones stay.
pub fn seal(block: &mut [u8], group: [u8; 16], code: u64, sequence: u64) {
    let address = Address::of(code).unwrap_or(Address::Root);
    if block.len() >= BLOCK {
        block::seal(&mut block[..BLOCK], Uuid(group), address, sequence);
    }
}

/// Makes the checksums of a transaction right: a head, and as many images as its count says, as far as they are there.
pub fn seal_transaction(bytes: &mut [u8], group: [u8; 16], sequence: u64) {
    if bytes.len() < BLOCK {
        return;
    }
    let count = u32::from_le_bytes([bytes[BODY + 8], bytes[BODY + 9], bytes[BODY + 10], bytes[BODY + 11]]);
    let end = (BLOCK as u64 * (1 + u64::from(count))).min(bytes.len() as u64) as usize;
    let crc = targets::crc32c(&bytes[BLOCK..end]);
    Pen::new(bytes, BODY + 12).u32(crc);
    seal(bytes, group, Address::Journal.code(), sequence);
}

/// Both headers of a disk of so many bytes: whether it is taken for a disk of a group.
pub fn header(first: &[u8], second: &[u8], device_bytes: u64) -> bool {
    matches!(
        judge(Some(&whole(first)), Some(&whole(second)), device_bytes),
        Found::Header { .. }
    )
}

/// A root.
pub fn root(bytes: &[u8]) -> bool {
    Root::decode(&whole(bytes)).is_ok()
}

/// A block of the disk table, by its index, for allocation units of `1 << au_shift` bytes; gives its disks.
pub fn disk_table(index: u32, bytes: &[u8], au_shift: u32) -> Option<usize> {
    let found = disk::decode(index % disk::TABLE, &whole(bytes), 1 << (au_shift % 13 + 14));
    found.ok().map(|disks| disks.len())
}

/// A directory entry; gives the file's extents.
pub fn file_entry(bytes: &[u8]) -> Option<u32> {
    file::decode_entry(0, &whole(bytes)).ok().map(|entry| entry.extents)
}

/// A leaf of an extent map, with the directory entry that it should belong to; gives its pointers.
pub fn leaf(entry: &[u8], bytes: &[u8], index: u32) -> Option<usize> {
    let entry = file::decode_entry(0, &whole(entry)).ok()?;
    let index = index % entry.extents.div_ceil(LEAF_EXTENTS).max(1);
    let found = file::decode_leaf(1, &whole(bytes), &entry, index);
    found.ok().map(|(pointers, _)| pointers.len())
}

/// A block of an allocation table; gives the units whose owner differs from an empty disk's.
pub fn allocation_table(bytes: &[u8]) -> Option<usize> {
    let place = Place::new(256 << 20, 1 << 20, *journal::BLOCKS.start())?;
    Some(Space::new(place).differing(0, &whole(bytes)).len())
}

/// A journal; gives the blocks that its transactions change.
pub fn journal(bytes: &[u8], group: [u8; 16]) -> usize {
    journal::scan(bytes, Uuid(group)).images.len()
}
