//! A mount of a daemon's private namespace, brought out into ours.
//!
//! Takes a namespace and a place that is a directory in both namespaces; gives the same mount at the same place here. A
//! thread goes there and comes back with the mount in its hand, so nothing is shared between the namespaces that could
//! carry anything else across. Prevents: a namespace that is private and lets what hides the system's directories out.
#![allow(unsafe_code)]

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// Mounts here at `place` what is mounted there in the mount namespace `theirs`.
pub(crate) fn bring_out(theirs: Arc<OwnedFd>, place: &Path) -> io::Result<()> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // The directory itself, found before anything is mounted on it.
    let here = rustix::fs::open(place, directory, Mode::empty())?;
    let place = place.to_owned();
    let crossing = std::thread::spawn(move || cross(&theirs, &place, &here));
    crossing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// On a thread of its own, which ends with it.
fn cross(theirs: &OwnedFd, place: &Path, here: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let ours = rustix::fs::open("/proc/thread-self/ns/mnt", flags, Mode::empty())?;
    // SAFETY: only the working directory and root of this thread are parted from the other threads', which have theirs
    // as before; open files stay shared.
    unsafe { unshare_unsafe(UnshareFlags::FS) }?;
    let kind = Some(LinkNameSpaceType::Mount);
    move_into_link_name_space(theirs.as_fd(), kind)?;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let held = rustix::mount::open_tree(CWD, place, clone);
    move_into_link_name_space(ours.as_fd(), kind)?;
    let ends = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(held?, "", here, "", ends)?)
}
