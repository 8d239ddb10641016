//! Where a file's records lie: read from the block pointers on the devices.
//!
//! A pointer's first address names a device and a place on it; runs of records that follow each other there make one
//! extent. The physical offset of an extent is that place with the device's number in its highest bits, since a pool
//! has one address space per device. Prevents: an ageing that is guessed from rates.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::message::Piece;
use crate::openzfs::file::{CURE, DATA, File};
use crate::openzfs::library::Opaque;
use std::ffi::c_int;

/// Visit a pointer before what it points to; fetch metadata ahead.
const FLAGS: c_int = 1 | 4;
/// Where a device's number stands in a physical offset.
pub(crate) const DEVICE_SHIFT: u32 = 48;

/// What is read out of one block pointer (on-disk format: three addresses of two words, then the properties).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    physical: u64,
    /// Bytes allocated, parity included.
    allocated: u64,
    logical_bytes: u64,
    stored_bytes: u64,
}

impl Block {
    /// `None` for holes and for data that lies in the pointer itself.
    fn of(pointer: &[u64; 16]) -> Option<Block> {
        let [place, offset, ..] = *pointer;
        let properties = pointer[6];
        let embedded = properties >> 39 & 1 == 1;
        if embedded || (place == 0 && offset == 0) {
            return None;
        }
        let device = place >> 32 & 0xff_ffff;
        Some(Block {
            physical: device << DEVICE_SHIFT | ((offset & (u64::MAX >> 1)) << 9),
            allocated: (place & 0xff_ffff) << 9,
            logical_bytes: ((properties & 0xffff) + 1) << 9,
            stored_bytes: ((properties >> 16 & 0xffff) + 1) << 9,
        })
    }
}

/// Extents as they grow.
#[derive(Default)]
struct Found {
    pieces: Vec<Piece>,
    /// Where the device goes on after the last block.
    next: u64,
}

impl Found {
    fn add(&mut self, logical: u64, block: Block) {
        let packed = block.stored_bytes < block.logical_bytes;
        match self.pieces.last_mut() {
            Some(last) if self.next == block.physical && last.0 + last.2 == logical && last.3 == packed => {
                last.2 += block.logical_bytes;
            }
            _ => self
                .pieces
                .push(Piece(logical, block.physical, block.logical_bytes, packed)),
        }
        self.next = block.physical + block.allocated;
    }
}

unsafe extern "C" fn see(
    _pool: Opaque,
    _log: Opaque,
    pointer: *const u64,
    bookmark: *const u64,
    _dnode: Opaque,
    argument: Opaque,
) -> c_int {
    // SAFETY: a bookmark is four words: dataset, object, level, number.
    let [_, object, level, number] = unsafe { *bookmark.cast::<[u64; 4]>() };
    if object != DATA || level != 0 || pointer.is_null() {
        return 0;
    }
    // SAFETY: a pointer is sixteen words; the argument is the `Found` of the walk.
    let (pointer, found) = unsafe { (&*pointer.cast::<[u64; 16]>(), &mut *argument.cast::<Found>()) };
    if let Some(block) = Block::of(pointer) {
        found.add(number * block.logical_bytes, block);
    }
    0
}

/// The extents of a file, in the order of its bytes. Nobody may write to it meanwhile; `pool` is synced first.
pub(crate) fn of(file: &File, pool: Opaque) -> Result<Vec<Piece>, Refused> {
    let mut found = Found::default();
    let call = &file.library.call;
    // SAFETY: the open pool, and an owned dataset of it; the argument outlives the walk.
    let e = unsafe {
        (call.txg_wait_synced)(pool, 0);
        let dataset = (call.dmu_objset_ds)(file.objset);
        (call.traverse_dataset)(dataset, 0, FLAGS, Some(see), (&raw mut found).cast())
    };
    match e {
        0 => Ok(found.pieces),
        e => Err(Refused::errno(
            &format!("walk the block pointers of {}", file.name.dataset()),
            e,
            CURE,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(device: u64, sector: u64, sectors: u64, stored: u64) -> [u64; 16] {
        let mut words = [0; 16];
        words[0] = device << 32 | sectors;
        words[1] = sector;
        words[6] = (16 - 1) | (stored - 1) << 16;
        words
    }

    #[test]
    fn neighbours_are_one_extent_and_a_jump_or_another_device_begins_one() {
        let mut found = Found::default();
        for (nth, words) in [
            pointer(0, 64, 16, 16),
            pointer(0, 80, 16, 16),
            pointer(0, 200, 16, 16),
            pointer(1, 216, 16, 16),
        ]
        .iter()
        .enumerate()
        {
            found.add(nth as u64 * 8192, Block::of(words).unwrap());
        }
        let seen: Vec<(u64, u64, u64)> = found.pieces.iter().map(|p| (p.0, p.1, p.2)).collect();
        assert_eq!(
            seen,
            [
                (0, 64 << 9, 16384),
                (16384, 200 << 9, 8192),
                (24576, 1 << 48 | 216 << 9, 8192)
            ]
        );
    }

    #[test]
    fn holes_and_embedded_data_have_no_place() {
        assert_eq!(Block::of(&[0; 16]), None);
        let mut embedded = pointer(0, 64, 16, 16);
        embedded[6] |= 1 << 39;
        assert_eq!(Block::of(&embedded), None);
        let packed = Block::of(&pointer(0, 64, 8, 8)).unwrap();
        assert!(packed.stored_bytes < packed.logical_bytes);
    }
}
