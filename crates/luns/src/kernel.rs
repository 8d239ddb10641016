//! The ioctls of loop devices, and FIEMAP with every flag that tells a written extent from one that is not.
//!
//! Takes open files, gives plain values. Prevents raw structures of the kernel from being seen elsewhere; all `unsafe`
//! of the room stands here.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, AsRawFd};
use std::io;
use targets::Extent;

const LOOP_CTL_GET_FREE: u64 = 0x4C82;
const LOOP_CONFIGURE: u64 = 0x4C0A;
const LOOP_CLR_FD: u64 = 0x4C01;
const LOOP_GET_STATUS64: u64 = 0x4C05;
const BLKFLSBUF: u64 = 0x1261;
const LO_FLAGS_DIRECT_IO: u32 = 16;

const FS_IOC_FIEMAP: u64 = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 0x1;
const EXTENT_UNKNOWN: u32 = 0x2;
const EXTENT_DELALLOC: u32 = 0x4;
const EXTENT_UNWRITTEN: u32 = 0x800;
const BATCH: usize = 256;

/// `struct loop_info64` of `linux/loop.h`.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of `linux/loop.h`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

/// Lets the calling thread, and those it starts, go before all that is not of this kind: what plays a device must not
/// wait for a turn.
pub(crate) fn before_all_others() -> io::Result<()> {
    // SAFETY: the structure is plain numbers, and one of zeros is a valid one.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 10;
    // SAFETY: 0 names the calling thread; the structure outlives the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Drops what the page cache holds of a block device.
pub(crate) fn drop_buffers(device: impl AsFd) -> io::Result<()> {
    // SAFETY: this request takes no argument.
    match unsafe { libc::ioctl(device.as_fd().as_raw_fd(), BLKFLSBUF as _, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number of a loop device that was free a moment ago; the kernel makes a new one when all are taken.
pub(crate) fn free_loop_number(control: impl AsFd) -> io::Result<u32> {
    // SAFETY: this request takes no argument and returns a number.
    let number = unsafe { libc::ioctl(control.as_fd().as_raw_fd(), LOOP_CTL_GET_FREE as _) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

/// Binds `backing` to a loop device in one step, with direct I/O and sectors of `block_size` bytes.
pub(crate) fn configure_loop(device: impl AsFd, backing: impl AsFd, block_size: u32, name: &[u8]) -> io::Result<()> {
    let mut file_name = [0u8; 64];
    let shown = name.len().min(63);
    file_name[..shown].copy_from_slice(&name[..shown]);
    let config = LoopConfig {
        fd: backing.as_fd().as_raw_fd() as u32,
        block_size,
        info: LoopInfo64 {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            sizelimit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_DIRECT_IO,
            file_name,
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: the structure has the kernel's layout and lives across the call, which only reads it.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Device number and inode of the file that a loop device holds; `None`: it holds none.
pub(crate) fn loop_backing(device: impl AsFd) -> io::Result<Option<(u64, u64)>> {
    // SAFETY: the structure is plain numbers, and one of zeros is a valid one.
    let mut info: LoopInfo64 = unsafe { std::mem::zeroed() };
    // SAFETY: the structure has the kernel's layout and lives across the call, which fills it.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) };
    match result {
        0 => Ok(Some((info.device, info.inode))),
        _ => match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            e => Err(e),
        },
    }
}

/// Frees a loop device; while somebody has it open the kernel only marks it to be freed at the last close.
pub(crate) fn clear_loop(device: impl AsFd) -> io::Result<()> {
    // SAFETY: this request takes no argument.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), LOOP_CLR_FD as _, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

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

/// Extents of a file in the order of its bytes, after what is dirty was written. What has no place on the disk yet
/// counts as unwritten. `None` where the file system can't tell.
pub(crate) fn extents(file: impl AsFd) -> io::Result<Option<Vec<Extent>>> {
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
        found.extend(got.iter().map(|e| Extent {
            logical: e.logical,
            physical: e.physical,
            length: e.length,
            unwritten: e.flags & (EXTENT_UNWRITTEN | EXTENT_UNKNOWN | EXTENT_DELALLOC) != 0,
            packed: false,
        }));
        if last.flags & EXTENT_LAST != 0 {
            return Ok(Some(found));
        }
        map.start = last.logical + last.length;
        map.length = u64::MAX - map.start;
    }
}
