//! What can go wrong with a disk group: what failed, on which disk or file, and what to do about it.

use targets::{IoFault, TargetError};

/// An error of a disk group. The last line of its text is what to do.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The port below failed as a whole.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// One I/O on a disk failed, and no other copy could serve.
    #[error("{what} on disk {disk}: {fault}\n  check the device and its cables; `assay dg check` says what is damaged")]
    Io {
        /// The act.
        what: &'static str,
        /// The disk's name.
        disk: String,
        /// The fault of the I/O.
        fault: IoFault,
    },
    /// A flush failed for good: nothing says that what it should have covered is on any disk.
    #[error(
        "a flush failed, and what was written to file {file} before it may be lost\n  look for device errors (dmesg), \
         and write the file again from its source or its log"
    )]
    NotDurable {
        /// The file; there may be others.
        file: String,
    },
    /// A parameter that cannot work.
    #[error("{what}\n  {cure}")]
    Refused {
        /// What was asked.
        what: String,
        /// What to ask instead.
        cure: String,
    },
    /// No disk given belongs to the group asked for.
    #[error("{what}\n  name all disks of the group, or make one with `assay dg create`")]
    NoGroup {
        /// What was looked for, and what was found.
        what: String,
    },
    /// A disk was written by a newer version of the format.
    #[error("disk {disk} has format version {found}; this program reads up to {known}\n  use a newer program")]
    Newer {
        /// Path or name of the disk.
        disk: String,
        /// Its version.
        found: u16,
        /// The newest that is known.
        known: u16,
    },
    /// A disk belongs to a group already.
    #[error(
        "disk {disk} belongs to disk group {group}\n  name another disk, or say that its content may be overwritten"
    )]
    Taken {
        /// Path or name of the disk.
        disk: String,
        /// The group.
        group: String,
    },
    /// Disks of the group are not there, and nobody has said that the group may be opened without them.
    #[error("disks missing: {}\n  attach them, or open the group degraded (--force)", disks.join(", "))]
    Missing {
        /// Names of the disks.
        disks: Vec<String>,
    },
    /// More disks are lost than the redundancy allows.
    #[error(
        "lost more than the redundancy allows: disks {}; files with parts on them alone: {}\n  attach the disks \
         again, or restore the files from a copy",
        disks.join(", "), if files.is_empty() { "none (the metadata are lost)".to_string() } else { files.join(", ") }
    )]
    Lost {
        /// Names of the disks that are not there or not up to date.
        disks: Vec<String>,
        /// Files that have data on no other disk.
        files: Vec<String>,
    },
    /// No space.
    #[error("{what}: {needed} bytes are needed and {free} are free\n  add a disk, delete a file, or ask for less")]
    Full {
        /// What asked for space.
        what: String,
        /// Bytes needed, all copies together.
        needed: u64,
        /// Bytes free on the disks that may be used.
        free: u64,
    },
    /// A file of that name exists.
    #[error("file {name} exists\n  choose another name, or delete it first")]
    Exists {
        /// The name.
        name: String,
    },
    /// No file of that name.
    #[error("there is no file {name}\n  `assay dg ls` lists the files")]
    NoFile {
        /// The name.
        name: String,
    },
    /// No disk of that name.
    #[error("there is no disk {name} in the group\n  `assay dg du` lists the disks")]
    NoDisk {
        /// The name.
        name: String,
    },
    /// In use.
    #[error("{what}\n  {cure}")]
    Busy {
        /// What is in use, and by whom.
        what: String,
        /// What to wait for or to end.
        cure: String,
    },
    /// The metadata contradict themselves.
    #[error(
        "the metadata of the group are damaged: {what}\n  run `assay dg check` with all disks attached, and restore \
         from a copy if it cannot repair them"
    )]
    Damaged {
        /// What was found.
        what: String,
    },
    /// The metadata are those of another process, which has the group open to change them.
    #[error("the group is open frozen, and {what}\n  do it where the group is open to be changed")]
    Frozen {
        /// What the group would have to do.
        what: String,
    },
    /// An earlier failure left memory and disks apart; only a new mount can tell what is there.
    #[error("the group has failed: {what}\n  close it and mount it again")]
    Dead {
        /// The failure.
        what: String,
    },
}

impl GroupError {
    pub(crate) fn refused(what: impl Into<String>, cure: impl Into<String>) -> GroupError {
        GroupError::Refused {
            what: what.into(),
            cure: cure.into(),
        }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> GroupError {
        GroupError::Damaged { what: what.into() }
    }

    /// Whether the modelled machine lost its power: nothing more can be said about the disks.
    pub fn is_power_cut(&self) -> bool {
        matches!(self, GroupError::Target(TargetError::PowerCut))
    }

    /// Whether what lies on the disks is not a group that can be worked with, rather than the host being in the way.
    /// `None`: a layer below, which knows it itself.
    pub fn is_of_storage(&self) -> Option<bool> {
        match self {
            GroupError::Target(error) => error.is_of_storage(),
            GroupError::Io { fault, .. } => Some(fault.is_of_storage()),
            GroupError::NoGroup { .. }
            | GroupError::Missing { .. }
            | GroupError::NotDurable { .. }
            | GroupError::Lost { .. }
            | GroupError::NoFile { .. }
            | GroupError::NoDisk { .. }
            | GroupError::Damaged { .. } => Some(true),
            GroupError::Refused { .. }
            | GroupError::Newer { .. }
            | GroupError::Taken { .. }
            | GroupError::Full { .. }
            | GroupError::Exists { .. }
            | GroupError::Busy { .. }
            | GroupError::Frozen { .. }
            | GroupError::Dead { .. } => Some(false),
        }
    }
}
