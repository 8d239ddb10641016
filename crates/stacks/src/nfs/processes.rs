//! The processes of a server of files, known by the directory that they work in: nfs-ganesha and its port mapper.
//!
//! Prevents: a port mapper that is left when its server is ended.

use crate::host::process::{self, Who};
use rustix::process::Signal;
use std::io;
use std::path::Path;

/// Both.
const ALL: Who<'_> = Who::FileServer;
/// The one that serves.
const SERVER: Who<'_> = Who::Ganesha;

/// The server that works in this directory.
pub(super) fn serving(dir: &Path) -> Option<u32> {
    process::working_in(dir, SERVER).first().copied()
}

/// Ends all that works in the directory, without asking, and waits until it has. Nobody there: fine.
pub(crate) fn kill(dir: &Path) -> io::Result<()> {
    let there = process::working_in(dir, ALL);
    process::signal_all_in(dir, ALL, Signal::KILL);
    // Its directory is gone before its last transfers are.
    process::wait_until_over(&there)?;
    // One that was just starting another.
    process::end_all_in(dir, ALL, &[(std::time::Duration::ZERO, Signal::KILL)])
}
