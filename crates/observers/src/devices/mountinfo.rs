//! Mounted file systems, from `/proc/self/mountinfo`.
//!
//! Takes its text, gives one [`Mount`] per line, escapes resolved. Source: proc_pid_mountinfo(5).
//! Prevents: a mount point with a blank in its name being missed, and an older mount hiding the one on top of it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::Place;

/// One mounted file system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    /// Its number.
    pub(crate) id: u64,
    /// Device numbers as the kernel shows them; major 0 for file systems without one device.
    pub(crate) device: (u32, u32),
    /// The directory of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// Where.
    pub(crate) point: PathBuf,
    /// Type: `ext4`, `btrfs`, `fuse.sshfs`, …
    pub(crate) kind: String,
    /// What was mounted: a device, a share, or nothing meaningful.
    pub(crate) source: String,
    /// Options of the file system itself.
    pub(crate) options: String,
}

/// All mounts in the order of mounting; lines in no known form are passed over.
pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let id = left.next()?.parse().ok()?;
    let mut left = left.skip(1);
    let (major, minor) = left.next()?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let root = unescape(left.next()?);
    let point = unescape(left.next()?);
    let mut right = right.split(' ');
    Some(Mount {
        id,
        device,
        root: root.into(),
        point: point.into(),
        kind: right.next()?.to_owned(),
        source: unescape(right.next()?).to_string_lossy().into_owned(),
        options: right.next().unwrap_or("").to_owned(),
    })
}

/// Blank, tab, newline and backslash stand as three octal digits after a backslash.
pub(crate) fn unescape(text: &str) -> OsString {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        let octal = digits.and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 8).ok());
        match octal {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    OsString::from_vec(out)
}

/// The mount that a place lies on, by its number. Where the kernel gave none: the longest mount point above the place,
/// and of equal ones the last. That one may be hidden by a later mount above it.
pub(crate) fn covering<'a>(mounts: &'a [Mount], place: &Place) -> Option<&'a Mount> {
    let by_number = place.mount.and_then(|id| mounts.iter().find(|mount| mount.id == id));
    let longest = || {
        let above = mounts.iter().filter(|mount| place.canonical.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.components().count())
    };
    by_number.or_else(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn escapes_and_optional_fields_are_understood() {
        let text = "36 35 98:0 /sub /mnt/a\\040b rw,noatime shared:1 master:2 - btrfs /dev/loop0 rw,subvol=/sub\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].id, 36);
        assert_eq!(mounts[0].point, Path::new("/mnt/a b"));
        assert_eq!(mounts[0].kind, "btrfs");
        assert_eq!(mounts[0].source, "/dev/loop0");
        assert_eq!(mounts[0].device, (98, 0));
    }

    #[test]
    fn the_mount_on_top_covers_a_path() {
        let text = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / /data rw - btrfs /dev/sdb rw\n\
                    3 2 0:41 / /data rw - tmpfs none rw\n4 1 8:2 / /database rw - xfs /dev/sda2 rw\n";
        let mounts = parse(text);
        let kind = |path: &str| covering(&mounts, &place(path, None)).map(|m| m.kind.as_str());
        assert_eq!(kind("/data/x"), Some("tmpfs"), "the later mount hides the earlier");
        assert_eq!(kind("/database/x"), Some("xfs"), "names are compared whole");
        assert_eq!(kind("/home"), Some("ext4"));
    }

    fn place(path: &str, mount: Option<u64>) -> Place {
        Place {
            canonical: path.into(),
            on: (0, 1),
            device: None,
            mount,
        }
    }

    #[test]
    fn a_mount_under_a_later_one_covers_nothing() {
        let text = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data/base rw - xfs /dev/sda2 rw\n\
                    3 1 0:41 / /data rw - tmpfs none rw\n";
        let mounts = parse(text);
        let kind = |mount| covering(&mounts, &place("/data/base/x", mount)).map(|m| m.kind.as_str());
        assert_eq!(kind(Some(3)), Some("tmpfs"), "the kernel says whose it is");
        assert_eq!(kind(None), Some("xfs"), "an older kernel does not");
        assert_eq!(kind(Some(9)), Some("xfs"), "a number that the list does not have");
    }

    #[test]
    fn a_backslash_that_escapes_nothing_stays() {
        assert_eq!(unescape("a\\9zzb\\04"), OsString::from("a\\9zzb\\04"));
        assert_eq!(unescape("\\134\\011"), OsString::from("\\\t"));
    }
}
