//! The processes of a server of files, known by the directory that they work in: nfs-ganesha or the mount daemon of the
//! kernel's server, and the port mapper; and the threads of the kernel's server, known by their settings' mount.
//!
//! Prevents: a port mapper that is left when its server is ended, and the end of a server that the host had before.

use crate::host::process::{self, Held, PATIENCE, Who};
use rustix::fs::OFlags;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc;

/// All that work for a server.
const ALL: Who<'_> = Who::FileServer;

/// Name under which the settings of a kernel's server of ours are mounted. That of the host has another.
pub(super) const SETTINGS: &str = "assay";
/// Where they are mounted.
const SETTINGS_PLACE: &str = "/proc/fs/nfsd";
/// The kernel's mark of that file system (`fs/nfsd/nfsctl.c`).
const NFSD_MAGIC: i128 = 0x6e66_7364;

/// The server that works in this directory: the process that ends when the server does.
pub(super) fn serving(dir: &Path, who: Who<'_>) -> Option<u32> {
    process::working_in(dir, who).first().copied()
}

/// Ends all that works in the directory, without asking, and waits until it has. Nobody there: fine.
pub(crate) fn kill(dir: &Path) -> io::Result<()> {
    // Before its processes, through which alone it is reached.
    for held in process::held_in(dir, ALL) {
        end_kernel_threads(&held)?;
    }
    let there = process::working_in(dir, ALL);
    process::signal_all_in(dir, ALL, Signal::KILL);
    // Its directory is gone before its last transfers are.
    process::wait_until_over(&there)?;
    // One that was just starting another.
    process::end_all_in(dir, ALL, &[(std::time::Duration::ZERO, Signal::KILL)])
}

/// Lets the kernel's server in the namespaces of this process end, if it is one of ours, and waits until it has.
fn end_kernel_threads(held: &Held) -> io::Result<()> {
    if !mountinfo(held).is_some_and(|text| is_ours(&text)) {
        return Ok(());
    }
    // The port mapper's user is not ours: in a stranger's root the name leads to any file of the host.
    let magic = |file: &OwnedFd| rustix::fs::fstatfs(file).map(|kind| i128::from(kind.f_type));
    let is_settings = |file: &OwnedFd| magic(file) == Ok(NFSD_MAGIC);
    let threads = match held.open("root/proc/fs/nfsd/threads", OFlags::WRONLY | OFlags::NOFOLLOW) {
        Ok(file) if is_settings(&file) => File::from(file),
        _ => return Ok(()),
    };
    let (tell, told) = mpsc::channel();
    // A thread of its own: a server that waits for a dead device does not end.
    std::thread::spawn(move || {
        let _ = tell.send((&threads).write_all(b"0\n"));
    });
    let late = || io::Error::new(io::ErrorKind::TimedOut, "threads of the kernel's NFS server do not end");
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(late()))
}

fn mountinfo(process: &Held) -> Option<String> {
    let mut bytes = Vec::new();
    let mut file = File::from(process.open("mountinfo", OFlags::RDONLY).ok()?);
    file.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether what is seen at the place of the settings, the last one mounted there, was mounted under our name.
fn is_ours(mountinfo: &str) -> bool {
    let mut there = mountinfo.lines().filter_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let back: Vec<&str> = back.split(' ').collect();
        (front.split(' ').nth(4)? == SETTINGS_PLACE).then_some(back)
    });
    let last = there.next_back();
    last.is_some_and(|back| back.first() == Some(&"nfsd") && back.get(1) == Some(&SETTINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_settings_mounted_last_and_under_our_name_are_ours() {
        let host = "45 23 0:40 / /proc/fs/nfsd rw,relatime shared:20 - nfsd nfsd rw\n";
        let ours = "99 45 0:77 / /proc/fs/nfsd rw,relatime - nfsd assay rw\n";
        let other = "98 23 0:70 / /mnt rw - nfsd assay rw\n";
        assert!(is_ours(&format!("{host}{ours}")));
        for text in [
            host.to_owned(),
            format!("{ours}{host}"),
            other.to_owned(),
            String::new(),
        ] {
            assert!(!is_ours(&text), "{text}");
        }
    }

    #[test]
    fn nobody_there_is_fine_and_a_process_elsewhere_is_none_of_ours() {
        let dir = tempfile::tempdir().expect("a directory");
        kill(dir.path()).expect("nobody there");
        assert!(
            process::held_in(dir.path(), ALL).is_empty(),
            "this process works elsewhere"
        );
        let this = Held::of(std::process::id()).expect("it runs");
        end_kernel_threads(&this).expect("it has no settings of ours");
        assert!(Held::of(u32::MAX).is_none());
    }
}
