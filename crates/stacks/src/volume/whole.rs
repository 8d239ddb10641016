//! Whether the copies of a volume are the same and its parity is right, and the wait for it.
//!
//! Asks the kernel. Prevents: a phase that shares the disks with copies which the kernel still makes.

use super::commands::{PATIENCE, RESYNC_LIMIT};
use super::mapped::Kernel;
use super::said::is_faulty;
use super::{lvm, mapped};
use crate::error::StackError;
use crate::run::Run;
use plan::{LvmLayout, Manager, MdLevel};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How far a volume is.
enum Copies {
    /// They are the same, and parity is right.
    Same,
    /// The kernel makes them so.
    Coming,
    /// They will not be, as it looks now, and why.
    Lost(String),
}

/// Waits until the copies of the volume with this UUID are the same, and its parity is right. `device`: for messages.
pub(super) fn wait_until_whole(manager: &Manager, uuid: &[u8; 16], device: &Path, run: &Run) -> Result<(), StackError> {
    let start = Instant::now();
    // A kernel that has just begun may still say what was before: it has time to change its word.
    let mut lost_since = None;
    let failed = |e| StackError::path("wait for the copies of", device, e, "see the kernel log (dmesg)");
    loop {
        match copies(manager, uuid, &failed)? {
            Copies::Same => return Ok(()),
            Copies::Coming => lost_since = None,
            Copies::Lost(why) if lost_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE => {
                let cure = "replace the LUN; the kernel log (dmesg) may say what ails it";
                return Err(StackError::path(
                    "wait for the copies of",
                    device,
                    io::Error::other(why),
                    cure,
                ));
            }
            Copies::Lost(_) => {}
        }
        run.goes_on()?;
        if start.elapsed() > RESYNC_LIMIT {
            let late = io::Error::from(io::ErrorKind::TimedOut);
            let cure = "write resync = \"assume\", or use smaller LUNs";
            return Err(StackError::path("wait for the copies of", device, late, cure));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn copies(manager: &Manager, uuid: &[u8; 16], failed: &dyn Fn(io::Error) -> StackError) -> Result<Copies, StackError> {
    let kernel = mapped::here();
    match manager {
        Manager::Lvm(asked) if asked.layout == LvmLayout::Raid1 => {
            let names = names_of(kernel, uuid).map_err(failed)?;
            Ok(
                lvm::status(&mirror(&names, uuid))?.map_or(Copies::Coming, |status| match status.lost {
                    0 if status.is_in_step() => Copies::Same,
                    0 => Copies::Coming,
                    lost => Copies::Lost(format!("LVM lost {lost} of the copies")),
                }),
            )
        }
        Manager::Md(asked) if asked.level != MdLevel::Raid0 => {
            let array = kernel.array_of(uuid);
            array.and_then(|array| of_array(kernel, &array)).map_err(failed)
        }
        Manager::Lvm(_) | Manager::Md(_) => Ok(Copies::Same),
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
/// has begun: where it has to is in `resync_start`, and a LUN that is to be filled is lacking until then. One that the
/// array has given up, or that is lacking while nothing is filled, is lost.
fn of_array(kernel: Kernel<'_>, array: &Path) -> io::Result<Copies> {
    let from = kernel.of_array(array, "resync_start")?;
    let lacking: u32 = kernel.of_array(array, "degraded")?.parse().unwrap_or(0);
    let is_idle = kernel.action_of(array)? == "idle";
    let mut members = kernel.members_of(array).into_iter();
    let faulty = members.find(|(_, state)| is_faulty(state));
    Ok(match (lacking, faulty) {
        (0, _) if from == "none" && is_idle => Copies::Same,
        (1.., Some((lun, _))) => Copies::Lost(format!("md lost {lun}")),
        (1.., None) if is_idle => Copies::Lost(format!("md lost {lacking} of its LUNs")),
        _ => Copies::Coming,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::recorded::{Root, Scene};

    fn laid_out(scene: &str) -> Root {
        Scene::of(scene).laid_out()
    }

    fn is_same(root: &Root) -> bool {
        matches!(of_array(root.kernel(), &root.array()), Ok(Copies::Same))
    }

    #[test]
    fn an_array_that_has_lost_a_lun_is_not_waited_for() {
        for (scene, expected) in [
            ("md-raid1-recover", None),
            ("md-raid5-recover", None),
            ("md-raid1-replace", None),
            ("md-raid1-lost", Some("md lost ubdc")),
            ("md-raid1-write-error", Some("md lost loop0")),
            ("md-raid5-lost", Some("md lost ubdc")),
            ("md-raid5-removed", Some("md lost 1 of its LUNs")),
        ] {
            let root = laid_out(scene);
            let why = match of_array(root.kernel(), &root.array()).expect("the kernel says it") {
                Copies::Lost(why) => Some(why),
                Copies::Same => panic!("{scene} is not whole"),
                Copies::Coming => None,
            };
            assert_eq!(why.as_deref(), expected, "{scene}");
        }
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
            assert_eq!(is_same(&root), rests, "{scene}");
        }
        // It has to begin at the first sector, and has not begun.
        let root = laid_out("md-raid5");
        root.put("sys/block/md127/md/resync_start", "0\n");
        assert!(!is_same(&root));
        let plain = laid_out("md-raid0");
        assert!(
            of_array(plain.kernel(), &plain.array()).is_err(),
            "it never puts anything right"
        );
    }
}
