//! The two system calls that no crate wraps: FIEMAP and cachestat.
//!
//! Takes an open file, gives plain values. Prevents raw structures of the kernel from being seen elsewhere.
#![allow(unsafe_code)]

use crate::port::Extent;
use rustix::fd::{AsFd, AsRawFd};
use std::io;

const FS_IOC_FIEMAP: u64 = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 0x1;
const EXTENT_UNKNOWN: u32 = 0x2;
const EXTENT_DELALLOC: u32 = 0x4;
const EXTENT_ENCODED: u32 = 0x8;
const EXTENT_UNWRITTEN: u32 = 0x800;
const SYS_CACHESTAT: i64 = 451;
const BATCH: usize = 256;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; BATCH],
}

/// What becomes of an extent that has no place on the disk yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// It is left out.
    LeftOut,
    /// It is listed as not written.
    Unwritten,
}

/// Extents of a file in the order of its bytes, after what is dirty was written. `None` where the file system can't
/// tell (tmpfs, FUSE).
///
/// # Errors
/// The kernel's, where it knows the call.
pub fn extents(file: impl AsFd, unplaced: Unplaced) -> io::Result<Option<Vec<Extent>>> {
    let fd = file.as_fd().as_raw_fd();
    let mut found = Vec::new();
    let mut map = Box::new(Fiemap {
        start: 0,
        length: u64::MAX,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: BATCH as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); BATCH],
    });
    loop {
        // SAFETY: the structure has the kernel's layout and says how many extents it has room for.
        if unsafe { libc::ioctl(fd, FS_IOC_FIEMAP as _, &raw mut *map) } != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EOPNOTSUPP | libc::ENOTTY) => Ok(None),
                _ => Err(error),
            };
        }
        let got = &map.extents[..(map.mapped_extents as usize).min(BATCH)];
        let Some(last) = got.last().copied() else {
            return Ok(Some(found));
        };
        for extent in got {
            let homeless = extent.flags & (EXTENT_UNKNOWN | EXTENT_DELALLOC) != 0;
            if homeless && unplaced == Unplaced::LeftOut {
                continue;
            }
            found.push(Extent {
                logical: extent.logical,
                physical: extent.physical,
                length: extent.length,
                unwritten: homeless || extent.flags & EXTENT_UNWRITTEN != 0,
                packed: extent.flags & EXTENT_ENCODED != 0,
            });
        }
        if last.flags & EXTENT_LAST != 0 {
            return Ok(Some(found));
        }
        map.start = last.logical + last.length;
        map.length = u64::MAX - map.start;
    }
}

#[repr(C)]
struct CachestatRange {
    off: u64,
    len: u64,
}

#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of a range of a file that are in the page cache (Linux 6.5 and later; older: `ENOSYS`).
pub(crate) fn cached_pages(file: impl AsFd, offset: u64, len: u64) -> io::Result<u64> {
    let range = CachestatRange { off: offset, len };
    let mut found = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and live across the call.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT as _,
            file.as_fd().as_raw_fd(),
            &raw const range,
            &raw mut found,
            0,
        )
    };
    if result == 0 {
        Ok(found.cache)
    } else {
        Err(io::Error::last_os_error())
    }
}
