//! LUN sets as a study means them: files or devices, and a model between.
//!
//! Prevents: a set whose LUNs are counted in two ways.

use super::device::Device;
use super::{Stack, Study};
use crate::units::Bytes;
use std::collections::BTreeSet;
use std::path::PathBuf;

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
        match &self.source {
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

impl Study {
    /// The LUN sets of a stack whose model has times of its own.
    pub fn timed_sets<'s>(&'s self, stack: &'s Stack) -> impl Iterator<Item = &'s LunSet> {
        let mine = |set: &&LunSet| stack.lun_sets().any(|name| *name == set.name);
        let timed = |set: &&LunSet| set.device.as_ref().is_some_and(Device::is_timed);
        self.luns.iter().filter(mine).filter(timed)
    }

    /// Whether a stack waits for a model with times and for something else: slow motion would change its proportions.
    pub fn is_half_timed(&self, stack: &Stack) -> bool {
        let timed = self.timed_sets(stack).count();
        let sets: BTreeSet<&String> = stack.lun_sets().collect();
        timed > 0 && timed < sets.len()
    }
}
