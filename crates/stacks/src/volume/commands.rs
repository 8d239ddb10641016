//! What all commands of volume managers have alike.
//!
//! Prevents: a command that may wait for ever.

use crate::tool::Tool;
use std::path::PathBuf;
use std::time::Duration;

/// A command of LVM or mdadm takes seconds; on busy disks longer.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// Longest wait for a device that udev names, or for one that somebody still has.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// A mirror of a large disk takes its time.
pub(super) const RESYNC_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// A tool of a volume manager, which makes devices that nobody can name before.
pub(super) fn tool(program: &str, args: Vec<String>, luns: &[PathBuf]) -> Tool {
    Tool::new(program, args, LIMIT).making_devices_of(luns)
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
