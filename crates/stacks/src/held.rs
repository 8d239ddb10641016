//! Block devices that a stack keeps for itself while it stands: raw LUNs, and those of a disk group.
//!
//! Takes the paths of a stack; keeps one descriptor for each block device among them, opened exclusively. The kernel
//! grants that once. So it refuses a mount, mkfs, LVM, md and a second run meanwhile, and lets in whoever opens the
//! device plainly, as instances do. Prevents: another tool that takes a LUN under the engine that works on it.

use crate::device;
use crate::error::StackError;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The devices of one stack. Copies are of one claim: the stack has it, and the journal, which ends it before an undo.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<Holding>);

#[derive(Debug, Default)]
struct Holding {
    devices: Vec<PathBuf>,
    /// One for each device, or none while the claim is let go. No child inherits them.
    open: Mutex<Vec<File>>,
}

impl Held {
    /// The block devices among these paths, not claimed yet.
    pub(crate) fn of(paths: &[PathBuf]) -> Held {
        let devices = paths.iter().filter(|path| device::is_block(path));
        Held(Arc::new(Holding {
            devices: devices.cloned().collect(),
            open: Mutex::default(),
        }))
    }

    /// Claims all devices or none. Claimed already: fine.
    ///
    /// # Errors
    /// A device that is not there, or that somebody else keeps.
    pub(crate) fn take(&self) -> Result<(), StackError> {
        let mut open = self.open();
        if !open.is_empty() {
            return Ok(());
        }
        let claimed = self.0.devices.iter().map(|path| {
            let cure = "something took it after Assay had looked at it: unmount it, or stop what uses it";
            device::hold(path).map_err(|e| StackError::path("claim", path, e, cure))
        });
        *open = claimed.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Gives the devices back: whoever detaches or clears one asks for it exclusively.
    pub(crate) fn let_go(&self) {
        self.open().clear();
    }

    fn open(&self) -> MutexGuard<'_, Vec<File>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_device_that_is_not_there_nothing_is_held() {
        let held = Held(Arc::new(Holding {
            devices: vec!["/dev/nonesuch".into()],
            open: Mutex::default(),
        }));
        let error = held.take().expect_err("no such device").to_string();
        assert!(error.contains("claim /dev/nonesuch"), "{error}");
        assert!(held.open().is_empty());
    }

    #[test]
    fn a_name_that_became_a_fifo_is_an_error_and_no_wait() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("lun");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).expect("made");
        let held = Held(Arc::new(Holding {
            devices: vec![fifo],
            open: Mutex::default(),
        }));
        let error = held.take().expect_err("no device").to_string();
        assert!(error.contains("no block device") && held.open().is_empty(), "{error}");
    }

    #[test]
    fn files_are_left_out() {
        let held = Held::of(&["/etc/passwd".into(), "/dev/null".into()]);
        held.take().expect("nothing to claim");
        assert!(held.0.devices.is_empty() && held.open().is_empty());
    }
}
