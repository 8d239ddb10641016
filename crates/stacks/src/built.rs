//! A stack that stands: what it offers, what it is made of, and what shapes its results.
//!
//! Made by [`build`](crate::build). Prevents: a file that is opened in a directory which was replaced meanwhile.

use crate::device;
use crate::error::StackError;
use crate::ground::Ground;
use crate::held::Held;
use crate::journal::{Journal, Mark};
use crate::places::Places;
use crate::volume;
use plan::Stack;
use sandbox::Directory;
use std::path::{Path, PathBuf};

/// A stack that stands.
#[derive(Clone, Debug)]
pub struct Built {
    /// What data and redo log are stored on.
    pub ground: Ground,
    /// All block devices under it, data first; empty for `directory`.
    pub devices: Vec<PathBuf>,
    /// How many of them are the data's, the first ones.
    pub data_devices: usize,
    /// How many of them are the temporary files', the last ones.
    pub temp_devices: usize,
    /// Mount points, data first.
    pub mounts: Vec<PathBuf>,
    /// The mount point of the file system for temporary files, which has LUNs of its own.
    pub temp: Option<PathBuf>,
    /// From top to bottom: `["btrfs", "loop", "file"]`, `["raw", "device"]`, `["directory", "ext4"]`.
    pub layers: Vec<String>,
    /// Everything that shapes the result: (what, value), keys of the redo file system opened by "redo ", of that of
    /// temporary files by "temp ".
    pub facts: Vec<(String, String)>,
    /// Bytes for data after mkfs; what the redo log takes beside the data is not taken off. `None`:
    /// nobody can see them.
    pub usable_bytes: Option<u64>,
    /// Its file systems, data first.
    pub(crate) made: Vec<Made>,
    /// Volumes under it, the data's first.
    pub(crate) volumes: Vec<volume::Made>,
    /// Directories that were made for it, held open.
    pub(crate) own: Vec<Directory>,
    /// What of its devices it keeps for itself.
    pub(crate) held: Held,
    pub(crate) mark: Mark,
}

impl Built {
    /// On these LUNs, with nothing known of it yet.
    pub(crate) fn on(ground: Ground, places: &Places, layers: Vec<String>, mark: Mark) -> Built {
        Built {
            ground,
            devices: places.all().cloned().collect(),
            data_devices: places.data.len(),
            temp_devices: places.temp.len(),
            mounts: Vec::new(),
            temp: None,
            layers,
            facts: Vec::new(),
            usable_bytes: None,
            made: Vec::new(),
            volumes: Vec::new(),
            own: Vec::new(),
            held: Held::default(),
            mark,
        }
    }

    /// The LUNs of the data, and those of the redo log.
    pub fn luns(&self) -> (&[PathBuf], &[PathBuf]) {
        let (luns, _temp) = self.devices.split_at(self.devices.len() - self.temp_devices);
        luns.split_at(self.data_devices)
    }

    /// The LUNs of the temporary files.
    pub fn temp_luns(&self) -> &[PathBuf] {
        &self.devices[self.devices.len() - self.temp_devices..]
    }

    /// An error unless the paths of its directories still lead to what was made. To be asked before each use.
    ///
    /// # Errors
    /// [`sandbox::SandboxError::Replaced`].
    pub fn check(&self) -> Result<(), StackError> {
        self.own.iter().try_for_each(|dir| Ok(dir.check()?))
    }

    /// The directory of a file of the stack, entered from what is held. Not to be kept: a file system
    /// that is held stays mounted.
    ///
    /// # Errors
    /// The file is none of the stack's; its directory is gone.
    pub fn home_of(&self, file: &Path) -> Result<Directory, StackError> {
        self.check()?;
        let home = file.parent().unwrap_or(file);
        for dir in &self.own {
            match (home.parent(), home.file_name().and_then(|name| name.to_str())) {
                _ if home == dir.path() => return Ok(dir.clone()),
                (Some(above), Some(name)) if above == dir.path() => return Ok(dir.enter(name)?),
                _ => {}
            }
        }
        let path = file.to_owned();
        Err(sandbox::SandboxError::Replaced { path }.into())
    }
}

/// A file system of a stack, to make and mount it again.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) uuid: [u8; 16],
    pub(crate) devices: Vec<PathBuf>,
    /// The mount point, held open below what is mounted on it.
    pub(crate) place: Directory,
}

/// What a file system of a stack lies on.
pub(crate) struct Base {
    /// What the file system is made on.
    pub(crate) devices: Vec<PathBuf>,
    /// The volume that it is, if it is one.
    pub(crate) volume: Option<volume::Made>,
    /// The commands that made that.
    pub(crate) facts: Vec<(String, String)>,
}

/// A directory's name for this run and stack. The run's id makes it ours.
pub(crate) fn own_name(journal: &Journal, stack: &Stack, suffix: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let stack: String = stack.name.chars().map(plain).collect();
    format!("assay-{}-{stack}{suffix}", journal.run_id())
}

/// What stands on these devices, from top to bottom.
pub(crate) fn layers(top: &str, devices: &[PathBuf]) -> Vec<String> {
    let below: &[&str] = if devices.iter().all(|d| device::is_loop(d)) {
        &["loop", "file"]
    } else if devices.iter().all(|d| d.is_file()) {
        &["file"]
    } else {
        &["device"]
    };
    std::iter::once(top)
        .chain(below.iter().copied())
        .map(str::to_owned)
        .collect()
}
