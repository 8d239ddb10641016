//! Removal by descriptor: never through a link, never across a mount, never of what another has put there.
//!
//! Takes the path that was made and its identity. It is written here and not taken from a crate: those at hand
//! (`std::fs::remove_dir_all`, `cap-std`, `remove_dir_all`) follow no link either, but go on into what is mounted
//! below.

use crate::directory::{Directory, unique_name};
use crate::error::SandboxError;
use crate::identity::Identity;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::path::Path;

/// A tree that is deeper is taken down in pieces, so that no user of it can exhaust our descriptors.
const DEPTH_MAX: usize = 32;
/// As often a directory is emptied anew while somebody still fills it.
const PASSES_MAX: usize = 10_000;

/// What is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// A file, or whatever else is no directory.
    File,
    /// A directory that is empty.
    EmptyDirectory,
    /// A directory with all that is in it.
    Tree,
}

/// Removes what was made at `path`. Nothing there: fine. `made`: what it was; without it only what is this user's goes.
///
/// # Errors
/// [`SandboxError::Replaced`]: something else stands there, and stays. A mount below, a way that is not root's alone.
pub fn remove(path: &Path, removal: Removal, made: Option<&Identity>) -> Result<(), SandboxError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(SandboxError::path("remove", path, Errno::BUSY));
    };
    let above = match Directory::open(above) {
        Ok(above) => above,
        Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => return Ok(()),
        Err(e) => return Err(e),
    };
    let failed = |e: Errno| SandboxError::path("remove", path, e);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = match openat(&above, name, flags, Mode::empty()) {
        Ok(entry) => entry,
        Err(Errno::NOENT) => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    let found = fstat(&entry).map_err(failed)?;
    let identity = Identity::of(&entry).map_err(|e| SandboxError::path("look at", path, e))?;
    let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    match made {
        Some(made) if !made.is(&identity) => return Err(replaced(path)),
        // The run ended before it had made it: who made this one keeps it.
        None if found.st_uid != rustix::process::geteuid().as_raw() => return Ok(()),
        _ if is_directory == (removal == Removal::File) => return Err(replaced(path)),
        _ => {}
    }
    if removal == Removal::Tree {
        let opened = reopen(&above, &name_of(name.as_encoded_bytes()), &entry).map_err(|e| mounted(path, e))?;
        empty(&opened).map_err(|e| mounted(path, e))?;
    }
    let how = if is_directory {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    match unlinkat(&above, name, how) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(failed(e)),
    }
}

/// Takes everything out of a directory that is held.
///
/// # Errors
/// A mount below; what the file system refuses.
pub fn remove_contents(directory: &Directory) -> Result<(), SandboxError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(directory, c".", flags, Mode::empty())
        .and_then(|opened| empty(&opened))
        .map_err(|e| mounted(directory.path(), e))
}

fn replaced(path: &Path) -> SandboxError {
    SandboxError::Replaced { path: path.to_owned() }
}

/// The kernel's word for a mount on the way is one that says nothing to a reader.
fn mounted(path: &Path, error: Errno) -> SandboxError {
    match error {
        Errno::XDEV => {
            let why = io::Error::new(io::ErrorKind::ResourceBusy, "something is mounted in it");
            SandboxError::path("remove", path, why)
        }
        e => SandboxError::path("remove", path, e),
    }
}

fn name_of(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap_or_default()
}

/// Opens the directory that `entry` is, to list it.
fn reopen(above: impl AsFd, name: &CString, entry: &OwnedFd) -> Result<OwnedFd, Errno> {
    let opened = descend(above, name)?;
    match Identity::of(&opened).ok() == Identity::of(entry).ok() {
        true => Ok(opened),
        false => Err(Errno::STALE),
    }
}

/// Opens a directory below without following a link or entering a mount.
fn descend(above: impl AsFd, name: &CString) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let within =
        ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&above, name, flags, Mode::empty(), within) {
        // Linux before 5.6 has no such call: the device tells a mount there.
        Err(Errno::NOSYS | Errno::PERM) => {
            let opened = openat(&above, name, flags, Mode::empty())?;
            let same = fstat(&above)?.st_dev == fstat(&opened)?.st_dev;
            if same { Ok(opened) } else { Err(Errno::XDEV) }
        }
        opened => opened,
    }
}

/// Takes out all that is in a directory.
fn empty(top: &OwnedFd) -> Result<(), Errno> {
    for _ in 0..PASSES_MAX {
        if !take_out(top, top, 0)? {
            return Ok(());
        }
    }
    Err(Errno::BUSY)
}

/// One pass over a directory; whether something was moved up and another pass is needed.
fn take_out(top: &OwnedFd, dir: &OwnedFd, depth: usize) -> Result<bool, Errno> {
    let mut again = false;
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_owned();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match unlinkat(dir, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(e) => return Err(e),
        }
        let below = match descend(dir, &name) {
            Ok(below) => below,
            // Somebody takes things away at the same time.
            Err(Errno::NOENT) => continue,
            Err(e) => return Err(e),
        };
        if depth + 1 == DEPTH_MAX {
            // A name that nobody can guess: one that its owner has filled would not be replaced.
            let free = unique_name(".assay-removal-").map_err(|_| Errno::IO)?;
            renameat(dir, &name, top, free)?;
            again = true;
            continue;
        }
        again |= take_out(top, &below, depth + 1)?;
        match unlinkat(dir, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Filled again meanwhile: the next pass sees it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => again = true,
            Err(e) => return Err(e),
        }
    }
    Ok(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn identity(path: &Path) -> Identity {
        Identity::of(std::fs::File::open(path).expect("opened")).expect("its identity")
    }

    #[test]
    fn a_tree_goes_and_what_its_links_lead_to_stays() {
        let top = tempfile::tempdir().expect("a directory");
        let (tree, canary) = (top.path().join("tree"), top.path().join("canary"));
        std::fs::create_dir_all(tree.join("a/b")).expect("made");
        std::fs::create_dir(&canary).expect("made");
        std::fs::write(canary.join("file"), "alive").expect("written");
        symlink(&canary, tree.join("a/link")).expect("a link");
        std::fs::hard_link(canary.join("file"), tree.join("a/b/hard")).expect("a link");
        let made = identity(&tree);
        remove(&tree, Removal::Tree, Some(&made)).expect("removed");
        assert!(!tree.exists());
        assert_eq!(std::fs::read_to_string(canary.join("file")).expect("read"), "alive");
        remove(&tree, Removal::Tree, Some(&made)).expect("gone is fine");
        remove(&tree.join("x/y"), Removal::File, None).expect("gone is fine");
    }

    #[test]
    fn what_was_put_in_its_place_stays() {
        let top = tempfile::tempdir().expect("a directory");
        let path = top.path().join("run");
        std::fs::create_dir(&path).expect("made");
        let made = identity(&path);
        std::fs::rename(&path, top.path().join("away")).expect("renamed");
        let canary = top.path().join("canary");
        std::fs::create_dir(&canary).expect("made");
        std::fs::write(canary.join("file"), "alive").expect("written");
        symlink(&canary, &path).expect("a link");
        for removal in [Removal::File, Removal::EmptyDirectory, Removal::Tree] {
            let error = remove(&path, removal, Some(&made)).expect_err("not what was made");
            assert!(matches!(error, SandboxError::Replaced { .. }), "{error}");
        }
        assert!(canary.join("file").is_file() && path.symlink_metadata().is_ok());
        // A link that this run made is a file like others.
        remove(&path, Removal::File, None).expect("removed");
        assert!(canary.join("file").is_file() && path.symlink_metadata().is_err());
        let error = remove(&canary, Removal::File, None).expect_err("a directory is no file");
        assert!(matches!(error, SandboxError::Replaced { .. }), "{error}");
        assert!(remove(&canary, Removal::EmptyDirectory, None).is_err());
    }

    #[test]
    fn a_tree_that_is_deeper_than_our_descriptors_goes_too() {
        let top = tempfile::tempdir().expect("a directory");
        let tree = top.path().join("tree");
        std::fs::create_dir(&tree).expect("made");
        let mut here = OwnedFd::from(std::fs::File::open(&tree).expect("opened"));
        // Names that a removal could be thought to use, taken before.
        for nth in 0..4 {
            std::fs::write(tree.join(format!(".assay-removal-{nth}")), "mine").expect("written");
        }
        for _ in 0..2_000 {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).expect("made");
            here = descend(&here, &name_of(b"d")).expect("entered");
        }
        drop(here);
        remove(&tree, Removal::Tree, None).expect("removed");
        assert!(!tree.exists());
    }
}
