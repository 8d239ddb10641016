//! The ioctls of loop devices.
//!
//! Takes open files, gives plain values. Prevents raw structures of the kernel from being seen elsewhere; all `unsafe`
//! of the room stands here.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, AsRawFd};
use std::io;

const LOOP_CTL_GET_FREE: u64 = 0x4C82;
const LOOP_CONFIGURE: u64 = 0x4C0A;
const LOOP_CLR_FD: u64 = 0x4C01;
const LOOP_GET_STATUS64: u64 = 0x4C05;
const BLKFLSBUF: u64 = 0x1261;
const LO_FLAGS_DIRECT_IO: u32 = 16;

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
