//! LUN sets as a study means them: files or devices, and a model between.
//!
//! Prevents: a set whose LUNs are counted in two ways.

use super::device::Device;
use crate::units::Bytes;
use std::path::PathBuf;

/// Most LUNs of a disk group, those in reserve among them.
pub const GROUP_LUNS_MAX: usize = 64;

/// LUNs that serve every stack in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct LunSet {
    /// `luns.NAME`.
    pub name: String,
    /// Files or devices.
    pub source: LunSource,
    /// A device by calculation between the files and the stacks; `None`: the files are what they are.
    pub device: Option<Device>,
}

impl LunSet {
    /// How many LUNs it has.
    pub fn count(&self) -> usize {
        self.source.luns()
    }
}

impl LunSource {
    /// How many LUNs are made of it.
    pub fn luns(&self) -> usize {
        match self {
            LunSource::Files { count, .. } => *count as usize,
            LunSource::Devices { paths, .. } => paths.len(),
        }
    }
}

/// What a LUN set is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum LunSource {
    /// Files made in `dir`, written in full, attached as loop devices where a device is needed.
    Files {
        /// How many.
        count: u32,
        /// Bytes each.
        size: Bytes,
        /// Directory, relative to the working directory.
        dir: PathBuf,
    },
    /// Whole block devices. Their content is destroyed.
    Devices {
        /// Paths as written.
        paths: Vec<PathBuf>,
        /// Those for which the study says `overwrite = true` (`overwrite = ["/dev/x"]` names them; `true` means all).
        overwrite: Vec<PathBuf>,
    },
}
