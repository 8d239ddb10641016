//! Whether a device of the user's is still the one that the study began with.
//!
//! Prevents: a disk that somebody exchanged or began to use between two trials, and that the next trial overwrites.

use anyhow::ensure;
use luns::DeviceFacts;
use std::path::Path;

/// An error where another disk has the name by now, or somebody has put something on this one: hours may have passed.
pub(super) fn still_the_same(path: &Path, known: &DeviceFacts, overwrite: bool) -> anyhow::Result<()> {
    let named = [path.to_owned()];
    let now = luns::inspect_device(path, &named, if overwrite { &named } else { &[] })?;
    let is_same = |one: &DeviceFacts| (one.number.clone(), one.bytes, one.model.clone());
    ensure!(
        is_same(&now) == is_same(known),
        "{} was device {} of {} bytes when it was looked at, and is device {} of {} bytes now\n  leave devices alone \
         while a study runs",
        path.display(),
        known.number,
        known.bytes,
        now.number,
        now.bytes
    );
    Ok(())
}
