//! LUNs made ready for a pool of OpenZFS in user space, which the process that runs it makes.
//!
//! Takes the stack's properties and devices, gives a [`Built`] without mounts. A pool carries no UUID of ours, so it is known by
//! its name, which is made of the UUID that its devices are journalled under. Prevents: a wipe of somebody else's pool.

use crate::build::{Built, Place, Places, claim, layers};
use crate::device;
use crate::error::StackError;
use crate::journal::{Journal, Mark};
use plan::{RedoAs, Zfs};

/// The name of the pool that is journalled under this UUID.
pub fn pool_name(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("assay-{hex}")
}

/// Clears the devices for a pool, and for a second one where the redo log has a pool of its own.
pub(crate) fn pool(zfs: &Zfs, places: &Places, mark: Mark, journal: &mut Journal) -> Result<Built, StackError> {
    let uuid = device::uuid(journal.run_id(), journal.mark().0, &places.data[0]);
    let mut bytes = 0;
    for path in &places.data {
        bytes += device::size(path)
            .map_err(|e| StackError::path("find the size of", path, e, "check that the device is there"))?;
        if device::is_block(path) {
            claim(path, "zfs", uuid, &places.marker, journal)?;
        }
    }
    let mut redo_group = None;
    if let Some(first) = places.redo.first() {
        let redo = match zfs.redo_as {
            // A log device belongs to the data's pool.
            RedoAs::Log => uuid,
            RedoAs::Pool => device::uuid(journal.run_id(), journal.mark().0, first),
        };
        for path in places.redo.iter().filter(|path| device::is_block(path)) {
            claim(path, "zfs", redo, &places.marker, journal)?;
        }
        redo_group = Some((redo, places.redo.len()));
    }
    // Labels, metaslabs that are cut to size, metadata: none of it exact.
    let usable_bytes = plan::zfs_room(zfs, bytes, places.data.len() as u64) / 100 * 96;
    Ok(Built {
        data: vec![Place::Grouped("data".to_owned())],
        redo: Place::Grouped("redo".to_owned()),
        devices: places.data.iter().chain(&places.redo).cloned().collect(),
        mounts: Vec::new(),
        layers: layers("zfs", &places.data),
        facts: vec![(
            "way to OpenZFS".to_owned(),
            "userspace: its library in a process of its own".to_owned(),
        )],
        uuid,
        redo_group,
        usable_bytes,
        made: Vec::new(),
        mark,
    })
}
