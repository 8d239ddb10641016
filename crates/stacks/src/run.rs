//! What a run holds while its tools work: the lock of its journal, and the list of what it may write to.
//!
//! Given by a [`Journal`](crate::Journal). Prevents: a tool that outlives its run unseen, or writes to what is not the
//! run's.

use crate::error::StackError;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use sandbox::{Reach, SandboxError};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// Held by a run, and by its children as far as they need it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The journal's file, locked; children hold it too.
    pub(crate) lock: File,
    /// What the run may write to; tools that it starts are held to it.
    pub(crate) reach: Reach,
    /// Set when the run is to end: what may wait for hours looks at it.
    pub(crate) cancel: Arc<AtomicBool>,
    /// What other runs are kept away from until this one ends; no child inherits it.
    alone: OnceLock<File>,
}

impl Run {
    /// With the journal's file, and nothing that it may write to.
    pub(crate) fn new(lock: File) -> Run {
        Run {
            lock,
            reach: Reach::nothing(),
            cancel: Arc::default(),
            alone: OnceLock::new(),
        }
    }

    /// Keeps other runs away from this file or directory until this run ends; `false` while another one does.
    pub(crate) fn is_alone_with(&self, path: &Path) -> io::Result<bool> {
        if self.alone.get().is_some() {
            return Ok(true);
        }
        let file = File::open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(self.alone.set(file).is_ok()),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// # Errors
    /// [`StackError::Ended`] once the run is to end.
    pub(crate) fn goes_on(&self) -> Result<(), StackError> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(StackError::Ended),
            false => Ok(()),
        }
    }

    /// The part of what the run may write to that these paths are: what a tool gets.
    ///
    /// # Errors
    /// [`SandboxError::OutOfReach`].
    pub(crate) fn part(&self, paths: &[PathBuf]) -> Result<Reach, SandboxError> {
        self.reach.part(paths.iter().map(PathBuf::as_path))
    }
}

/// Whose journal it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) version: u32,
    pub(crate) run_id: String,
    pub(crate) pid: u32,
    pub(crate) started: u64,
    pub(crate) boot: String,
}

impl Owner {
    /// Whether the machine was started anew since the journal was written to. A container may be given another name of
    /// its boot each time that it starts, while the kernel and its loop devices stay: so the kernel's clock must agree.
    pub(crate) fn is_of_another_boot(&self, written: Option<SystemTime>) -> bool {
        let now = boot_id();
        let is_named_so = !self.boot.is_empty() && !now.is_empty() && self.boot != now;
        is_named_so
            && written
                .zip(booted_at())
                .is_some_and(|(written, booted)| written < booted)
    }
}

/// When the kernel started, by the clock of today.
fn booted_at() -> Option<SystemTime> {
    let up = clock_gettime(ClockId::Boottime);
    let up = Duration::new(u64::try_from(up.tv_sec).ok()?, 0);
    SystemTime::now().checked_sub(up)
}

/// The boot that the machine is in.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_journal_of_another_boot_is_known() {
        let of = |boot: &str| Owner {
            version: 1,
            run_id: "r".to_owned(),
            pid: 1,
            started: 1,
            boot: boot.to_owned(),
        };
        let long_ago = Some(UNIX_EPOCH);
        let other = of("11111111-2222-3333-4444-555555555555");
        assert!(other.is_of_another_boot(long_ago) && !of(&boot_id()).is_of_another_boot(long_ago));
        assert!(!of("").is_of_another_boot(long_ago), "an older journal does not say it");
        // As in a container that was started again.
        assert!(!other.is_of_another_boot(Some(SystemTime::now())) && !other.is_of_another_boot(None));
    }
}
