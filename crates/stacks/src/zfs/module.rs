//! The kernel's module: whether it is there, what it counts, its settings, and pools that a killed run left imported.
//!
//! Its cache belongs to the machine: a bound that a stack sets is written down before, with what was there. Prevents: a machine whose
//! ARC stays small after a run, and a clean-up that waits for a pool that waits for a device.

use super::commands::Commands;
use super::counts::ArcCounted;
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
    let no_prefetch = u64::from(!zfs.prefetch);
    let mut wanted = vec![("zfs_arc_max", zfs.arc_max.0), ("zfs_prefetch_disable", no_prefetch)];
    // First the minimum: a maximum below it would be ignored. The module's own is up to a thirty-second of the memory.
    wanted.insert(0, ("zfs_arc_min", zfs.arc_min.map_or(32 << 20, |bytes| bytes.0)));
    for (name, value) in wanted {
        let file = Path::new(MODULE).join("parameters").join(name);
        let cure = "use a module that has this parameter, and a container that may write it";
        let failed = |e: io::Error| StackError::path("set the module's", &file, e, cure);
        let before = std::fs::read_to_string(&file).map_err(failed)?;
        if before.trim() == value.to_string() {
            continue;
        }
        journal.before(Undo::RestoreSetting {
            file: file.clone(),
            value: before.trim().to_owned(),
        })?;
        std::fs::write(&file, value.to_string()).map_err(failed)?;
    }
    Ok(())
}

/// Puts a setting back. The module is gone: so is its setting.
pub(crate) fn restore(file: &Path, value: &str) -> io::Result<()> {
    match std::fs::write(file, value) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    }
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
    ArcCounted::of_table(&std::fs::read_to_string(ARC_STATS).ok()?)
}
