//! The header of a disk: whose it is and how it is laid out. First block of the disk and, as a second copy, the last.
//!
//! Takes a [`Header`], gives a block; takes what was read, gives [`Found`]. Prevents: writing to a disk that is
//! somebody else's.

use crate::layout::block::{self, Address, BLOCK, BODY, Eye, Flaw, Pen};
use crate::layout::geometry::Geometry;
use crate::layout::journal::BLOCKS;
use crate::uuid::Uuid;

/// Bytes of names on disk.
pub(crate) const NAME_BYTES: usize = 48;
/// Most disks of a group.
pub const DISKS_MAX: u16 = 64;

/// What a disk says of itself. Body of the header block, all in its first 512 bytes (one sector: whole or not there):
///
/// | bytes | what |
/// | --- | --- |
/// | 48 | state: 1 member, 2 former member |
/// | 49 | redundancy of the group: 1 external, 2 normal, 3 high |
/// | 50..52 | number of the disk |
/// | 52..68 | UUID of the disk |
/// | 68..72 | bytes of an allocation unit |
/// | 72..76 | bytes of a sector |
/// | 76..84 | bytes of the disk |
/// | 84..88 | allocation units of the disk |
/// | 88..92 | units at its start that hold header, root, table and journal |
/// | 92..96, 96..100 | allocation table: first block, blocks |
/// | 100..104, 104..108 | journal: first block, blocks |
/// | 108..157, 157..206, 206..255 | names of group, disk and failure group: a length and 48 bytes |
/// | 256..264 | extents of 4 and of 16 units begin at these numbers |
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) group: Uuid,
    pub(crate) group_name: String,
    pub(crate) member: bool,
    pub(crate) redundancy: u8,
    pub(crate) number: u16,
    pub(crate) disk: Uuid,
    pub(crate) disk_name: String,
    pub(crate) failure_group: String,
    pub(crate) au_bytes: u32,
    pub(crate) growth_at: [u32; 2],
    pub(crate) sector: u32,
    pub(crate) bytes: u64,
    pub(crate) place: Place,
}

/// Where the parts of a disk lie, in blocks and allocation units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) aus: u32,
    pub(crate) first_au: u32,
    pub(crate) table_at: u32,
    pub(crate) table_blocks: u32,
    pub(crate) journal_at: u32,
    pub(crate) journal_blocks: u32,
}

/// Entries of an allocation table block.
pub(crate) const TABLE_ENTRIES: u32 = ((BLOCK - BODY) / 8) as u32;

impl Place {
    /// The layout of a disk; `None` when it has no room for eight units of data.
    pub(crate) fn new(bytes: u64, au_bytes: u32, journal_blocks: u32) -> Option<Place> {
        // The last block is the second header.
        let aus = u32::try_from(bytes.checked_sub(BLOCK as u64)? / u64::from(au_bytes)).ok()?;
        let table_blocks = aus.div_ceil(TABLE_ENTRIES);
        let journal_at = 2 + table_blocks;
        let reserved = (u64::from(journal_at) + u64::from(journal_blocks)) * BLOCK as u64;
        let first_au = u32::try_from(reserved.div_ceil(u64::from(au_bytes))).ok()?;
        (u64::from(aus) >= u64::from(first_au) + 8).then_some(Place {
            aus,
            first_au,
            table_at: 2,
            table_blocks,
            journal_at,
            journal_blocks,
        })
    }
}

/// What stands where a header should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Neither block is one of ours.
    Foreign,
    /// One of ours was here and neither copy is whole.
    Damaged,
    /// Of a newer version.
    Newer(u16),
    /// A header; `whole` when both copies say the same.
    Header { header: Box<Header>, whole: bool },
}

/// Byte offset of the second header on a disk of that many bytes.
pub(crate) fn second_at(bytes: u64) -> u64 {
    (bytes / BLOCK as u64 - 1) * BLOCK as u64
}

impl Header {
    pub(crate) fn encode(&self) -> Box<[u8]> {
        let mut bytes = block::blank();
        let mut pen = Pen::new(&mut bytes, BODY);
        pen.u8(if self.member { 1 } else { 2 });
        pen.u8(self.redundancy);
        pen.u16(self.number);
        pen.put(&self.disk.0);
        pen.u32(self.au_bytes);
        pen.u32(self.sector);
        pen.u64(self.bytes);
        let place = &self.place;
        for n in [
            place.aus,
            place.first_au,
            place.table_at,
            place.table_blocks,
            place.journal_at,
            place.journal_blocks,
        ] {
            pen.u32(n);
        }
        for name in [&self.group_name, &self.disk_name, &self.failure_group] {
            pen.text(name, NAME_BYTES);
        }
        pen.seek(256);
        pen.u32(self.growth_at[0]);
        pen.u32(self.growth_at[1]);
        block::seal(&mut bytes, self.group, Address::Header(self.number), 0);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Header, Flaw> {
        let group = block::whose(bytes)?;
        let mut eye = Eye::new(bytes, BODY);
        let state = eye.u8();
        if !matches!(state, 1 | 2) {
            return Err(Flaw::Checksum);
        }
        let redundancy = eye.u8();
        let number = eye.u16();
        block::open(bytes, group, Address::Header(number))?;
        let disk = Uuid(eye.take());
        let (au_bytes, sector, size) = (eye.u32(), eye.u32(), eye.u64());
        let mut next = || eye.u32();
        let place = Place {
            aus: next(),
            first_au: next(),
            table_at: next(),
            table_blocks: next(),
            journal_at: next(),
            journal_blocks: next(),
        };
        let mut name = || eye.text(NAME_BYTES).filter(|n| is_name(n)).ok_or(Flaw::Checksum);
        let (group_name, disk_name, failure_group) = (name()?, name()?, name()?);
        eye.seek(256);
        let growth_at = [eye.u32(), eye.u32()];
        Ok(Header {
            group,
            group_name,
            member: state == 1,
            redundancy,
            number,
            disk,
            disk_name,
            failure_group,
            au_bytes,
            growth_at,
            sector,
            bytes: size,
            place,
        })
    }

    /// Whether the numbers fit each other and the disk: a header that passes can be used without further looks.
    fn plausible(&self, bytes: u64) -> bool {
        let geometry = Geometry {
            au_bytes: self.au_bytes,
            growth_at: self.growth_at,
        };
        geometry.check(true).is_ok()
            && self.number < DISKS_MAX
            && (1..=3).contains(&self.redundancy)
            && matches!(self.sector, 512 | 4096)
            && BLOCKS.contains(&self.place.journal_blocks)
            && self.bytes <= bytes
            && Place::new(self.bytes, self.au_bytes, self.place.journal_blocks) == Some(self.place)
    }
}

/// Whether a text may be the name of a group, a disk or a failure group: also names that were read, since they are
/// printed.
pub(crate) fn is_name(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    !name.is_empty() && name.len() <= NAME_BYTES && !name.contains(odd)
}

/// Judges what was read from both places (`None`: it could not be read).
pub(crate) fn judge(first: Option<&[u8]>, second: Option<&[u8]>, bytes: u64) -> Found {
    let decoded = [first, second].map(|copy| copy.map_or(Err(Flaw::Checksum), Header::decode));
    if let Some(Err(Flaw::Newer(version))) = decoded.iter().find(|d| matches!(d, Err(Flaw::Newer(_)))) {
        return Found::Newer(*version);
    }
    let whole = matches!(&decoded, [Ok(a), Ok(b)] if a == b);
    let any_of_ours = decoded.iter().any(|d| !matches!(d, Err(Flaw::Foreign)));
    let found = decoded.into_iter().flatten().find(|h| h.plausible(bytes));
    match found {
        Some(header) => Found::Header {
            header: Box::new(header),
            whole,
        },
        None if any_of_ours && (first.is_some() || second.is_some()) => Found::Damaged,
        None => Found::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            group: Uuid([3; 16]),
            group_name: "data".into(),
            member: true,
            redundancy: 2,
            number: 4,
            disk: Uuid([5; 16]),
            disk_name: "d4".into(),
            failure_group: "left".into(),
            au_bytes: 1 << 20,
            growth_at: [20_000, 40_000],
            sector: 512,
            bytes: 1 << 30,
            place: Place::new(1 << 30, 1 << 20, 256).unwrap(),
        }
    }

    #[test]
    fn a_header_survives_and_its_second_copy_serves() {
        let header = header();
        let good = header.encode();
        let mut bad = good.clone();
        bad[200] ^= 1;
        let found = |whole| Found::Header {
            header: Box::new(header.clone()),
            whole,
        };
        assert_eq!(judge(Some(&good), Some(&good), 1 << 30), found(true));
        assert_eq!(judge(Some(&bad), Some(&good), 1 << 30), found(false));
        assert_eq!(judge(None, Some(&good), 1 << 30), found(false));
        assert_eq!(judge(Some(&bad), Some(&bad), 1 << 30), Found::Damaged);
        assert_eq!(
            judge(Some(&block::blank()), Some(&block::blank()), 1 << 30),
            Found::Foreign
        );
        assert_eq!(
            judge(Some(&good), Some(&good), 1 << 29),
            Found::Damaged,
            "the disk has shrunk"
        );
        assert!(good[512..].iter().all(|&b| b == 0), "it fits in a sector");
    }

    #[test]
    fn a_header_with_numbers_that_cannot_be_is_damaged_whatever_its_checksum_says() {
        let spoil: [fn(&mut Header); 9] = [
            |h| h.growth_at = [8, 0],
            |h| h.growth_at = [7, 9],
            |h| h.au_bytes = 3 << 20,
            |h| h.au_bytes = 1 << 31,
            |h| h.sector = 0,
            |h| h.number = 64,
            |h| h.redundancy = 4,
            |h| h.place.journal_blocks = u32::MAX,
            |h| h.disk_name = "d\u{1b}]0;owned\u{7}".into(),
        ];
        for spoil in spoil {
            let mut header = header();
            spoil(&mut header);
            let bytes = header.encode();
            assert_eq!(judge(Some(&bytes), Some(&bytes), 1 << 30), Found::Damaged, "{header:?}");
        }
    }

    #[test]
    fn a_disk_without_room_has_no_place() {
        assert_eq!(Place::new(8 << 20, 1 << 20, 256), None);
        let place = Place::new(100 << 20, 1 << 20, 256).unwrap();
        assert_eq!((place.aus, place.first_au, place.table_blocks), (99, 2, 1));
    }
}
