//! A stack whose LUNs lost their power, or that was forced down: taken down without asking, brought up again as an
//! administrator would, or made anew.
//!
//! Takes a [`Built`] stack; its devices come back under the same names. The steps that the journal holds stay valid:
//! mount points and signatures are the same. Prevents: a power cut that is followed by an orderly unmount, which no
//! power cut is.

use crate::built::Built;
use crate::device;
use crate::error::StackError;
use crate::filesystem::recipe;
use crate::ground::Ground;
use crate::host::mounts;
use crate::journal::Journal;
use crate::volume;
use plan::Stack;
use rustix::io::Errno;
use std::path::Path;

/// Unmounts what stands on devices without power, or was forced down. It fails to write whatever it had not written,
/// and must not wait for it.
///
/// # Errors
/// A mount that stays: something still has a file open on it. A file system that another mount namespace holds.
pub fn power_off(built: &Built) -> Result<(), StackError> {
    built.held.let_go();
    if let Some(pool) = built.ground.mounted_pool() {
        pool.power_off()?;
    }
    for made in built.made.iter().rev() {
        let cure = "end what uses it, and run `assay clean`";
        mounts::unmount_forgiving(made.place.path(), &[Errno::IO])
            .map_err(|e| StackError::path("unmount after the cut", made.place.path(), e, cure))?;
        // Mounted again, it would be the dead file system that comes back, and not what the devices hold.
        for path in made.devices.iter().filter(|path| device::is_block(path)) {
            let cure = "another mount namespace holds its file system: find it in /proc/*/mountinfo, end what runs \
                there, and run `assay clean`";
            device::wait_until_free(path).map_err(|e| StackError::path("wait until nobody has", path, e, cure))?;
        }
    }
    built.volumes.iter().try_for_each(volume::Made::stop)
}

/// Mounts the file systems again: the kernel replays their journals, and who runs the pools their intent logs. Tools
/// hold the journal meanwhile: after a kill, a clean-up waits for one that still starts a volume.
///
/// # Errors
/// A file system that can't be mounted any more.
pub fn power_on(stack: &Stack, built: &Built, journal: &Journal) -> Result<(), StackError> {
    built.held.take()?;
    let run = journal.run();
    if let Some(pool) = built.ground.mounted_pool() {
        return pool.power_on(run);
    }
    built.volumes.iter().try_for_each(|volume| volume.start(run))?;
    for made in &built.made {
        let Some(mut recipe) = recipe(&stack.kind, &made.devices, &made.uuid) else {
            continue;
        };
        let device = &made.devices[0];
        let mounted = recipe.mount(device, &made.place);
        mounted.map_err(|error| error.of_mount(device, made.place.path()))?;
    }
    Ok(())
}

/// Makes the stack anew over what is there: for one that a power cut has destroyed. Nothing of it may be mounted.
///
/// # Errors
/// As a build.
pub fn make_anew(stack: &Stack, built: &Built, marker: &str, journal: &Journal) -> Result<(), StackError> {
    let clear = |path: &Path| {
        let cure = "it must be free: unmount it or stop what uses it";
        device::claim(path, marker, journal.run_id()).map_err(|e| StackError::path("clear", path, e, cure))
    };
    for volume in &built.volumes {
        volume.make_anew(marker, journal)?;
    }
    for made in &built.made {
        let Some(mut recipe) = recipe(&stack.kind, &made.devices, &made.uuid) else {
            continue;
        };
        made.devices.iter().try_for_each(|path| clear(path))?;
        recipe.make(journal.run())?;
    }
    if let Some(owners) = built.ground.owners() {
        let devices = built.devices.iter().enumerate();
        for (nth, path) in devices.filter(|(_, path)| device::is_block(path)) {
            if let Ground::MountedPool { .. } = built.ground {
                // Its labels, and the partitions that the module's tools make of a whole disk, which the kernel would
                // keep in its list.
                let uuid = owners.of(nth >= built.data_devices);
                let cure = "it must be free: export the pool on it";
                device::release(path, "zfs", uuid, marker, journal.run_id())
                    .map_err(|e| StackError::path("wipe the pool on", path, e, cure))?;
            }
            clear(path)?;
        }
    }
    match built.ground.mounted_pool() {
        Some(pool) => pool.make_anew(journal.run()),
        None => power_on(stack, built, journal),
    }
}
