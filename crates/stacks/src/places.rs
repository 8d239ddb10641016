//! The LUNs of a stack while it is built: which they are, and under which UUIDs they are cleared and journalled.
//!
//! Prevents: a LUN that is cleared before the journal knows whose it becomes.

use crate::device;
use crate::error::StackError;
use crate::journal::Journal;
use crate::undo::Undo;
use std::path::{Path, PathBuf};

/// The LUNs of a stack, as block devices (LUN files are attached before), and how a device is marked
/// when it is released.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Devices for the data; empty for `directory`.
    pub data: Vec<PathBuf>,
    /// Devices for the redo log; empty: it lies beside the data.
    pub redo: Vec<PathBuf>,
    /// Devices for temporary files of a database; empty: they lie beside the data.
    pub temp: Vec<PathBuf>,
    /// First line left on a device after use (`luns::MARKER`), so that the next run may use it.
    pub marker: String,
}

impl Places {
    /// All of them, data first, then the redo log's, then the temporary files'.
    pub(crate) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.data.iter().chain(&self.redo).chain(&self.temp)
    }
}

/// UUIDs under which LUNs were journalled. A disk group must be made with its own, and a pool with the name made of it
/// ([`pool_name`](crate::pool_name)), or its LUNs are not wiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    /// Of the data's LUNs.
    pub data: [u8; 16],
    /// Of the redo log's, if it has some; the data's own where both belong to one pool.
    pub redo: Option<[u8; 16]>,
    /// Of the temporary files', if they have some.
    pub temp: Option<[u8; 16]>,
}

impl Owners {
    /// Of a LUN of the data, or of one of the redo log.
    pub(crate) fn of(&self, is_redo: bool) -> &[u8; 16] {
        self.redo.as_ref().filter(|_| is_redo).unwrap_or(&self.data)
    }
}

/// Clears a device for its new owner, by whose UUID it will be wiped.
pub(crate) fn claim(
    path: &Path,
    owner: &str,
    uuid: [u8; 16],
    marker: &str,
    journal: &mut Journal,
) -> Result<(), StackError> {
    journal.before(Undo::WipeSignature {
        device: path.to_owned(),
        filesystem: owner.to_owned(),
        uuid,
        marker: marker.to_owned(),
    })?;
    device::claim(path, marker, journal.run_id())
        .map_err(|e| StackError::path("clear", path, e, "it must be free: unmount it or stop what uses it"))
}
