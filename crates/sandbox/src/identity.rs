//! Which file it is, whatever it is called.
//!
//! Takes a descriptor, gives device, inode and time of birth. Prevents: a file that has the right name and is another
//! one.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, StatxFlags, makedev, statx};
use serde::{Deserialize, Serialize};
use std::io;

/// A file or directory, known by more than its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Number of the device that its file system has.
    pub device: u64,
    /// Its number in the file system.
    pub inode: u64,
    /// When it was made, seconds and nanoseconds since 1970; `None` where the file system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<(i64, u32)>,
}

impl Identity {
    /// That of an open file; a descriptor of `O_PATH` will do.
    ///
    /// # Errors
    /// The file system does not answer.
    pub fn of(file: impl AsFd) -> io::Result<Identity> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(file, c"", AtFlags::EMPTY_PATH, wanted)?;
        let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        Ok(Identity {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born: told.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec)),
        })
    }

    /// Whether both are the same file. A disk may have another number after a reboot; inode and time of birth do not
    /// change.
    pub fn is(&self, other: &Identity) -> bool {
        let same_device = self.device == other.device || self.born.is_some();
        self.inode == other.inode && self.born == other.born && same_device
    }
}
