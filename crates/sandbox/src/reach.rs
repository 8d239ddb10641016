//! What a run, or one child of it, may write to: devices by their number, directories by their descriptor.
//!
//! Takes what the study names and what the run makes; a tool's own list must be part of the run's. Prevents: a tool
//! that is handed a device which nobody named.

use crate::directory::Directory;
use crate::error::SandboxError;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One thing that may be written to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) fd: Arc<OwnedFd>,
    pub(crate) is_directory: bool,
    /// The number of a block device.
    device: Option<u64>,
}

/// A list of what may be written to.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    targets: Vec<Target>,
}

impl Reach {
    /// Nothing but `/dev/null`.
    pub fn nothing() -> Reach {
        Reach::default()
    }

    /// Adds a block device, a file or a kernel's control device. A name for the same device is the same device.
    ///
    /// # Errors
    /// It is not there.
    pub fn add(&mut self, path: &Path) -> Result<(), SandboxError> {
        let target = target(path)?;
        self.targets.push(target);
        Ok(())
    }

    /// Adds a directory with all that is in it.
    pub fn add_directory(&mut self, directory: &Directory) -> Result<(), SandboxError> {
        self.add(&directory.by_descriptor())?;
        if let Some(last) = self.targets.last_mut() {
            last.path = directory.path().to_owned();
        }
        Ok(())
    }

    /// Takes a device off the list again.
    pub fn forget(&mut self, path: &Path) {
        self.targets.retain(|known| known.path != path);
    }

    /// The part of it that these paths are.
    ///
    /// # Errors
    /// [`SandboxError::OutOfReach`]: one of them is not on the list.
    pub fn part<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Result<Reach, SandboxError> {
        let mut part = Reach::nothing();
        for path in paths {
            let wanted = target(path)?;
            if !self.targets.iter().any(|known| known.holds(&wanted)) {
                return Err(SandboxError::OutOfReach { path: path.to_owned() });
            }
            part.targets.push(wanted);
        }
        Ok(part)
    }

    /// The paths on it.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.targets.iter().map(|target| target.path.as_path())
    }

    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }
}

impl Target {
    /// Whether `other` is it, or lies in it.
    fn holds(&self, other: &Target) -> bool {
        match (self.device, other.device) {
            (Some(own), Some(asked)) => own == asked,
            (None, None) if self.is_directory => other.path.starts_with(&self.path),
            (None, None) => self.path == other.path,
            _ => false,
        }
    }
}

fn target(path: &Path) -> Result<Target, SandboxError> {
    let failed = |e: std::io::Error| SandboxError::path("look at", path, e);
    // Links of /dev and of /proc are followed here: what they lead to is compared by number.
    let opened = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|e| failed(e.into()))?;
    let found = fstat(&opened).map_err(|e| failed(e.into()))?;
    let kind = FileType::from_raw_mode(found.st_mode);
    Ok(Target {
        path: std::fs::canonicalize(path).map_err(failed)?,
        fd: Arc::new(opened),
        is_directory: kind == FileType::Directory,
        device: (kind == FileType::BlockDevice).then_some(found.st_rdev),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_on_the_list_is_part_of_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().canonicalize().expect("its path");
        std::fs::write(path.join("in"), "").expect("written");
        let other = tempfile::NamedTempFile::new().expect("a file");
        let mut reach = Reach::nothing();
        reach
            .add_directory(&Directory::open(&path).expect("opened"))
            .expect("added");
        let inside = path.join("in");
        assert_eq!(reach.part([inside.as_path()]).expect("part of it").paths().count(), 1);
        let refused = reach.part([inside.as_path(), other.path()]);
        assert!(matches!(refused, Err(SandboxError::OutOfReach { .. })));
        assert!(matches!(
            Reach::nothing().part([inside.as_path()]),
            Err(SandboxError::OutOfReach { .. })
        ));
        assert!(reach.part([Path::new("/nonesuch")]).is_err());
    }
}
