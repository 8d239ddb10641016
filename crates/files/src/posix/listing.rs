//! Entries of a directory of this host.
//!
//! Prevents: a listing without sizes that pays for them.

use crate::client::{Found, Identity, PlainEntry};
use rustix::fs::{AtFlags, Dir};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Reads all entries into `list`. `sizes`: each one's size is asked for, as READDIRPLUS does.
pub(super) fn read(directory: &OwnedFd, sizes: bool, list: &mut Vec<PlainEntry>) -> Result<(), Errno> {
    list.clear();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let size = if sizes {
            let stat = rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            match stat {
                Ok(stat) => u64::try_from(stat.st_size).ok(),
                // Removed since the listing began.
                Err(Errno::NOENT) => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        list.push(PlainEntry {
            name: entry.file_name().to_bytes().to_vec(),
            about: Found {
                identity: Identity {
                    file_id: Some(entry.ino()),
                    handle: None,
                },
                size,
            },
        });
    }
    Ok(())
}
