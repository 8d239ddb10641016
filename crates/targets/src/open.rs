//! Opening files and block devices, and what every real port does with them in the same way: size, growth, extents.
//!
//! Takes [`OpenSpec`]s, gives open files and the alignment they ask for. Prevents a file opened one way by the ring and
//! another way by `pread`: both stand on this one table.

use crate::error::TargetError;
use crate::port::{Extent, FileId};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, StatxFlags};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Through or around the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// `O_DIRECT`.
    Direct,
    /// Page cache and `fdatasync`.
    Buffered,
}

/// A file or block device to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenSpec {
    /// Where.
    pub path: PathBuf,
    /// Through or around the page cache.
    pub access: Access,
    /// Opened for reading and writing; otherwise for reading only.
    pub writable: bool,
    /// Make the file when it is missing, and make it at least this many bytes long. Needs `writable`.
    pub create: Option<u64>,
    /// The directory, held open, in which the last name of `path` is looked up; `None`: the whole path is walked.
    pub inside: Option<Inside>,
    /// The file or device that it must be; `None`: whatever the path leads to.
    pub is: Option<Which>,
}

/// A file or device by its numbers, whatever its path leads to by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Which {
    /// A block device's own number; of a file, that of the device below its file system.
    pub device: u64,
    /// The file's number in its file system; 0: a block device.
    pub inode: u64,
}

impl Which {
    /// What stands at a path now; links are followed.
    ///
    /// # Errors
    /// No such file.
    pub fn at(path: &Path) -> std::io::Result<Which> {
        Ok(Which::of(&rustix::fs::stat(path)?))
    }

    /// What an open file or device is.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn held(file: impl AsFd) -> std::io::Result<Which> {
        Ok(Which::of(&rustix::fs::fstat(file)?))
    }

    fn of(stat: &rustix::fs::Stat) -> Which {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => Which {
                device: stat.st_rdev,
                inode: 0,
            },
            _ => Which {
                device: stat.st_dev,
                inode: stat.st_ino,
            },
        }
    }
}

/// A directory that is held open.
#[derive(Clone, Debug)]
pub struct Inside(Arc<OwnedFd>);

impl PartialEq for Inside {
    fn eq(&self, other: &Inside) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Inside {}

impl OpenSpec {
    /// A file or device that exists, for reading only.
    pub fn reading(path: impl Into<PathBuf>, access: Access) -> OpenSpec {
        OpenSpec {
            path: path.into(),
            access,
            writable: false,
            create: None,
            inside: None,
            is: None,
        }
    }

    /// A file or device that exists, for reading and writing.
    pub fn writing(path: impl Into<PathBuf>, access: Access) -> OpenSpec {
        OpenSpec {
            writable: true,
            ..OpenSpec::reading(path, access)
        }
    }

    /// A file to be made if missing and grown to at least `size` bytes.
    pub fn creating(path: impl Into<PathBuf>, access: Access, size: u64) -> OpenSpec {
        OpenSpec {
            create: Some(size),
            ..OpenSpec::writing(path, access)
        }
    }

    /// The file of this name in the directory that is held by `directory`, wherever its path leads by now; a link is
    /// refused.
    ///
    /// # Errors
    /// The descriptor can't be copied.
    pub fn inside(self, directory: impl AsFd) -> std::io::Result<OpenSpec> {
        let held = directory.as_fd().try_clone_to_owned()?;
        Ok(OpenSpec {
            inside: Some(Inside(Arc::new(held))),
            ..self
        })
    }

    /// Only this file or device: another one at the same path is refused, and nothing is written to it.
    pub fn that_is(self, which: Which) -> OpenSpec {
        OpenSpec {
            is: Some(which),
            ..self
        }
    }
}

/// One open file.
pub(crate) struct OpenFile {
    path: PathBuf,
    fd: OwnedFd,
    device: bool,
    alignment: u32,
}

/// The open files of a port.
pub(crate) struct Files {
    files: Vec<OpenFile>,
    alignment: u32,
}

fn failed(what: &'static str, path: &Path, cure: &'static str, source: impl Into<std::io::Error>) -> TargetError {
    TargetError::Path {
        what,
        path: path.to_owned(),
        source: source.into(),
        cure,
    }
}

fn cure_of_open(error: rustix::io::Errno, spec: &OpenSpec) -> &'static str {
    use rustix::io::Errno;
    match error {
        Errno::NOENT => "check the path: it does not exist",
        Errno::ACCESS | Errno::PERM => "run as a user who may open it, or change its owner",
        Errno::INVAL if spec.access == Access::Direct => "its file system has no O_DIRECT: use `access = \"buffered\"`",
        Errno::ROFS => "its file system is mounted read-only: remount it, or use another directory",
        Errno::BUSY => "something else uses the device: unmount or detach it first",
        Errno::MFILE | Errno::NFILE => "raise the limit of open files (ulimit -n)",
        Errno::NOSPC | Errno::DQUOT => "free space on the file system, or ask for less",
        _ => "check that it is a regular file or a block device",
    }
}

impl OpenFile {
    fn open(spec: &OpenSpec) -> Result<OpenFile, TargetError> {
        assert!(
            spec.create.is_none() || spec.writable,
            "a file can't be created for reading only"
        );
        let mut flags = if spec.writable { OFlags::RDWR } else { OFlags::RDONLY } | OFlags::CLOEXEC;
        flags.set(OFlags::DIRECT, spec.access == Access::Direct);
        flags.set(OFlags::CREATE, spec.create.is_some());
        let mode = Mode::from_raw_mode(0o600);
        let opened = match (&spec.inside, spec.path.file_name()) {
            (Some(Inside(held)), Some(name)) => rustix::fs::openat(held, name, flags | OFlags::NOFOLLOW, mode),
            _ => rustix::fs::open(&spec.path, flags, mode),
        };
        let fd = opened.map_err(|e| failed("open", &spec.path, cure_of_open(e, spec), e))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| failed("stat", &spec.path, "check the file system", e))?;
        if spec.is.is_some_and(|which| which != Which::of(&stat)) {
            let source = std::io::Error::other("another file or device has this path now");
            let cure = "find out what changed it while it was in use (udev, losetup), and run again";
            return Err(failed("open", &spec.path, cure, source));
        }
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::BlockDevice) {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(failed(
                "open",
                &spec.path,
                "name a regular file or a block device",
                source,
            ));
        }
        let device = kind == FileType::BlockDevice;
        let alignment = match spec.access {
            Access::Direct => direct_alignment(fd.as_fd(), device),
            Access::Buffered => 1,
        };
        let file = OpenFile {
            path: spec.path.clone(),
            fd,
            device,
            alignment,
        };
        if let Some(size) = spec.create {
            file.grow(size)?;
        }
        Ok(file)
    }

    fn size(&self) -> Result<u64, TargetError> {
        let found = if self.device {
            rustix::fs::seek(&self.fd, SeekFrom::End(0))
        } else {
            rustix::fs::fstat(&self.fd).map(|s| s.st_size as u64)
        };
        found.map_err(|e| {
            failed(
                "find the size of",
                &self.path,
                "check that the device is still there",
                e,
            )
        })
    }

    fn grow(&self, size: u64) -> Result<(), TargetError> {
        if self.size()? >= size {
            return Ok(());
        }
        if self.device {
            return Err(failed(
                "grow",
                &self.path,
                "the device is too small: use a larger one",
                rustix::io::Errno::NOSPC,
            ));
        }
        // Not fallocate: on copy-on-write file systems a preallocated extent takes its first write in place and
        // uncompressed, and the stack would show a behaviour that it does not have.
        rustix::fs::ftruncate(&self.fd, size)
            .and_then(|()| rustix::fs::fsync(&self.fd))
            .map_err(|e| failed("grow", &self.path, "free space on the file system, or ask for less", e))
    }

    fn extents(&self) -> Result<Vec<Extent>, TargetError> {
        if self.device {
            return Ok(Vec::new());
        }
        // A file system that can't tell has none to show, and that is an answer.
        crate::kernel::extents(&self.fd, crate::kernel::Unplaced::LeftOut)
            .map(Option::unwrap_or_default)
            .map_err(|e| failed("list the extents of", &self.path, "check the file system", e))
    }
}

/// What direct I/O must be aligned to, by the kernel's own word where it gives one.
pub(crate) fn direct_alignment(fd: BorrowedFd<'_>, device: bool) -> u32 {
    if device && let Ok(sector) = rustix::fs::ioctl_blksszget(fd) {
        return sector.max(512);
    }
    told_alignment(fd).unwrap_or(4096)
}

/// `STATX_DIOALIGN` of a file (Linux 6.1 and later), offset and memory together.
pub(crate) fn told_alignment(fd: BorrowedFd<'_>) -> Option<u32> {
    let stat = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && stat.stx_dio_offset_align != 0;
    told.then(|| stat.stx_dio_offset_align.max(stat.stx_dio_mem_align).max(512))
}

impl Files {
    pub(crate) fn open(specs: &[OpenSpec]) -> Result<Files, TargetError> {
        assert!(
            specs.len() <= usize::from(u16::MAX),
            "more files than a FileId can name"
        );
        let files = specs.iter().map(OpenFile::open).collect::<Result<Vec<_>, _>>()?;
        let alignment = files.iter().map(|f| f.alignment).max().unwrap_or(1);
        Ok(Files { files, alignment })
    }

    pub(crate) fn alignment(&self) -> u32 {
        self.alignment
    }

    fn get(&self, file: FileId) -> &OpenFile {
        let open = self.files.len();
        self.files
            .get(usize::from(file.0))
            .unwrap_or_else(|| panic!("{file:?} of a port with {open} files"))
    }

    pub(crate) fn fd(&self, file: FileId) -> BorrowedFd<'_> {
        self.get(file).fd.as_fd()
    }

    pub(crate) fn raw_fds(&self) -> Vec<RawFd> {
        self.files.iter().map(|f| f.fd.as_raw_fd()).collect()
    }

    /// A transfer that stopped off this alignment can't be continued: direct I/O stops there only at the end of a file.
    pub(crate) fn alignment_of(&self, file: FileId) -> u32 {
        self.get(file).alignment
    }

    pub(crate) fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.get(file).size()
    }

    pub(crate) fn grow(&self, file: FileId, size: u64) -> Result<(), TargetError> {
        self.get(file).grow(size)
    }

    pub(crate) fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        self.get(file).extents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_at_the_same_path_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("lun"), dir.path().join("other"));
        for place in [&path, &other] {
            std::fs::write(place, [0; 4096]).unwrap();
        }
        let which = Which::at(&path).unwrap();
        let spec = [OpenSpec::writing(&path, Access::Buffered).that_is(which)];
        assert!(Files::open(&spec).is_ok());
        std::fs::rename(&other, &path).unwrap();
        let error = Files::open(&spec).err().expect("another file").to_string();
        assert!(error.contains("another file or device has this path"), "{error}");
    }
}
