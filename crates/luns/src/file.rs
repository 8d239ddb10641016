//! LUN files: made, refilled before each use, and checked for what would be read without touching the disk.
//!
//! Takes a path, a size and a seed; gives a [`LunFile`] with the extents it lies in. Prevents the sparse LUN, which
//! reads three times too fast, and the LUN that fills somebody's disk to the last block.

use crate::error::LunError;
use crate::fill::{Stopped, fill};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, FallocateFlags, IFlags, Mode, OFlags};
use sandbox::{Directory, Identity};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use targets::{Extent, Unplaced};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const BLOCK: u64 = 4096;
const DIRECT: OFlags = OFlags::RDWR.union(OFlags::DIRECT);

/// A LUN file as it was made or refilled. It is held open: whatever its path leads to by then, this file is used.
#[derive(Clone, Debug)]
pub struct LunFile {
    /// Absolute.
    pub path: PathBuf,
    /// Size.
    pub bytes: u64,
    /// Seed of its content.
    pub seed: u64,
    /// Where it lies on its file system's device; empty where the file system can't tell.
    pub extents: Vec<Extent>,
    /// Which file it is.
    pub identity: Identity,
    held: Arc<OwnedFd>,
}

impl LunFile {
    /// Its path leads to it, its size is the one it was made with, and all of it is on the disk. Gives the extents of
    /// now.
    ///
    /// # Errors
    /// [`LunError::Replaced`], [`LunError::Resized`], [`LunError::NotWhole`].
    pub fn check(&self) -> Result<Vec<Extent>, LunError> {
        let failed =
            |e: std::io::Error| LunError::path("look at", &self.path, e, "leave LUN files alone while a study runs");
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let there = rustix::fs::open(&self.path, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        if !Identity::of(&there).map_err(failed)?.is(&self.identity) {
            return Err(LunError::Replaced {
                path: self.path.clone(),
            });
        }
        let found = rustix::fs::fstat(&self.held).map_err(|e| failed(e.into()))?.st_size as u64;
        if found != self.bytes {
            return Err(LunError::Resized {
                path: self.path.clone(),
                expected: self.bytes,
                found,
            });
        }
        whole_extents(&self.held, &self.path)
    }

    /// Writes it in full again, in place: same size, same extents, other content. Detach its loop device first: what
    /// that device has cached would not see the new content.
    ///
    /// # Errors
    /// As [`create_file`]; [`LunError::Replaced`].
    pub fn refill(&self, seed: u64, progress: &mut dyn FnMut(u64), cancel: &AtomicBool) -> Result<LunFile, LunError> {
        let file = self.reopened(DIRECT)?;
        LunFile { seed, ..self.clone() }.filled(&file, progress, cancel)
    }

    /// The same once all of it is written by its seed, through this descriptor.
    fn filled(self, file: &OwnedFd, progress: &mut dyn FnMut(u64), cancel: &AtomicBool) -> Result<LunFile, LunError> {
        let path = &self.path;
        fill(file, self.bytes, self.seed, progress, cancel).map_err(|stopped| match stopped {
            Stopped::Cancelled => LunError::Cancelled { path: path.clone() },
            Stopped::Failed(e) => LunError::path("write", path, e, "check the disk below it"),
        })?;
        rustix::fs::fsync(file).map_err(|e| LunError::path("flush", path, e, "check the disk below it"))?;
        let extents = whole_extents(file, path)?;
        Ok(LunFile { extents, ..self })
    }

    /// A path by which another process of this user opens this very file, while this process lives.
    pub fn by_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.held.as_raw_fd()))
    }

    /// The same file, opened anew with other flags.
    pub(crate) fn reopened(&self, flags: OFlags) -> Result<OwnedFd, LunError> {
        let link = format!("/proc/self/fd/{}", self.held.as_raw_fd());
        rustix::fs::open(link, flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| LunError::path("open", &self.path, e, cure_of_open(e)))
    }
}

/// Whether `dir` has room for `bytes` more (sum over all LUN files to be made there) and stays usable: a twentieth of
/// the file system, at least 64 MiB and at most 1 GiB, is left free.
pub fn check_space(dir: &Path, bytes: u64) -> Result<(), LunError> {
    let stat = rustix::fs::statvfs(dir)
        .map_err(|e| LunError::path("find the free space of", dir, e, "check the directory: it must exist"))?;
    let free = stat.f_bavail * stat.f_frsize;
    let headroom = (stat.f_blocks * stat.f_frsize / 20).clamp(64 * MIB, GIB);
    if free < bytes.saturating_add(headroom) {
        return Err(LunError::NoSpace {
            path: dir.to_owned(),
            needed: bytes,
            free,
            headroom,
        });
    }
    Ok(())
}

/// Makes a LUN file: `bytes` (a multiple of 4 KiB) of incompressible data, durable, every block of it on the disk.
///
/// `name` must not be there. `progress` gets the bytes written so far. On any error, and when `cancel` is set, the file
/// is removed again. Direct I/O must work on the file system.
pub fn create_file(
    dir: &Directory,
    name: &str,
    bytes: u64,
    seed: u64,
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<LunFile, LunError> {
    let path = dir.path().join(name);
    if bytes == 0 || !bytes.is_multiple_of(BLOCK) {
        return Err(LunError::BadSize { path, bytes });
    }
    check_space(&dir.by_descriptor(), bytes).map_err(|error| error.named(dir.path()))?;
    let file = dir.create(name, DIRECT).map_err(|e| {
        // Some file systems make the file first and refuse O_DIRECT after.
        if e == rustix::io::Errno::INVAL {
            let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
        }
        LunError::path("make", &path, e, cure_of_open(e))
    })?;
    let file = Arc::new(file);
    let made = reserve(&file, &path, bytes).and_then(|()| {
        let identity = Identity::of(&file).map_err(|e| LunError::path("look at", &path, e, "check the file system"))?;
        let lun = LunFile {
            path,
            bytes,
            seed,
            extents: Vec::new(),
            identity,
            held: Arc::clone(&file),
        };
        lun.filled(&file, progress, cancel)
    });
    made.inspect_err(|_| {
        let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
    })
}

/// Whether every byte of the file lies on the disk and was written. Gives its extents (none where the file system can't
/// tell; then the blocks it takes are counted instead).
pub fn check_whole(path: &Path) -> Result<Vec<Extent>, LunError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|e| LunError::path("open", path, e, cure_of_open(e)))?;
    whole_extents(&file, path)
}

fn cure_of_open(error: rustix::io::Errno) -> &'static str {
    use rustix::io::Errno;
    match error {
        Errno::EXIST => "remove it or name another `dir`: a file that Assay did not make is never overwritten",
        Errno::NOENT => "check the directory: it must exist",
        Errno::INVAL => "its file system has no direct I/O: name a `dir` on ext4, XFS or btrfs",
        Errno::BUSY => "something uses the device: unmount it first",
        _ => "check the path",
    }
}

/// Takes the room in one piece before it is written, so that a full disk shows at once and the file is not scattered.
fn reserve(file: &OwnedFd, path: &Path, bytes: u64) -> Result<(), LunError> {
    // On btrfs a refill would move every extent; this flag (refused elsewhere, and that is fine) makes it overwrite.
    if let Ok(had) = rustix::fs::ioctl_getflags(file) {
        let _ = rustix::fs::ioctl_setflags(file, had | IFlags::NOCOW);
    }
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
        Err(e) => Err(LunError::path("reserve the space of", path, e, "check the file system")),
    }
}

fn whole_extents(file: impl AsFd, path: &Path) -> Result<Vec<Extent>, LunError> {
    let stat = rustix::fs::fstat(&file).map_err(|e| LunError::path("look at", path, e, "check the file system"))?;
    let bytes = stat.st_size as u64;
    let listed = targets::extents(&file, Unplaced::Unwritten)
        .map_err(|e| LunError::path("list the extents of", path, e, "check the file system"))?;
    let (missing, first) = match &listed {
        Some(extents) => unwritten(extents, bytes),
        None => (bytes.saturating_sub(stat.st_blocks as u64 * 512), 0),
    };
    if missing > 0 {
        return Err(LunError::NotWhole {
            path: path.to_owned(),
            bytes,
            missing,
            first,
        });
    }
    Ok(listed.unwrap_or_default())
}

/// Bytes of `0..bytes` in no written extent, and the offset of the first of them.
fn unwritten(extents: &[Extent], bytes: u64) -> (u64, u64) {
    let (mut at, mut missing, mut first) = (0, 0, None);
    let mut lack = |from: u64, to: u64| {
        if from < to {
            missing += to - from;
            first.get_or_insert(from);
        }
    };
    for extent in extents {
        let end = (extent.logical + extent.length).min(bytes);
        lack(at, extent.logical.min(bytes));
        if extent.unwritten {
            lack(at.max(extent.logical), end);
        }
        at = at.max(end);
    }
    lack(at, bytes);
    (missing, first.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, length: u64, unwritten: bool) -> Extent {
        Extent {
            logical,
            physical: 0,
            length,
            unwritten,
            packed: false,
        }
    }

    #[test]
    fn holes_and_unwritten_extents_are_counted_and_the_first_is_named() {
        assert_eq!(unwritten(&[], 100), (100, 0));
        assert_eq!(unwritten(&[extent(0, 128, false)], 100), (0, 0));
        assert_eq!(unwritten(&[extent(0, 40, false), extent(60, 40, false)], 100), (20, 40));
        assert_eq!(unwritten(&[extent(0, 40, false), extent(40, 60, true)], 100), (60, 40));
        assert_eq!(unwritten(&[extent(10, 80, false)], 100), (20, 0));
        assert_eq!(unwritten(&[extent(0, 50, false), extent(50, 100, true)], 100), (50, 50));
    }
}
