//! What a stack asks of the machine's cache and read-ahead, which belong to the kernel's module.
//!
//! A bound that a stack sets is written down before, with what was there. Prevents: a machine whose ARC stays small
//! after a run, and a bound that the module ignores.

use super::{counts, module};
use crate::error::StackError;
use crate::journal::Journal;
use crate::undo::Undo;
use plan::Zfs;
use std::io;
use std::path::Path;

/// Sets what the stack asks of the machine's cache and read-ahead; journalled before.
pub(crate) fn set(zfs: &Zfs, journal: &mut Journal) -> Result<(), StackError> {
    let in_force = |name: &str| counts::entry(&module::table(), name);
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
        let file = Path::new(module::MODULE).join("parameters").join(name);
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
    match counts::entry(&module::table(), "c_max") {
        Some(bytes) if bytes != zfs.arc_max.0 => {
            let kept = io::Error::other(format!("the ARC's maximum stays at {}", plan::Bytes(bytes)));
            let cure = "write an `arc_max` from 64 MiB to less than the machine's memory";
            Err(StackError::path(
                "set the module's",
                Path::new(module::ARC_STATS),
                kept,
                cure,
            ))
        }
        _ => Ok(()),
    }
}
