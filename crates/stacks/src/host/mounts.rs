//! Mounting by the system call, and the kernel's own list of mounts.
//!
//! Takes a device, a place and options as a study writes them. Prevents two things of the `mount` program: that it
//! still works after the run was killed (a mount would appear after the clean-up), and that options shown are not those
//! in force: [`options_at`] reads what the kernel says.

use crate::error::StackError;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use sandbox::Directory;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for a file system to be let go: I/O of a killed process ends a moment after it.
const PATIENCE: Duration = Duration::from_secs(15);

/// One line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Mount point.
    pub(crate) place: PathBuf,
    /// File system type.
    pub(crate) kind: String,
    /// Options of the mount and of the file system, joined.
    pub(crate) options: String,
}

/// Splits options into the flags of mount(2) and the rest, which the file system reads.
fn split_options<'a>(options: impl IntoIterator<Item = &'a str>) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut rest: Vec<&str> = Vec::new();
    for option in options
        .into_iter()
        .flat_map(|o| o.split(','))
        .map(str::trim)
        .filter(|o| !o.is_empty())
    {
        match option {
            "noatime" => flags |= MountFlags::NOATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "relatime" => flags |= MountFlags::RELATIME,
            "strictatime" => flags |= MountFlags::STRICTATIME,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "rw" | "defaults" | "async" | "atime" | "diratime" | "nodev" | "nosuid" | "noexec" => {}
            other => rest.push(other),
        }
    }
    (flags, rest.join(","))
}

/// What every file system of ours is mounted with: nothing on it is run, is a device, or lends its owner's rights.
const GUARDED: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Mounts `device` on the directory `dir`, by its descriptor.
pub(crate) fn mount(device: &Path, dir: &Directory, kind: &str, options: &[String]) -> Result<(), StackError> {
    dir.check()?;
    let place = dir.path();
    let (flags, rest) = split_options(options.iter().map(String::as_str));
    let cure = format!(
        "check the mount options ({}) and the kernel log (dmesg)",
        options.join(",")
    );
    let data = CString::new(rest).map_err(|e| StackError::path("mount", place, e, &cure))?;
    let on = dir.by_descriptor();
    rustix::mount::mount(device, on, kind, flags | GUARDED, Some(data.as_c_str())).map_err(|e| {
        let cure = match e {
            Errno::NODEV => format!("this kernel has no {kind}: use a kernel with it, or leave the stack out"),
            Errno::BUSY => "something else uses the device: unmount it first".to_owned(),
            _ => cure,
        };
        let what = format!("{kind} on {} at {}", device.display(), place.display());
        StackError::path("mount", Path::new(&what), e, &cure)
    })
}

/// Unmounts everything at `place`; waits while it is busy. Not mounted: fine.
pub(crate) fn unmount(place: &Path) -> std::io::Result<()> {
    unmount_forgiving(place, &[])
}

/// The same, and also tried again after these errors: a file system whose device is gone says what it could not write,
/// and is gone all the same at the next look.
pub(crate) fn unmount_forgiving(place: &Path, forgiven: &[Errno]) -> std::io::Result<()> {
    let start = Instant::now();
    if at(place)?.is_some()
        && let Some(above) = place.parent()
    {
        // Nobody but root may have put another mount point in its place.
        Directory::open(above)?;
    }
    while at(place)?.is_some() {
        match rustix::mount::unmount(place, UnmountFlags::NOFOLLOW) {
            Ok(()) => {}
            Err(e) if (e == Errno::BUSY || forgiven.contains(&e)) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// What is mounted at `place`, the last one first.
pub(crate) fn at(place: &Path) -> std::io::Result<Option<Mount>> {
    Ok(all()?.into_iter().rev().find(|m| m.place == place))
}

/// The file system that holds `path`.
pub(crate) fn holding(path: &Path) -> std::io::Result<Option<Mount>> {
    Ok(all()?
        .into_iter()
        .rev()
        .filter(|m| path.starts_with(&m.place))
        .max_by_key(|m| m.place.as_os_str().len()))
}

fn all() -> std::io::Result<Vec<Mount>> {
    Ok(sandbox::kernel_text("/proc/self/mountinfo")?
        .lines()
        .filter_map(parse)
        .collect())
}

fn parse(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let front: Vec<&str> = front.split(' ').collect();
    let back: Vec<&str> = back.split(' ').collect();
    let (own, shared) = (*front.get(5)?, *back.get(2)?);
    let mut options: Vec<&str> = own.split(',').collect();
    for option in shared.split(',') {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount {
        place: PathBuf::from(unescape(front.get(4)?)),
        kind: (*back.first()?).to_owned(),
        options: options.join(","),
    })
}

/// The kernel writes space, tab, newline and backslash of a path as `\040` and the like.
pub(crate) fn unescape(written: &str) -> String {
    let mut out = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = (byte == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|d| std::str::from_utf8(d).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(decoded) => {
                out.push(decoded);
                rest = &tail[3..];
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_data_are_told_apart() {
        let (flags, data) = split_options(["noatime,nodiscard", "defaults", "compress=zstd:3", "lazytime"]);
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::LAZYTIME);
        assert_eq!(data, "nodiscard,compress=zstd:3");
    }

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse(line).expect("a mount");
        assert_eq!(mount.place, PathBuf::from("/mnt 2"));
        assert_eq!(
            (mount.kind.as_str(), mount.options.as_str()),
            ("ext3", "rw,noatime,errors=continue")
        );
        assert!(parse("no mount").is_none());
    }

    #[test]
    fn the_longest_mount_point_holds_a_path() {
        let found = holding(Path::new("/proc/self")).expect("readable").expect("a mount");
        assert_eq!(found.kind, "proc");
    }
}
