//! File systems of a stack forced down under whoever works on them: nothing more of them is written, not even what is
//! in memory.
//!
//! Takes a [`Built`] stack, gives whether its file systems were forced down; those that were are then unmounted and
//! mounted again. Prevents: a file system that the study did not make, or that is not mounted any more, being shut down
//! in the place of one that it made.
#![allow(unsafe_code)]

use crate::built::{Built, Made};
use crate::error::StackError;
use crate::host::mounts;
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Setter, ioctl, opcode};
use std::io;

/// `EXT4_IOC_SHUTDOWN`, `XFS_IOC_GOINGDOWN` and those who took them over: one number, with a pointer to the flag.
const GOING_DOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);
/// `EXT4_GOING_FLAGS_NOLOGFLUSH`, `XFS_FSOP_GOING_FLAGS_NOLOGFLUSH`: what the journal holds in memory is not written
/// either.
const NO_LOG_FLUSH: u32 = 2;

/// Forces the stack's own file systems down: from then on every call fails with EIO, and what lay unwritten in the page
/// cache is lost. `false`: it has none, or of a kind that cannot be forced down by this kernel; then nothing was done.
///
/// # Errors
/// A file system that is not where it was mounted, or that refuses.
pub fn force_down(built: &Built) -> Result<bool, StackError> {
    for (nth, made) in built.made.iter().enumerate() {
        let failed = |e: io::Error| {
            let cure = "nobody else may unmount what a study mounts; look into the kernel log (dmesg)";
            StackError::path("force down the file system at", made.place.path(), e, cure)
        };
        let forced = shut_down(made).map_err(failed)?;
        if !forced && nth > 0 {
            return Err(failed(io::Error::other("the other file system of the stack went down")));
        }
        if !forced {
            return Ok(false);
        }
    }
    Ok(!built.made.is_empty())
}

fn shut_down(made: &Made) -> io::Result<bool> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(made.place.path(), directory, Mode::empty())?;
    if !is_that(&root, made)? {
        return Err(io::Error::other("what is mounted there is not what was made"));
    }
    // SAFETY: the number is that of the kernel's, which reads a u32 through the pointer and keeps neither.
    let asked = unsafe { ioctl(&root, Setter::<GOING_DOWN, u32>::new(NO_LOG_FLUSH)) };
    match asked {
        Ok(()) => Ok(true),
        Err(Errno::NOTTY | Errno::OPNOTSUPP) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Whether this directory is of the file system that was made for the stack: without the mount it would be one of the
/// machine's.
fn is_that(root: impl AsFd, made: &Made) -> io::Result<bool> {
    let Some(mount) = mounts::at(made.place.path())? else {
        return Ok(false);
    };
    let lies_on = rustix::fs::fstat(&root)?.st_dev;
    // btrfs gives each subvolume a device number of its own.
    if mount.kind == "btrfs" {
        // The descriptor leads below the mount.
        return Ok(lies_on != rustix::fs::fstat(&made.place)?.st_dev);
    }
    Ok(lies_on == rustix::fs::stat(&made.devices[0])?.st_rdev)
}
