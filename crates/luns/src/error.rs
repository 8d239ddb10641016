//! What can go wrong with LUN files, loop devices and named devices; each error says what to do in its last line.
//!
//! Prevents a bare errno: nobody can act on "Invalid argument" without the path and the step.

use std::path::{Path, PathBuf};

/// An error of a LUN file or a loop device.
#[derive(Debug, thiserror::Error)]
pub enum LunError {
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// The act: "open", "write" ...
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do about it.
        cure: String,
    },
    /// The file system has not the room.
    #[error(
        "{} needs {needed} bytes, and its file system has {free} free ({headroom} of them stay free)\n  free space \
         there, name another `dir`, or make the LUNs smaller",
        path.display()
    )]
    NoSpace {
        /// The LUN file or its directory.
        path: PathBuf,
        /// Bytes asked.
        needed: u64,
        /// Bytes free for an ordinary user.
        free: u64,
        /// Bytes that are not touched.
        headroom: u64,
    },
    /// A size that a LUN can't have.
    #[error("{}: a LUN of {bytes} bytes can't be made\n  give a size that is a multiple of 4 KiB and not \
        0", path.display())]
    BadSize {
        /// The LUN file.
        path: PathBuf,
        /// Bytes asked.
        bytes: u64,
    },
    /// Told to stop.
    #[error("writing {} was stopped\n  run again; a LUN is written in full before each use", path.display())]
    Cancelled {
        /// The LUN file.
        path: PathBuf,
    },
    /// Part of the file would be read without touching the disk.
    #[error(
        "{}: {missing} of its {bytes} bytes are not on the disk (the first at byte {first}): reads of them would be \
         too fast\n  write the LUN again before it is used; look for what discards or punches holes below it",
        path.display()
    )]
    NotWhole {
        /// The LUN file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Bytes in holes and unwritten extents.
        missing: u64,
        /// Offset of the first of them.
        first: u64,
    },
    /// The file has another size than when it was made.
    #[error(
        "{} has {found} bytes and was made with {expected}: it was cut or grown under the run\n  leave LUN files \
         alone while a study runs, and run it again",
        path.display()
    )]
    Resized {
        /// The LUN file.
        path: PathBuf,
        /// Bytes when it was made.
        expected: u64,
        /// Bytes now.
        found: u64,
    },
    /// The path leads to another file than the one that was made.
    #[error(
        "{} is not the LUN file that this run made: something replaced it\n  keep others out of the directory of the \
         LUN files, and run again",
        path.display()
    )]
    Replaced {
        /// The LUN file.
        path: PathBuf,
    },
    /// The kernel did not give direct I/O to a loop device.
    #[error(
        "{} on {}: the kernel gives this loop device no direct I/O: its file would be cached below the stack\n  put \
         the LUN files on ext4, XFS or btrfs on a local disk (`dir` of the LUN set)",
        device.display(),
        path.display()
    )]
    NotDirect {
        /// The LUN file.
        path: PathBuf,
        /// The loop device, already detached again.
        device: PathBuf,
    },
    /// Something still uses a loop device.
    #[error("{} is still in use{by}\n  unmount what is on it and run `assay clean`", device.display())]
    InUse {
        /// The loop device.
        device: PathBuf,
        /// " by ..." where it can be told, else empty.
        by: String,
    },
}

impl LunError {
    /// The same under the name that people know, where a descriptor was asked.
    pub(crate) fn named(self, known: &Path) -> LunError {
        match self {
            LunError::NoSpace {
                needed, free, headroom, ..
            } => LunError::NoSpace {
                path: known.to_owned(),
                needed,
                free,
                headroom,
            },
            LunError::Path { what, source, cure, .. } => LunError::Path {
                what,
                path: known.to_owned(),
                source,
                cure,
            },
            other => other,
        }
    }

    /// A failed call with the cure that fits the errno, or `cure`.
    pub(crate) fn path(what: &'static str, path: &Path, source: impl Into<std::io::Error>, cure: &str) -> LunError {
        let source = source.into();
        let cure = match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => "run as a user who may (loop devices need root), or change its owner",
            Some(libc::EROFS) => "its file system is mounted read-only: name another `dir`",
            Some(libc::ENOSPC | libc::EDQUOT) => "free space there, name another `dir`, or make the LUNs smaller",
            Some(libc::EIO) => "the disk below failed: see the kernel log (dmesg)",
            _ => cure,
        };
        LunError::Path {
            what,
            path: path.to_owned(),
            source,
            cure: cure.to_owned(),
        }
    }
}

/// Why a device is not touched.
#[derive(Debug, thiserror::Error)]
pub enum DeviceRefusal {
    /// Not in the study.
    #[error("{} is not named in the study: it is not touched\n  name it under `devices` of a LUN set, if its content \
        may be destroyed", path.display())]
    NotNamed {
        /// The device.
        path: PathBuf,
    },
    /// It can't be looked at.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Unreadable {
        /// The act.
        what: &'static str,
        /// The device.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do about it.
        cure: &'static str,
    },
    /// A file, a directory, a terminal ...
    #[error("{} is {what}, not a block device\n  name a whole disk such as /dev/nvme1n1, or use `files` for LUN \
        files", path.display())]
    NotBlockDevice {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A part of a disk.
    #[error("{} is partition {partition} of {disk}: only whole devices are used\n  name a whole disk that nothing \
        else lives on", path.display())]
    Partition {
        /// The device.
        path: PathBuf,
        /// Its number.
        partition: String,
        /// The disk it is a part of, by the kernel's name.
        disk: String,
    },
    /// A disk with partitions.
    #[error("{} is partitioned ({what}): it is not touched\n  name another disk, or remove the table yourself: wipefs \
        -a {}", path.display(), path.display())]
    Partitioned {
        /// The device.
        path: PathBuf,
        /// The partitions, or the kind of table found.
        what: String,
    },
    /// A mounted device.
    #[error("{} is mounted on {}: it is not touched\n  unmount it if its content may be destroyed, or name another \
        disk", path.display(), place.display())]
    Mounted {
        /// The device.
        path: PathBuf,
        /// One mount point.
        place: PathBuf,
    },
    /// Swap, a member of an array or volume group, or opened for itself by something else.
    #[error("{} is in use ({by}): it is not touched\n  stop what uses it if its content may be destroyed, or name \
        another disk", path.display())]
    Busy {
        /// The device.
        path: PathBuf,
        /// Who, as far as can be told.
        by: String,
    },
    /// Can't be written.
    #[error("{} is read-only\n  name a disk that can be written", path.display())]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// No space at all.
    #[error("{} has a size of 0 bytes\n  check that the disk is present", path.display())]
    Empty {
        /// The device.
        path: PathBuf,
    },
    /// Somebody's data.
    #[error(
        "{} carries {found}, which Assay did not write: it is not touched\n  if that data may be destroyed, say \
         `overwrite = [\"{}\"]` in its LUN set; otherwise name another disk",
        path.display(),
        path.display()
    )]
    Foreign {
        /// The device.
        path: PathBuf,
        /// The signatures.
        found: String,
    },
}
