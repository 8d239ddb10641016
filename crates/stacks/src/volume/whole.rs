//! Whether the copies of a volume are the same and its parity is right, and the wait for it.
//!
//! Asks the kernel. Prevents: a phase that shares the disks with copies which the kernel still makes.

use super::commands::RESYNC_LIMIT;
use super::mapped::Kernel;
use super::{lvm, mapped};
use crate::error::StackError;
use crate::run::Run;
use plan::{LvmLayout, Manager, MdLevel};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until the copies of the volume with this UUID are the same, and its parity is right. `device`: for messages.
pub(super) fn wait_until_whole(manager: &Manager, uuid: &[u8; 16], device: &Path, run: &Run) -> Result<(), StackError> {
    let start = Instant::now();
    let failed = |e| StackError::path("look at", device, e, "see the kernel log (dmesg)");
    while !is_whole(manager, uuid, &failed)? {
        run.goes_on()?;
        if start.elapsed() > RESYNC_LIMIT {
            let late = io::Error::from(io::ErrorKind::TimedOut);
            let cure = "write resync = \"assume\", or use smaller LUNs";
            return Err(StackError::path("wait for the copies of", device, late, cure));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn is_whole(manager: &Manager, uuid: &[u8; 16], failed: &dyn Fn(io::Error) -> StackError) -> Result<bool, StackError> {
    let kernel = mapped::here();
    match manager {
        Manager::Lvm(asked) if asked.layout == LvmLayout::Raid1 => {
            let names = names_of(kernel, uuid).map_err(failed)?;
            Ok(lvm::status(&mirror(&names, uuid))?.is_some_and(|status| status.is_in_step()))
        }
        Manager::Md(asked) if asked.level != MdLevel::Raid0 => {
            let array = kernel.array_of(uuid);
            array.and_then(|array| has_all(kernel, &array)).map_err(failed)
        }
        Manager::Lvm(_) | Manager::Md(_) => Ok(true),
    }
}

/// The mappings of a group; none: it is not started.
pub(super) fn names_of(kernel: Kernel<'_>, uuid: &[u8; 16]) -> io::Result<Vec<String>> {
    let mappings = kernel.mappings_of(&lvm::group(uuid))?;
    Ok(mappings.into_iter().map(|mapping| mapping.name).collect())
}

/// The mapping that has the copies of a mirror: below a snapshot it has another name.
pub(super) fn mirror(names: &[String], uuid: &[u8; 16]) -> String {
    let volume = lvm::mapping(uuid);
    let origin = lvm::origin(&volume);
    if names.contains(&origin) { origin } else { volume }
}

/// Whether all LUNs of an array hold all of it, and the kernel has nothing to put right. It does something only once it
/// has begun: where it has to is in `resync_start`, and a LUN that is to be filled is lacking until then.
fn has_all(kernel: Kernel<'_>, array: &Path) -> io::Result<bool> {
    let from = kernel.of_array(array, "resync_start")?;
    let lacks = kernel
        .of_array(array, "degraded")?
        .parse()
        .is_ok_and(|luns: u32| luns > 0);
    Ok(from == "none" && !lacks && kernel.action_of(array)? == "idle")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::recorded::{Root, Scene};

    fn laid_out(scene: &str) -> Root {
        Scene::of(scene).laid_out()
    }

    #[test]
    fn an_array_rests_when_nothing_is_put_right_or_will_be() {
        for (scene, rests) in [
            ("md-raid1", true),
            ("md-raid1-sync", false),
            ("md-raid1-lost", false),
            ("md-raid1-recover", false),
            ("md-raid1-replace", false),
            ("md-raid10", true),
            ("md-raid10-sync", false),
            ("md-raid5", true),
            ("md-raid5-sync", false),
            ("md-raid5-check", false),
            ("md-raid5-mismatch", true),
        ] {
            let root = laid_out(scene);
            let at_rest = has_all(root.kernel(), &root.array());
            assert_eq!(at_rest.expect("the kernel says it"), rests, "{scene}");
        }
        // It has to begin at the first sector, and has not begun.
        let root = laid_out("md-raid5");
        root.put("sys/block/md127/md/resync_start", "0\n");
        assert!(!has_all(root.kernel(), &root.array()).expect("the kernel says it"));
        let plain = laid_out("md-raid0");
        assert!(
            has_all(plain.kernel(), &plain.array()).is_err(),
            "it never puts anything right"
        );
    }
}
