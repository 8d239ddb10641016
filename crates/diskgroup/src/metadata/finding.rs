//! What a check finds: what is wrong, where, and whether it was set right, as types that print themselves.
//!
//! Prevents: a program that reads a sentence of ours to decide which disk it may believe.

use crate::layout::block::Flaw;
use crate::metadata::space::Owner;
use std::fmt;
use std::mem::discriminant;

/// One thing that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What, and where.
    pub what: Contradiction,
    /// It was set right.
    pub repaired: bool,
}

/// What is not as it should be, and where. It prints as one line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Contradiction {
    /// Where.
    pub at: FoundAt,
    /// What.
    pub kind: FindingKind,
}

/// Where something was found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FoundAt {
    /// On a disk, in what the group keeps there for itself.
    Disk {
        /// Its name.
        disk: String,
    },
    /// In a file as a whole.
    File {
        /// Its name.
        file: String,
    },
    /// In an extent of a file.
    Extent {
        /// The file's name.
        file: String,
        /// The extent's number.
        extent: u32,
    },
}

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FindingKind {
    /// One of the two headers of a disk is damaged.
    HeaderDamaged,
    /// A header is whole and contradicts the group.
    HeaderDiffers,
    /// Neither header of a disk is whole.
    HeadersLost,
    /// A block of a disk's allocation table cannot be read.
    TableUnreadable {
        /// The block.
        block: u32,
    },
    /// A block of a disk's allocation table is damaged.
    TableDamaged {
        /// The block.
        block: u32,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// The allocation table and the maps of files name different owners.
    TableDiffers {
        /// The allocation unit.
        unit: u32,
        /// The owner in the table, as an entry of it.
        table: u64,
        /// The owner by the maps, as an entry of the table.
        maps: Option<u64>,
    },
    /// A disk's copy of the root is damaged or old.
    RootOld,
    /// A disk's copy of a block of the metadata file is damaged or old.
    MetadataOld {
        /// The block.
        block: u32,
    },
    /// More or fewer units of a disk are taken than the maps have.
    UnitsDiffer {
        /// Units taken.
        taken: u64,
        /// Units in the maps.
        maps: u64,
    },
    /// A disk refused repairs.
    RepairsRefused,
    /// A file has fewer extents than its bytes need.
    ExtentsTooFew {
        /// Its extents.
        extents: u32,
        /// Its bytes.
        bytes: u64,
    },
    /// Two copies lie in one failure group.
    CopiesTogether,
    /// Copies lie on disks that are not partners.
    CopiesNotPartners,
    /// All copies are stale.
    CopiesStale,
    /// Copies differ.
    CopiesDiffer,
    /// A copy cannot be read.
    CopyUnreadable,
    /// Parts can be read from no copy.
    PartsUnreadable {
        /// How many.
        parts: u64,
    },
    /// Parts can be read, and are good in no copy.
    PartsBad {
        /// How many.
        parts: u64,
    },
}

impl Contradiction {
    pub(crate) fn of_disk(disk: &str, kind: FindingKind) -> Contradiction {
        let at = FoundAt::Disk { disk: disk.to_string() };
        Contradiction { at, kind }
    }

    pub(crate) fn of_file(file: &str, kind: FindingKind) -> Contradiction {
        let at = FoundAt::File { file: file.to_string() };
        Contradiction { at, kind }
    }

    pub(crate) fn of_extent(file: &str, extent: u32, kind: FindingKind) -> Contradiction {
        let file = file.to_string();
        let at = FoundAt::Extent { file, extent };
        Contradiction { at, kind }
    }

    /// Whether it is of the same disk or file, and differs in the extent, the block or numbers alone.
    pub fn is_like(&self, other: &Contradiction) -> bool {
        let (here, there) = (&self.at, &other.at);
        here.disk() == there.disk() && here.file() == there.file() && self.kind.is_like(other.kind)
    }
}

impl FoundAt {
    /// The disk, where it was found on one.
    pub fn disk(&self) -> Option<&str> {
        match self {
            FoundAt::Disk { disk } => Some(disk),
            FoundAt::File { .. } | FoundAt::Extent { .. } => None,
        }
    }

    /// The file, where it was found in one.
    pub fn file(&self) -> Option<&str> {
        match self {
            FoundAt::File { file } | FoundAt::Extent { file, .. } => Some(file),
            FoundAt::Disk { .. } => None,
        }
    }
}

impl FindingKind {
    fn is_like(self, other: FindingKind) -> bool {
        let flaw = |kind: FindingKind| match kind {
            FindingKind::TableDamaged { flaw, .. } => Some(discriminant(&flaw)),
            _ => None,
        };
        discriminant(&self) == discriminant(&other) && flaw(self) == flaw(other)
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.kind)
    }
}

impl fmt::Display for FoundAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundAt::Disk { disk } => write!(f, "disk {disk}"),
            FoundAt::File { file } => write!(f, "file {file}"),
            FoundAt::Extent { file, extent } => write!(f, "file {file} extent {extent}"),
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindingKind::HeaderDamaged => f.write_str("one of the two headers is damaged"),
            FindingKind::HeaderDiffers => f.write_str("the header says something else than the group"),
            FindingKind::HeadersLost => f.write_str("neither header is whole"),
            FindingKind::TableUnreadable { block } => write!(f, "table block {block} cannot be read"),
            FindingKind::TableDamaged { block, flaw } => write!(f, "table block {block} is damaged ({flaw:?})"),
            FindingKind::TableDiffers { unit, table, maps } => {
                let (table, maps) = (Owner(*table), maps.map(Owner));
                write!(f, "the table gives unit {unit} to {table:?}, the maps to {maps:?}")
            }
            FindingKind::RootOld => f.write_str("the copy of Root is damaged or old"),
            FindingKind::MetadataOld { block } => write!(f, "the copy of Meta({block}) is damaged or old"),
            FindingKind::UnitsDiffer { taken, maps } => write!(f, "{taken} units are taken, the maps have {maps}"),
            FindingKind::RepairsRefused => {
                f.write_str("it refused repairs; copies that lack them are recorded as stale")
            }
            FindingKind::ExtentsTooFew { extents, bytes } => write!(f, "{extents} extents for {bytes} bytes"),
            FindingKind::CopiesTogether => f.write_str("two copies in one failure group"),
            FindingKind::CopiesNotPartners => f.write_str("copies on disks that are not partners"),
            FindingKind::CopiesStale => f.write_str("all copies are stale"),
            FindingKind::CopiesDiffer => f.write_str("copies differ"),
            FindingKind::CopyUnreadable => f.write_str("a copy cannot be read"),
            FindingKind::PartsUnreadable { parts } => write!(f, "{parts} parts can be read from no copy"),
            FindingKind::PartsBad { parts } => write!(f, "{parts} parts are good in no copy"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_print_as_lines_and_are_told_apart_by_type() {
        let said = [
            (
                Contradiction::of_disk("d1", FindingKind::MetadataOld { block: 7 }),
                "disk d1: the copy of Meta(7) is damaged or old",
            ),
            (
                Contradiction::of_disk(
                    "d1",
                    FindingKind::TableDiffers {
                        unit: 3,
                        table: 0,
                        maps: Some(5),
                    },
                ),
                "disk d1: the table gives unit 3 to Owner(0), the maps to Some(Owner(5))",
            ),
            (
                Contradiction::of_disk(
                    "d1",
                    FindingKind::TableDamaged {
                        block: 2,
                        flaw: Flaw::Checksum,
                    },
                ),
                "disk d1: table block 2 is damaged (Checksum)",
            ),
            (
                Contradiction::of_extent("a b", 4, FindingKind::CopiesDiffer),
                "file a b extent 4: copies differ",
            ),
        ];
        for (what, line) in said {
            assert_eq!(what.to_string(), line);
        }
        let extent = |file, extent| Contradiction::of_extent(file, extent, FindingKind::CopiesDiffer);
        assert!(extent("a", 1).is_like(&extent("a", 2)));
        assert!(!extent("a", 1).is_like(&extent("b", 1)));
        // A file may be called as a disk is, and as an extent is printed.
        let disk = Contradiction::of_disk("a", FindingKind::CopiesDiffer);
        assert!(!extent("a", 1).is_like(&disk) && extent("a", 1).at.disk().is_none());
        assert!(!extent("a", 1).is_like(&Contradiction::of_file("a extent 1", FindingKind::CopiesDiffer)));
        let damaged = |flaw| Contradiction::of_disk("d", FindingKind::TableDamaged { block: 0, flaw });
        assert!(!damaged(Flaw::Checksum).is_like(&damaged(Flaw::Foreign)));
    }
}
