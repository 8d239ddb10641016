//! What a run holds while its tools work: the lock of its journal, and the list of what it may write to.
//!
//! Given by a [`Journal`](crate::Journal). Prevents: a tool that outlives its run unseen, or writes to what is not the
//! run's.

use crate::error::StackError;
use sandbox::{Reach, SandboxError};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Held by a run, and by its children as far as they need it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The journal's file, locked; children hold it too.
    pub(crate) lock: File,
    /// What the run may write to; tools that it starts are held to it.
    pub(crate) reach: Reach,
    /// Set when the run is to end: what may wait for hours looks at it.
    pub(crate) cancel: Arc<AtomicBool>,
}

impl Run {
    /// With the journal's file, and nothing that it may write to.
    pub(crate) fn new(lock: File) -> Run {
        Run {
            lock,
            reach: Reach::nothing(),
            cancel: Arc::default(),
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
