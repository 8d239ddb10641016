//! What the kernel says of block devices in `/sys` and `/proc`: one value a file, mounts, swaps.
//!
//! Takes device numbers and names, gives strings and numbers. Prevents a device being known by its name alone: names
//! are links and copies, the number is the device.

use rustix::fs::{major, minor};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file's one value, without its line end.
pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|s| s.trim_end_matches('\n').to_owned())
}

/// A file's one number.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.trim().parse().ok()
}

/// `/sys/...` of a block device.
pub(crate) fn block_dir(device: u64) -> PathBuf {
    let short = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    std::fs::canonicalize(&short).unwrap_or_else(|_| PathBuf::from(short))
}

/// Device number of the block device that `path` leads to, or `None` when it is something else.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    use std::os::unix::fs::FileTypeExt;
    let stat = std::fs::metadata(path).ok()?;
    stat.file_type().is_block_device().then(|| stat.rdev())
}

/// One mount point of a block device, if it is mounted in this name space. A file system on several devices shows only
/// one of them here; the others are found by asking for the device exclusively.
pub(crate) fn mounted_on(device: u64) -> Option<PathBuf> {
    let wanted = format!("{}:{}", major(device), minor(device));
    let table = sandbox::kernel_text("/proc/self/mountinfo").ok()?;
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let after = fields.iter().position(|f| *f == "-")?;
        let source = fields.get(after + 2)?;
        let same = fields.get(2) == Some(&wanted.as_str())
            || (source.starts_with("/dev/") && number_of(Path::new(&unescape(source))) == Some(device));
        same.then(|| fields.get(4).map(|place| PathBuf::from(unescape(place))))?
    })
}

/// Whether the kernel swaps to it.
pub(crate) fn is_swap(device: u64) -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|table| {
        table
            .lines()
            .skip(1)
            .filter_map(|l| l.split_whitespace().next())
            .any(|p| number_of(Path::new(&unescape(p))) == Some(device))
    })
}

/// The kernel writes space, tab, newline and backslash of a path as `\040` and the like.
fn unescape(written: &str) -> String {
    let bytes = written.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'\\').then(|| written.get(at + 1..at + 4)).flatten();
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
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
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_the_kernel_are_undone() {
        assert_eq!(unescape(r"/mnt/a\040b\134c"), r"/mnt/a b\c");
        assert_eq!(unescape(r"/plain\"), r"/plain\");
        assert_eq!(unescape("/mnt/ü"), "/mnt/ü");
    }
}
