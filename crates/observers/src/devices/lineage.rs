//! The chain of block devices under a file, directory or device, down to the lowest that can be seen.
//!
//! A [`Lineage`] is levels from the nearest to the lowest. Bytes moved are compared at the lowest
//! level: above it, a cache or a copy in between would be missed. Prevents: a file system without a device number of
//! its own (btrfs, overlay) being taken for one without devices, and a place in main memory being measured as storage.

use std::path::PathBuf;

/// Name of a block device as in `/proc/diskstats`: `sda1`, `loop0`, `dm-3`.
pub type DeviceName = String;

/// Devices at one distance from the place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Level {
    /// Sorted names.
    pub devices: Vec<DeviceName>,
}

/// What the chain ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// Block devices; what lies below the lowest is unknown.
    Devices,
    /// Main memory: tmpfs, a RAM disk.
    Memory,
    /// Another machine, through a network file system.
    Network,
    /// Something this room cannot see into: FUSE, ZFS, an overlay whose layers are out of sight.
    Hidden,
}

/// The chain of block devices under a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lineage {
    /// The place, links resolved.
    pub path: PathBuf,
    /// Type of the file system it lies on; `None` for a block device.
    pub file_system: Option<String>,
    /// Nearest first, lowest last; a device stands at the lowest distance it is found at. Empty when `backing` says
    /// why.
    pub levels: Vec<Level>,
    /// Devices with nothing visible below them: here bytes moved are counted.
    pub lowest: Vec<DeviceName>,
    /// What the chain ends in. Not `Devices` if any part of it does not.
    pub backing: Backing,
    /// What cannot be seen, one sentence each.
    pub notes: Vec<String>,
}

impl Lineage {
    /// Every device of every level, nearest first.
    pub fn devices(&self) -> Vec<DeviceName> {
        self.levels
            .iter()
            .flat_map(|level| level.devices.iter().cloned())
            .collect()
    }
}
