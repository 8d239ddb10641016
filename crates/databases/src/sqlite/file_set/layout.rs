//! What stands before the bytes of a SQLite file on a port: two slots that say whether the file is there and how long
//! it is.
//!
//! Files of a port exist from the beginning and have sizes in fixed units; SQLite makes, shortens and deletes files and
//! commits by deleting one. Takes bytes, gives a [`Slot`] and back. Prevents: a size that is lost with the power.

use targets::FileId;

/// Where a file's own bytes begin. A multiple of every page size that SQLite has, so that a page never lies in two
/// stripes.
pub const DATA_AT: u64 = 64 << 10;
/// Bytes in which all I/O is done: the physical sector of today's devices, so that no device must read in order to
/// write.
pub(crate) const BLOCK: u64 = 4096;

const MAGIC: [u8; 8] = *b"ASSAYSQL";
const VERSION: u32 = 1;
const SLOT_BYTES: usize = 56;

/// One of the files that a SQLite database is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// The database.
    Main,
    /// The write-ahead log.
    Wal,
    /// The rollback journal.
    Journal,
}

impl Role {
    /// All of them, in the order of a file set's files.
    pub const ALL: [Role; 3] = [Role::Main, Role::Wal, Role::Journal];

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// What SQLite puts behind the name of the database.
    pub fn suffix(self) -> &'static str {
        match self {
            Role::Main => "",
            Role::Wal => "-wal",
            Role::Journal => "-journal",
        }
    }
}

/// The three files of a file set in a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetFiles {
    /// The database.
    pub main: FileId,
    /// The write-ahead log.
    pub wal: FileId,
    /// The rollback journal.
    pub journal: FileId,
}

impl Default for SetFiles {
    /// The first three of a port.
    fn default() -> SetFiles {
        SetFiles {
            main: FileId(0),
            wal: FileId(1),
            journal: FileId(2),
        }
    }
}

impl SetFiles {
    pub(crate) fn of(&self, role: Role) -> FileId {
        match role {
            Role::Main => self.main,
            Role::Wal => self.wal,
            Role::Journal => self.journal,
        }
    }
}

/// The head of a file, written in turn to two places, so that one whole slot is always there.
///
/// On disk, at byte 0 (even sequences) or 4096 (odd ones) of the file, little-endian, the rest of the 4 KiB zeros:
///
/// | bytes | what |
/// | --- | --- |
/// | 0..8 | `ASSAYSQL` |
/// | 8..12 | version, 1 |
/// | 12..16 | role: 0 database, 1 write-ahead log, 2 rollback journal |
/// | 16..24 | the file set's number: the three files of a file set have the same |
/// | 24..32 | sequence; the whole slot with the higher one counts |
/// | 32..40 | size of the file in bytes; of the write-ahead log: at least its size |
/// | 40..44 | 1: the file is there, 0: it is not |
/// | 44..52 | zeros |
/// | 52..56 | CRC32C of bytes 0..52 |
///
/// The bytes of the file begin at [`DATA_AT`]. A slot lies in one sector of 512 bytes, which a device writes whole or
/// not at all; the other slot is older and whole, because a slot is flushed before the next is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) role: Role,
    pub(crate) file_set: u64,
    pub(crate) sequence: u64,
    pub(crate) size: u64,
    pub(crate) there: bool,
}

/// What stands in the place of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Slot(Slot),
    Zeros,
    Newer(u32),
    Other,
}

impl Slot {
    /// Where it is written.
    pub(crate) fn offset(&self) -> u64 {
        (self.sequence % 2) * BLOCK
    }

    pub(crate) fn encode(&self, to: &mut [u8]) {
        to.fill(0);
        to[0..8].copy_from_slice(&MAGIC);
        to[8..12].copy_from_slice(&VERSION.to_le_bytes());
        to[12..16].copy_from_slice(&(self.role.index() as u32).to_le_bytes());
        to[16..24].copy_from_slice(&self.file_set.to_le_bytes());
        to[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        to[32..40].copy_from_slice(&self.size.to_le_bytes());
        to[40..44].copy_from_slice(&u32::from(self.there).to_le_bytes());
        let crc = targets::crc32c(&to[..52]);
        to[52..56].copy_from_slice(&crc.to_le_bytes());
    }

    pub(crate) fn decode(from: &[u8]) -> Found {
        let word = |at: usize| u32::from_le_bytes(from[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(from[at..at + 8].try_into().expect("eight bytes"));
        if from[..SLOT_BYTES].iter().all(|byte| *byte == 0) {
            return Found::Zeros;
        }
        if from[0..8] != MAGIC || word(52) != targets::crc32c(&from[..52]) {
            return Found::Other;
        }
        if word(8) != VERSION {
            return Found::Newer(word(8));
        }
        let role = Role::ALL.into_iter().find(|role| role.index() as u32 == word(12));
        match (role, word(40)) {
            (Some(role), there @ (0 | 1)) => Found::Slot(Slot {
                role,
                file_set: long(16),
                sequence: long(24),
                size: long(32),
                there: there == 1,
            }),
            _ => Found::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = Slot {
        role: Role::Wal,
        file_set: 7,
        sequence: 5,
        size: 123_456,
        there: true,
    };

    #[test]
    fn a_slot_comes_back_and_damage_is_seen() {
        let mut bytes = [9; 512];
        assert_eq!(Slot::decode(&bytes), Found::Other);
        SLOT.encode(&mut bytes);
        assert_eq!(Slot::decode(&bytes), Found::Slot(SLOT));
        assert_eq!(SLOT.offset(), 4096);
        for at in 0..SLOT_BYTES {
            bytes[at] ^= 1;
            assert!(!matches!(Slot::decode(&bytes), Found::Slot(_)), "byte {at}");
            bytes[at] ^= 1;
        }
        assert_eq!(Slot::decode(&[0; 512]), Found::Zeros);
    }

    #[test]
    fn a_later_version_is_told_from_damage() {
        let mut bytes = [0; 512];
        SLOT.encode(&mut bytes);
        bytes[8] = 2;
        let crc = targets::crc32c(&bytes[..52]);
        bytes[52..56].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(Slot::decode(&bytes), Found::Newer(2));
    }
}
