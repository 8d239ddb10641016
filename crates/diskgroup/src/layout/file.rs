//! The files of a group: directory entries, extent maps, and the blocks that say them.
//!
//! Prevents: two readers of one block who disagree on its bytes.

use crate::error::GroupError;
use crate::layout::block::{self, Address, BODY, Eye, Pen};
use crate::layout::header::DISKS_MAX;
use crate::metadata::space::{FILES_END, FIRST_FILE};
use crate::port::map::FileMap;
use crate::uuid::Uuid;
use std::sync::Arc;

pub(crate) const FREE_BLOCK: u8 = 0;
pub(crate) const ENTRY: u8 = 2;
pub(crate) const LEAF: u8 = 3;
/// Extents of a leaf.
pub(crate) const LEAF_EXTENTS: u32 = 128;
/// Leaves that a directory entry has room for.
const LEAVES_MAX: usize = (block::BLOCK - LEAVES_AT) / 4;
const LEAVES_AT: usize = 256;
/// Most extents of a file.
pub(crate) const EXTENTS_MAX: u32 = LEAVES_MAX as u32 * LEAF_EXTENTS;
/// Longest name of a file in bytes.
pub const FILE_NAME_BYTES: usize = 96;

/// Where one copy of an extent lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pointer {
    pub(crate) disk: u16,
    /// First of its allocation units.
    pub(crate) au: u32,
    /// It missed a write: it must not be read until it is copied again.
    pub(crate) stale: bool,
}

/// How far a file has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileState {
    /// Being made, or made and being filled: a mount deletes it.
    Making,
    Live,
    /// Being deleted: a mount goes on with it.
    Deleting,
}

/// A leaf of an extent map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leaf {
    /// Its block in the metadata file.
    pub(crate) block: u32,
    /// Copies of its extents may differ: writes are or were under way.
    pub(crate) dirty: bool,
}

/// A file with its extent map.
pub(crate) struct File {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) copies: usize,
    pub(crate) fine: bool,
    pub(crate) state: FileState,
    pub(crate) size: u64,
    /// Block of the directory entry.
    pub(crate) entry: u32,
    pub(crate) leaves: Vec<Leaf>,
    /// `copies` for each extent.
    pub(crate) pointers: Vec<Pointer>,
    /// What the ports see.
    pub(crate) map: Arc<FileMap>,
    /// Maps that became too small; ports may still hold them.
    pub(crate) outgrown: Vec<Arc<FileMap>>,
    /// A port was given up with writes in flight: its copies may differ.
    pub(crate) unsure: bool,
    /// It is being filled by somebody: `Making` on disk until it is finished.
    pub(crate) draft: bool,
    /// A draft that nobody finishes: its new bytes are whatever is there.
    pub(crate) scratch: bool,
    /// Ports that have it open.
    pub(crate) opens: u32,
    /// Units per disk: of all copies, and of first copies.
    pub(crate) load: Vec<[u64; 2]>,
}

impl File {
    pub(crate) fn extents(&self) -> u32 {
        (self.pointers.len() / self.copies) as u32
    }

    pub(crate) fn pointers_of(&self, extent: u32) -> &[Pointer] {
        let at = extent as usize * self.copies;
        &self.pointers[at..at + self.copies]
    }

    pub(crate) fn pointers_of_mut(&mut self, extent: u32) -> &mut [Pointer] {
        let at = extent as usize * self.copies;
        &mut self.pointers[at..at + self.copies]
    }

    pub(crate) fn leaf_of(&mut self, extent: u32) -> &mut Leaf {
        &mut self.leaves[(extent / LEAF_EXTENTS) as usize]
    }

    /// Its directory entry. Body from byte 48:
    ///
    /// | bytes | what |
    /// | --- | --- |
    /// | 48 | 2: directory entry |
    /// | 49 | 1 being made, 2 live, 3 being deleted |
    /// | 50 | copies |
    /// | 51 | 1: fine stripes |
    /// | 52..56 | number of the file |
    /// | 56..64 | bytes, exactly; the last block is filled with zeros |
    /// | 64..68 | extents |
    /// | 72..169 | name: a length and 96 bytes |
    /// | 256.. | blocks of the leaves of its extent map, 4 bytes each |
    pub(crate) fn encode_entry(&self, group: Uuid, sequence: u64) -> Box<[u8]> {
        let mut bytes = block::blank();
        let mut pen = Pen::new(&mut bytes, BODY);
        pen.u8(ENTRY);
        pen.u8(match self.state {
            FileState::Making => 1,
            FileState::Live => 2,
            FileState::Deleting => 3,
        });
        pen.u8(self.copies as u8);
        pen.u8(u8::from(self.fine));
        pen.u32(self.number);
        pen.u64(self.size);
        pen.u32(self.extents());
        pen.seek(72);
        pen.text(&self.name, FILE_NAME_BYTES);
        pen.seek(LEAVES_AT);
        for leaf in &self.leaves {
            pen.u32(leaf.block);
        }
        block::seal(&mut bytes, group, Address::Meta(self.entry), sequence);
        bytes
    }

    /// A leaf: 128 extents of the map. Body from byte 48:
    ///
    /// | bytes | what |
    /// | --- | --- |
    /// | 48 | 3: leaf |
    /// | 49 | 1: dirty, copies may differ after a crash |
    /// | 50 | copies |
    /// | 52..56, 56..60 | number of the file, index of the leaf |
    /// | 60..62 | extents here |
    /// | 64.. | for each extent and copy 8 bytes: first unit (4), disk (2), flags (2; 1: stale) |
    pub(crate) fn encode_leaf(&self, index: u32, group: Uuid, sequence: u64) -> Box<[u8]> {
        let mut bytes = block::blank();
        let leaf = self.leaves[index as usize];
        let first = index * LEAF_EXTENTS;
        let count = (self.extents() - first).min(LEAF_EXTENTS);
        let mut pen = Pen::new(&mut bytes, BODY);
        pen.u8(LEAF);
        pen.u8(u8::from(leaf.dirty));
        pen.u8(self.copies as u8);
        pen.seek(52);
        pen.u32(self.number);
        pen.u32(index);
        pen.u16(count as u16);
        pen.seek(64);
        for extent in first..first + count {
            for pointer in self.pointers_of(extent) {
                pen.u32(pointer.au);
                pen.u16(pointer.disk);
                pen.u16(u16::from(pointer.stale));
            }
        }
        block::seal(&mut bytes, group, Address::Meta(leaf.block), sequence);
        bytes
    }
}

#[cfg(test)]
impl File {
    /// A file that lies nowhere yet, for tests.
    pub(crate) fn bare(number: u32, name: &str, copies: usize) -> File {
        File {
            number,
            name: name.to_owned(),
            copies,
            fine: false,
            state: FileState::Live,
            size: 0,
            entry: 0,
            leaves: Vec::new(),
            pointers: Vec::new(),
            map: Arc::new(FileMap::new(number, name, copies, false, 0)),
            outgrown: Vec::new(),
            unsure: false,
            draft: false,
            scratch: false,
            opens: 0,
            load: vec![[0; 2]; usize::from(DISKS_MAX)],
        }
    }
}

/// A directory entry as read: the file without its map, and its number of extents.
pub(crate) struct Entry {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) copies: usize,
    pub(crate) fine: bool,
    pub(crate) state: FileState,
    pub(crate) size: u64,
    pub(crate) extents: u32,
    pub(crate) leaves: Vec<u32>,
}

/// # Errors
/// [`GroupError::Damaged`].
pub(crate) fn decode_entry(block: u32, bytes: &[u8]) -> Result<Entry, GroupError> {
    let broken = |what: &str| GroupError::damaged(format!("directory entry in block {block}: {what}"));
    let mut eye = Eye::new(bytes, BODY + 1);
    let state = match eye.u8() {
        1 => FileState::Making,
        2 => FileState::Live,
        3 => FileState::Deleting,
        _ => return Err(broken("its state")),
    };
    let (copies, fine) = (usize::from(eye.u8()), eye.u8() == 1);
    let (number, size, extents) = (eye.u32(), eye.u64(), eye.u32());
    eye.seek(72);
    let name = eye.text(FILE_NAME_BYTES).ok_or_else(|| broken("its name"))?;
    if !(1..=3).contains(&copies) || extents > EXTENTS_MAX {
        return Err(broken("its copies or extents"));
    }
    if !is_file_name(&name) || !(FIRST_FILE..FILES_END).contains(&number) {
        return Err(broken("its name or number"));
    }
    eye.seek(LEAVES_AT);
    let leaves = (0..extents.div_ceil(LEAF_EXTENTS)).map(|_| eye.u32()).collect();
    Ok(Entry {
        number,
        name,
        copies,
        fine,
        state,
        size,
        extents,
        leaves,
    })
}

/// The pointers of a leaf and whether it is dirty.
///
/// # Errors
/// [`GroupError::Damaged`].
pub(crate) fn decode_leaf(
    block: u32,
    bytes: &[u8],
    entry: &Entry,
    index: u32,
) -> Result<(Vec<Pointer>, bool), GroupError> {
    if bytes.len() < block::BLOCK {
        return Err(GroupError::damaged(format!(
            "block {block} is no leaf of file {}",
            entry.name
        )));
    }
    let mut eye = Eye::new(bytes, BODY);
    let (kind, dirty, copies) = (eye.u8(), eye.u8() == 1, usize::from(eye.u8()));
    eye.seek(52);
    let (number, found, count) = (eye.u32(), eye.u32(), u32::from(eye.u16()));
    let wanted = entry
        .extents
        .saturating_sub(index.saturating_mul(LEAF_EXTENTS))
        .min(LEAF_EXTENTS);
    if (kind, copies, number, found, count) != (LEAF, entry.copies, entry.number, index, wanted) {
        return Err(GroupError::damaged(format!(
            "block {block} is not leaf {index} of file {} with {wanted} extents",
            entry.name
        )));
    }
    eye.seek(64);
    let pointers: Vec<Pointer> = (0..wanted as usize * copies)
        .map(|_| {
            let (au, disk, flags) = (eye.u32(), eye.u16(), eye.u16());
            Pointer {
                disk,
                au,
                stale: flags & 1 == 1,
            }
        })
        .collect();
    if !pointers.chunks(copies).all(are_apart) {
        return Err(GroupError::damaged(format!(
            "leaf {index} of file {} has two copies of an extent on one disk",
            entry.name
        )));
    }
    Ok((pointers, dirty))
}

/// Whether the copies of an extent lie on different disks, all of them with a number that a disk can have.
pub(crate) fn are_apart(copies: &[Pointer]) -> bool {
    let one = |nth: usize, p: &Pointer| p.disk < DISKS_MAX && copies[..nth].iter().all(|other| other.disk != p.disk);
    copies.iter().enumerate().all(|(nth, p)| one(nth, p))
}

/// Whether a text may be the name of a file: also one that was read, since it is printed.
pub(crate) fn is_file_name(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    !name.is_empty() && name.len() <= FILE_NAME_BYTES && !name.contains(odd)
}

/// A block of the metadata file that holds nothing.
pub(crate) fn encode_free(index: u32, group: Uuid, sequence: u64) -> Box<[u8]> {
    let mut bytes = block::blank();
    bytes[BODY] = FREE_BLOCK;
    block::seal(&mut bytes, group, Address::Meta(index), sequence);
    bytes
}
