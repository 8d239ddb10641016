//! Entries of a directory of this host.
//!
//! Prevents: a listing without sizes that pays for them, and a number of the listing (`d_ino`) that is held against one
//! of `stat`: file systems of FUSE and FAT, and mount points, give two.

use super::numbers::Numbers;
use crate::client::{Found, PlainEntry};
use rustix::fs::{AtFlags, Dir};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Reads all entries into `list`. `sizes`: each one is asked for size and number, as READDIRPLUS does.
pub(super) fn read(
    directory: &OwnedFd,
    (sizes, numbers): (bool, Numbers),
    list: &mut Vec<PlainEntry>,
) -> Result<(), Errno> {
    list.clear();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let about = if sizes {
            match rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => numbers.found(&stat),
                // Removed since the listing began.
                Err(Errno::NOENT) => Found::default(),
                Err(error) => return Err(error),
            }
        } else {
            Found::default()
        };
        list.push(PlainEntry {
            name: entry.file_name().to_bytes().to_vec(),
            about,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn an_entry_has_the_number_of_stat_or_none() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), "abc").unwrap();
        let inode = std::fs::metadata(place.path().join("a")).unwrap().ino();
        let directory = OwnedFd::from(std::fs::File::open(place.path()).unwrap());
        let numbers = Numbers::of(&directory);
        let mut list = Vec::new();
        let mut about = |sizes| {
            read(&directory, (sizes, numbers), &mut list).unwrap();
            list.iter().find(|entry| entry.name == b"a").unwrap().about
        };
        assert_eq!(about(false), Found::default());
        let known = about(true);
        assert_eq!(known.size, Some(3));
        assert!(known.identity.file_id.is_none_or(|found| found == inode), "{known:?}");
    }
}
