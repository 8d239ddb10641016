//! LUNs made ready for pools of ZFS.
//!
//! Takes the stack's properties and devices, gives under which UUIDs they were cleared. A pool carries no UUID of ours,
//! so it is known by its name, which is made of the UUID that its devices are journalled under. Prevents: a wipe of
//! somebody else's pool.

use crate::device;
use crate::error::StackError;
use crate::journal::Journal;
use crate::places::{Owners, Places, claim};
use plan::{RedoAs, Zfs};

/// LUNs that are clear for pools.
pub(crate) struct Luns {
    /// By which they are journalled; of the redo LUNs it names their own pool unless it is the data's.
    pub(crate) owners: Owners,
    /// Bytes of the data LUNs.
    pub(crate) data_bytes: u64,
}

/// Clears the devices for a pool, and for a second one where the redo log has a pool of its own.
pub(crate) fn claimed(zfs: &Zfs, places: &Places, journal: &mut Journal) -> Result<Luns, StackError> {
    let data = device::uuid(journal.run_id(), journal.mark().0, &places.data[0]);
    let mut data_bytes = 0;
    for path in &places.data {
        data_bytes += device::size(path)
            .map_err(|e| StackError::path("find the size of", path, e, "check that the device is there"))?;
        if device::is_block(path) {
            claim(path, "zfs", data, &places.marker, journal)?;
        }
    }
    let mut redo = None;
    if let Some(first) = places.redo.first() {
        let own = match zfs.redo_as {
            // A log device belongs to the data's pool.
            RedoAs::Log => data,
            RedoAs::Pool => device::uuid(journal.run_id(), journal.mark().0, first),
        };
        for path in places.redo.iter().filter(|path| device::is_block(path)) {
            claim(path, "zfs", own, &places.marker, journal)?;
        }
        redo = Some(own);
    }
    let owners = Owners { data, redo, temp: None };
    Ok(Luns { owners, data_bytes })
}
