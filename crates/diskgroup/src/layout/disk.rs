//! The disks of a group: what the group knows of each, and the blocks of the disk table that say it.
//!
//! Prevents: a disk that returns with old content taken for up to date because only the disk itself was asked.

use crate::error::GroupError;
use crate::layout::block::{self, Address, BODY, Eye, Pen};
use crate::layout::header::{DISKS_MAX, NAME_BYTES, Place, is_name};
use crate::layout::journal::BLOCKS;
use crate::metadata::space::Space;
use crate::uuid::Uuid;
use targets::FileId;

/// Disks of one table block; the table is the first [`TABLE`] blocks of the metadata file.
const PER_BLOCK: u16 = 24;
/// Blocks of the disk table.
pub(crate) const TABLE: u32 = DISKS_MAX.div_ceil(PER_BLOCK) as u32;
/// Bytes of an entry.
const ENTRY: usize = 144;
pub(crate) const DISKS: u8 = 1;

/// One member of the group.
pub(crate) struct Disk {
    pub(crate) number: u16,
    pub(crate) uuid: Uuid,
    pub(crate) name: String,
    pub(crate) failure_group: String,
    /// The file of the ports below; `None` while it is missing.
    pub(crate) slot: Option<FileId>,
    pub(crate) online: bool,
    pub(crate) dropping: bool,
    /// An I/O failed and the disk could not be taken offline: nothing new goes there.
    pub(crate) failing: bool,
    /// Disks that may hold the other copies of its extents, as bits.
    pub(crate) partners: u64,
    pub(crate) sector: u32,
    pub(crate) bytes: u64,
    pub(crate) place: Place,
    pub(crate) space: Space,
}

impl Disk {
    /// Its file below, when it may be written.
    pub(crate) fn live(&self) -> Option<FileId> {
        self.slot.filter(|_| self.online)
    }

    /// Whether new extents may go there.
    pub(crate) fn takes_new(&self) -> bool {
        self.online && !self.dropping && !self.failing && self.slot.is_some()
    }

    pub(crate) fn bit(&self) -> u64 {
        1 << self.number
    }
}

/// The block of the table that holds a disk.
pub(crate) fn table_block(number: u16) -> u32 {
    u32::from(number / PER_BLOCK)
}

/// A block of the disk table. From byte 56 on 24 entries of 144 bytes, by number of disk:
///
/// | bytes | what |
/// | --- | --- |
/// | 0 | 0 no disk; 1 online, 2 offline |
/// | 1 | 1 when it is being dropped |
/// | 4..8 | bytes of a sector |
/// | 8..24 | UUID |
/// | 24..32 | partners, as bits |
/// | 32..40 | bytes of the disk |
/// | 40..44 | blocks of its journal |
/// | 46..95, 95..144 | name, failure group: a length and 48 bytes |
pub(crate) fn encode<'a>(index: u32, disks: impl Iterator<Item = &'a Disk>, group: Uuid, sequence: u64) -> Box<[u8]> {
    let mut bytes = block::blank();
    bytes[BODY] = DISKS;
    for disk in disks.filter(|d| table_block(d.number) == index) {
        let at = BODY + 8 + usize::from(disk.number % PER_BLOCK) * ENTRY;
        let mut pen = Pen::new(&mut bytes, at);
        pen.u8(if disk.online { 1 } else { 2 });
        pen.u8(u8::from(disk.dropping));
        pen.seek(at + 4);
        pen.u32(disk.sector);
        pen.put(&disk.uuid.0);
        pen.u64(disk.partners);
        pen.u64(disk.bytes);
        pen.u32(disk.place.journal_blocks);
        pen.seek(at + 46);
        pen.text(&disk.name, NAME_BYTES);
        pen.text(&disk.failure_group, NAME_BYTES);
    }
    block::seal(&mut bytes, group, Address::Meta(index), sequence);
    bytes
}

/// The disks of a table block, without their files below and without room for the owners of their units: how much that
/// is must be held against what there is first.
///
/// # Errors
/// [`GroupError::Damaged`].
pub(crate) fn decode(index: u32, bytes: &[u8], au_bytes: u32) -> Result<Vec<Disk>, GroupError> {
    let broken = |what: &str| GroupError::damaged(format!("disk table block {index}: {what}"));
    if bytes[BODY] != DISKS {
        return Err(broken("it is none"));
    }
    let mut disks = Vec::new();
    for nth in 0..PER_BLOCK {
        let at = BODY + 8 + usize::from(nth) * ENTRY;
        let mut eye = Eye::new(bytes, at);
        let (state, number) = (eye.u8(), index as u16 * PER_BLOCK + nth);
        if state == 0 {
            continue;
        }
        if !matches!(state, 1 | 2) || number >= DISKS_MAX {
            return Err(broken("a state or a number"));
        }
        let dropping = eye.u8() == 1;
        eye.seek(at + 4);
        let (sector, uuid) = (eye.u32(), Uuid(eye.take()));
        let (partners, size, journal_blocks) = (eye.u64(), eye.u64(), eye.u32());
        eye.seek(at + 46);
        let mut text = || eye.text(NAME_BYTES).filter(|name| is_name(name));
        let (name, failure_group) = (text(), text());
        let name = name.ok_or_else(|| broken("a name"))?;
        let failure_group = failure_group.ok_or_else(|| broken("a failure group"))?;
        if !BLOCKS.contains(&journal_blocks) || !matches!(sector, 512 | 4096) {
            return Err(broken("a journal or a sector"));
        }
        let place = Place::new(size, au_bytes, journal_blocks).ok_or_else(|| broken("a size"))?;
        disks.push(Disk {
            number,
            uuid,
            name,
            failure_group,
            slot: None,
            online: state == 1,
            dropping,
            failing: false,
            partners,
            sector,
            bytes: size,
            place,
            space: Space::unread(place),
        });
    }
    Ok(disks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_block_gives_its_disks_back() {
        let place = Place::new(64 << 20, 1 << 20, 64).unwrap();
        let disk = |number: u16| Disk {
            number,
            uuid: Uuid([number as u8; 16]),
            name: "n".repeat(NAME_BYTES),
            failure_group: format!("fg{number}"),
            slot: None,
            online: number != 24,
            dropping: number == 25,
            failing: false,
            partners: u64::MAX,
            sector: 4096,
            bytes: 64 << 20,
            place,
            space: Space::new(place),
        };
        let disks = [disk(0), disk(24), disk(25), disk(47), disk(63)];
        let bytes = encode(1, disks.iter(), Uuid([9; 16]), 5);
        assert_eq!(block::open(&bytes, Uuid([9; 16]), Address::Meta(1)), Ok(5));
        let found = decode(1, &bytes, 1 << 20).unwrap();
        let seen: Vec<_> = found.iter().map(|d| (d.number, d.online, d.dropping)).collect();
        assert_eq!(seen, [(24, false, false), (25, true, true), (47, true, false)]);
        assert_eq!(
            (&found[2].name, found[2].place, found[2].uuid),
            (&disks[3].name, place, disks[3].uuid)
        );
        assert!(
            decode(2, &encode(2, disks.iter(), Uuid([9; 16]), 5), 1 << 20)
                .unwrap()
                .len()
                == 1
        );
        assert!(decode(0, &block::blank(), 1 << 20).is_err());
    }
}
