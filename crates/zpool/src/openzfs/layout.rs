//! The few structures of OpenZFS 2.1 that are written or read field by field, and a check that the library agrees.
//!
//! Log records, block pointers and bookmarks are on-disk or near-disk formats; the in-core head of a log record and the
//! state of a log write are the library's own and may change with its version: [`agree`] asks the library for a record
//! and looks whether what it filled in stands where it is expected. Prevents: a field written where another version
//! keeps something else.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::openzfs::library::{Library, Opaque};
use std::ffi::c_int;

/// Object type of a plain file's content, of none, and of a ZAP kept by others than the ZPL.
pub(crate) const TYPE_PLAIN: c_int = 19;
pub(crate) const TYPE_NONE: c_int = 0;
pub(crate) const TYPE_ZAP: c_int = 196;
/// A dataset that is neither a file system nor a volume.
pub(crate) const OBJSET_OTHER: c_int = 4;
/// A property set here and not inherited.
pub(crate) const SOURCE_LOCAL: c_int = 8;
/// Wait for the next transaction group when this one is full.
pub(crate) const TXG_WAIT: u64 = 1;
pub(crate) const READER: c_int = 0;
pub(crate) const WRITER: c_int = 1;
/// Kinds of log records: a write, and how many kinds there are.
pub(crate) const LOG_WRITE: u64 = 9;
pub(crate) const LOG_KINDS: usize = 21;
pub(crate) const READ_PREFETCH: u32 = 0;
pub(crate) const READ_NO_PREFETCH: u32 = 1;

/// Where the data of a logged write is when its record is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Carried {
    /// In a block of its own; the record has a pointer.
    Indirect = 0,
    /// Copied into the record when the log is written.
    NeedCopy = 2,
}

/// The record of a write, as the log holds it: 192 bytes, then the data where it is copied.
#[repr(C)]
pub(crate) struct WriteRecord {
    pub(crate) kind: u64,
    pub(crate) record_bytes: u64,
    pub(crate) txg: u64,
    pub(crate) sequence: u64,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) block_offset: u64,
    /// A block pointer: three addresses of two words, a word of properties, and more.
    pub(crate) pointer: [u64; 16],
}

/// A record before it is in the log.
#[repr(C)]
pub(crate) struct Pending {
    node: [usize; 2],
    pub(crate) private: Opaque,
    pub(crate) carried: u32,
    pub(crate) synchronous: u8,
    callback: [usize; 2],
    size: usize,
    object: u64,
    generation: u64,
    pub(crate) record: WriteRecord,
}

/// The state of a write that the log asks for.
#[repr(C)]
pub(crate) struct LogWrite {
    pub(crate) block: Opaque,
    pub(crate) pointer: *mut u64,
    pub(crate) buffer: Opaque,
    pub(crate) locked: Opaque,
    pub(crate) private: Opaque,
}

/// Where pools are looked for.
#[repr(C)]
pub(crate) struct Search {
    pub(crate) path: *const *const std::ffi::c_char,
    pub(crate) paths: c_int,
    pub(crate) pool: *const std::ffi::c_char,
    pub(crate) guid: u64,
    pub(crate) cache_file: *const std::ffi::c_char,
    pub(crate) can_be_active: c_int,
    pub(crate) scan: c_int,
    pub(crate) policy: Opaque,
}

/// What the library tells of an object: its block size is the first word.
#[repr(C)]
#[derive(Default)]
pub(crate) struct ObjectInfo {
    pub(crate) block_bytes: u32,
    rest: [u32; 31],
}

/// Asks the library for a log record and looks where it wrote kind and length. To be called when it has been started.
pub(crate) fn agree(library: &Library) -> Result<(), Refused> {
    let extra = 24;
    let bytes = size_of::<WriteRecord>() + extra;
    // SAFETY: a record is made, read and given back; the library keeps no other pointer to it.
    let (kind, length) = unsafe {
        let pending = (library.call.zil_itx_create)(LOG_WRITE, bytes);
        let record = &raw const (*pending.cast::<Pending>()).record;
        let seen = ((*record).kind, (*record).record_bytes);
        (library.call.zil_itx_destroy)(pending);
        seen
    };
    if kind == LOG_WRITE && length == bytes as u64 {
        return Ok(());
    }
    Err(Refused::new(
        &format!(
            "{} keeps its log records in another shape than OpenZFS 2.1 does",
            library.path.display()
        ),
        "install OpenZFS 2.1 as the distribution ships it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn structures_have_the_published_shape() {
        assert_eq!(size_of::<WriteRecord>(), 192);
        assert_eq!(offset_of!(WriteRecord, pointer), 64);
        assert_eq!(offset_of!(Pending, carried), 24);
        assert_eq!(offset_of!(Pending, synchronous), 28);
        assert_eq!(offset_of!(Pending, record), 72);
        assert_eq!(size_of::<LogWrite>(), 40);
        assert_eq!(size_of::<Search>(), 56);
    }
}
