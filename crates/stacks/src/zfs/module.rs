//! The kernel's module: whether it is there, what it counts, its settings, and pools that a killed run left imported.
//!
//! Its cache belongs to the machine: a bound that a stack sets is written down before, with what was there. Prevents: a
//! machine whose ARC stays small after a run, and a clean-up that waits for a pool that waits for a device.

use super::commands::Commands;
use super::counts::{self, ArcCounted};
use super::ways;
use crate::error::StackError;
use crate::journal::Journal;
use crate::undo::Undo;
use plan::Zfs;
use std::io;
use std::path::Path;

const MODULE: &str = "/sys/module/zfs";
const DEVICE: &str = "/dev/zfs";
const ARC_STATS: &str = "/proc/spl/kstat/zfs/arcstats";

/// Whether the module is loaded and can be spoken to.
pub(crate) fn is_loaded() -> bool {
    Path::new(MODULE).exists() && Path::new(DEVICE).exists()
}

/// As the module tells it; empty where there is none.
pub(crate) fn version() -> String {
    let told = std::fs::read_to_string(Path::new(MODULE).join("version")).unwrap_or_default();
    told.trim().to_owned()
}

/// Sets what the stack asks of the machine's cache and read-ahead; journalled before.
pub(crate) fn set(zfs: &Zfs, journal: &mut Journal) -> Result<(), StackError> {
    let in_force = |name: &str| counts::entry(&table(), name);
    // First the minimum: a maximum below it would be ignored. The module's own is up to a thirty-second of the memory.
    let mut wanted = vec![
        (
            "zfs_arc_min",
            zfs.arc_min.map_or(32 << 20, |bytes| bytes.0),
            in_force("c_min"),
        ),
        ("zfs_arc_max", zfs.arc_max.0, in_force("c_max")),
        ("zfs_prefetch_disable", u64::from(!zfs.prefetch), None),
    ];
    let distance = zfs.prefetch_distance;
    wanted.extend(distance.map(|bytes| ("zfetch_max_distance", bytes.0, None)));
    for (name, value, in_force) in wanted {
        let file = Path::new(MODULE).join("parameters").join(name);
        let cure = "use a module that has this parameter, and a container that may write it";
        let failed = |e: io::Error| StackError::path("set the module's", &file, e, cure);
        let before = std::fs::read_to_string(&file).map_err(failed)?.trim().to_owned();
        let in_force = in_force.map(|bytes| bytes.to_string());
        if before == value.to_string() && in_force.as_ref().is_none_or(|bytes| *bytes == before) {
            continue;
        }
        journal.before(Undo::RestoreSetting {
            file: file.clone(),
            first: in_force.filter(|bytes| *bytes != before),
            value: before,
        })?;
        std::fs::write(&file, value.to_string()).map_err(failed)?;
    }
    // What is out of its range the module ignores without a word.
    match counts::entry(&table(), "c_max") {
        Some(bytes) if bytes != zfs.arc_max.0 => {
            let kept = io::Error::other(format!("the ARC's maximum stays at {}", plan::Bytes(bytes)));
            let cure = "write an `arc_max` from 64 MiB to less than the machine's memory";
            Err(StackError::path("set the module's", Path::new(ARC_STATS), kept, cure))
        }
        _ => Ok(()),
    }
}

/// Puts a setting back. The module is gone: so is its setting.
///
/// A bound of the ARC that reads 0 was the module's own choice, but a 0 that is written changes nothing: what was in
/// force is written `first`, then what stood there.
pub(crate) fn restore(file: &Path, first: Option<&str>, value: &str) -> io::Result<()> {
    for value in first.into_iter().chain([value]) {
        match std::fs::write(file, value) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// Exports a pool of ours. Not imported, or no module: fine.
pub(crate) fn export(pool: &str) -> io::Result<()> {
    if !is_loaded() {
        return Ok(());
    }
    let programs = match ways::kernel_programs() {
        Ok(programs) => programs,
        Err((why, cure)) => return Err(io::Error::other(format!("{why}; {cure}"))),
    };
    let commands = Commands::of_module(programs);
    if !commands.is_imported(pool) {
        return Ok(());
    }
    commands.export(pool).map_err(|e| io::Error::other(e.to_string()))
}

/// What the machine's cache has counted; `None` where it can't be read.
pub(crate) fn arc() -> Option<ArcCounted> {
    ArcCounted::of_table(&table())
}

fn table() -> String {
    std::fs::read_to_string(ARC_STATS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_the_module_chose_is_in_force_again_before_its_zero_is_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("zfs_arc_max");
        // A file in a directory that is not there, as when the module was removed.
        restore(&dir.path().join("gone/zfs_arc_max"), Some("1"), "0").expect("no module, no setting");
        std::fs::write(&file, "67108864").expect("written");
        restore(&file, Some("1073741824"), "0").expect("restored");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "0");
        restore(&file, None, "4096").expect("restored");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "4096");
    }
}
