//! What a run holds while its tools work: the lock of its journal, and the list of what it may write to.
//!
//! Given by a [`Journal`](crate::Journal). Prevents: a tool that outlives its run unseen, or writes to what is not the
//! run's.

use sandbox::{Reach, SandboxError};
use std::fs::File;
use std::path::PathBuf;

/// Held by a run, and by its children as far as they need it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The journal's file, locked; children hold it too.
    pub(crate) lock: File,
    /// What the run may write to; tools that it starts are held to it.
    pub(crate) reach: Reach,
}

impl Run {
    /// The part of what the run may write to that these paths are: what a tool gets.
    ///
    /// # Errors
    /// [`SandboxError::OutOfReach`].
    pub(crate) fn part(&self, paths: &[PathBuf]) -> Result<Reach, SandboxError> {
        self.reach.part(paths.iter().map(PathBuf::as_path))
    }
}
