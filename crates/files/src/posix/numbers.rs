//! What a file system says of an object by `stat`, and whether the number in it is the object's own.
//!
//! Prevents: a file that is taken for another one where numbers are made up when somebody asks.

use crate::client::{Found, Identity};
use rustix::fs::Stat;
use std::os::fd::OwnedFd;

/// File systems without inodes of their own: a number is good until the kernel forgets it (statfs(2)).
const WITHOUT_INODES: [u64; 3] = [
    0x6573_5546, // FUSE, also over a block device: the daemon may leave numbers to the kernel.
    0x4d44,      // MSDOS and VFAT.
    0x2011_bab0, // exFAT.
];

/// Whether numbers of inodes last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    last: bool,
}

impl Numbers {
    /// Of the file system of a directory.
    pub(super) fn of(directory: &OwnedFd) -> Numbers {
        match rustix::fs::fstatfs(directory) {
            Ok(about) => Numbers::of_kind(about.f_type as u64),
            Err(_) => Numbers { last: false },
        }
    }

    fn of_kind(kind: u64) -> Numbers {
        Numbers {
            last: !WITHOUT_INODES.contains(&kind),
        }
    }

    /// Size and identity.
    pub(super) fn found(self, stat: &Stat) -> Found {
        Found {
            identity: Identity {
                file_id: self.last.then_some(stat.st_ino),
                handle: None,
            },
            size: u64::try_from(stat.st_size).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_does_not_last_is_no_identity() {
        let stat = rustix::fs::stat("/").unwrap();
        let found = |kind| Numbers::of_kind(kind).found(&stat);
        // ext4 and XFS; then FUSE, VFAT and exFAT.
        for kind in [0xef53, 0x5846_5342] {
            assert_eq!(found(kind).identity.file_id, Some(stat.st_ino));
        }
        for kind in [0x6573_5546, 0x4d44, 0x2011_bab0] {
            assert_eq!(found(kind).identity, Identity::default());
            assert!(found(kind).size.is_some(), "its size is known all the same");
        }
    }
}
