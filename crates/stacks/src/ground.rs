//! What a stack offers to a database once it is built: one case for each way to store something on it.
//!
//! Given by [`build`](crate::build), matched by whoever opens files. Each case holds what it has and nothing else.
//! Prevents: a path, a UUID or a size that a stack does not have, made up so that a struct is full.

use crate::places::Owners;
use crate::zfs::MountedPool;
use std::path::{Path, PathBuf};

/// What data and redo log are stored on.
#[derive(Clone, Debug)]
pub enum Ground {
    /// Files in file systems of the stack, or in a directory of its own among the user's.
    Files(FilePair),
    /// Whole block devices.
    Devices {
        /// Of the data, at least one.
        data: Vec<PathBuf>,
        /// Of the redo log.
        redo: PathBuf,
    },
    /// LUNs cleared for a disk group, which the engine makes.
    Group(Owners),
    /// Files on pools of ZFS that commands made and that are mounted.
    MountedPool {
        /// On its datasets.
        files: FilePair,
        /// The pools.
        pool: Box<MountedPool>,
        /// By which its LUNs are journalled.
        owners: Owners,
    },
    /// LUNs cleared for pools of ZFS, which a process in user space makes.
    ProcessPool(Owners),
    /// A database server that was there before: nothing of its storage can be seen.
    Server,
}

/// Two files that do not exist yet, in file systems.
#[derive(Clone, Debug)]
pub struct FilePair {
    /// Of the data.
    pub data: PathBuf,
    /// Of the redo log.
    pub redo: PathBuf,
}

impl Ground {
    /// Paths of data and redo log, where the kernel has them: files or devices.
    pub fn paths(&self) -> Option<(&[PathBuf], &Path)> {
        match self {
            Ground::Files(files) | Ground::MountedPool { files, .. } => {
                Some((std::slice::from_ref(&files.data), &files.redo))
            }
            Ground::Devices { data, redo } => Some((data, redo)),
            Ground::Group(_) | Ground::ProcessPool(_) | Ground::Server => None,
        }
    }

    /// The files, where a file system has them.
    pub fn files(&self) -> Option<&FilePair> {
        match self {
            Ground::Files(files) | Ground::MountedPool { files, .. } => Some(files),
            _ => None,
        }
    }

    /// Pools of ZFS that commands made and whose files are on mounts.
    pub fn mounted_pool(&self) -> Option<&MountedPool> {
        match self {
            Ground::MountedPool { pool, .. } => Some(pool),
            _ => None,
        }
    }

    /// By which the LUNs of a disk group or a pool are journalled.
    pub fn owners(&self) -> Option<&Owners> {
        match self {
            Ground::Group(owners) | Ground::ProcessPool(owners) | Ground::MountedPool { owners, .. } => Some(owners),
            Ground::Files(_) | Ground::Devices { .. } | Ground::Server => None,
        }
    }
}
