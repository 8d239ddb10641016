//! How a volume is: LUNs that it has lost, and parity that does not match its data.
//!
//! Asks the kernel. Prevents: work on half of a mirror that passes for work on both, and a write hole that nobody sees
//! because no LUN was lost with the power.

use super::commands::RESYNC_LIMIT;
use super::mapped::Kernel;
use super::said::RaidStatus;
use super::{Made, lvm, mapped};
use crate::built::Built;
use crate::error::StackError;
use plan::{LvmLayout, Manager, MdLevel};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SECTOR: u64 = 512;

/// LUNs that the volumes of a stack have lost, in words: they go on with the copies or the parity that is left.
pub fn lost_members(built: &Built) -> Option<String> {
    built.volumes.iter().find_map(Made::lost)
}

/// Bytes, at least, of the stripes whose parity did not match their data when the stack came up: read once the kernel
/// has put all of them right. What recovery overwrote before has right parity by then and is not counted. A LUN lost in
/// that time would have been computed wrong there. `None`: nothing of the stack has parity.
///
/// # Errors
/// An array that is gone, or is never at rest.
pub fn stale_parity(built: &Built) -> Result<Option<u64>, StackError> {
    let with_parity = |volume: &&Made| matches!(&volume.manager, Manager::Md(md) if md.level == MdLevel::Raid5);
    let kernel = mapped::here();
    let mut stale = None;
    for volume in built.volumes.iter().filter(with_parity) {
        let device = volume.device();
        let failed = |e| StackError::path("look at", &device, e, "see the kernel log (dmesg)");
        let array = kernel.array_of(&volume.uuid).map_err(failed)?;
        wait_for_rest(kernel, &array).map_err(failed)?;
        stale = Some(stale.unwrap_or(0) + unmatched(kernel, &array).map_err(failed)?);
    }
    Ok(stale)
}

/// Waits until the kernel has nothing to put right.
fn wait_for_rest(kernel: Kernel<'_>, array: &Path) -> io::Result<()> {
    let start = Instant::now();
    while !is_at_rest(kernel, array)? {
        if start.elapsed() > RESYNC_LIMIT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether the kernel has nothing to put right. It says so only once it has begun: where it has to is in
/// `resync_start`.
fn is_at_rest(kernel: Kernel<'_>, array: &Path) -> io::Result<bool> {
    let from = kernel.of_array(array, "resync_start")?;
    Ok(from == "none" && kernel.action_of(array)? == "idle")
}

/// Bytes of the stripes whose parity the kernel has found not to match.
fn unmatched(kernel: Kernel<'_>, array: &Path) -> io::Result<u64> {
    let text = kernel.of_array(array, "mismatch_cnt")?;
    let sectors: u64 = text.parse().map_err(io::Error::other)?;
    sectors
        .checked_mul(SECTOR)
        .ok_or_else(|| io::Error::other(format!("no array has {sectors} sectors")))
}

impl Made {
    fn lost(&self) -> Option<String> {
        match &self.manager {
            Manager::Lvm(asked) if asked.layout == LvmLayout::Raid1 => {
                lost_copies(&lvm::status(&lvm::mapping(&self.uuid)).ok().flatten()?)
            }
            Manager::Lvm(_) => None,
            Manager::Md(_) => lost_of_array(mapped::here(), &self.uuid, &self.paths()),
        }
    }
}

fn lost_copies(status: &RaidStatus) -> Option<String> {
    let lost = status.lost;
    (lost > 0).then(|| format!("LVM lost {lost} of the copies"))
}

/// LUNs that the array with this UUID lacks, by their names where it still knows them.
fn lost_of_array(kernel: Kernel<'_>, uuid: &[u8; 16], luns: &[PathBuf]) -> Option<String> {
    let array = kernel.array_of(uuid).ok()?;
    // raid0 says nothing of it.
    let missing: u32 = kernel.of_array(&array, "degraded").ok()?.parse().ok()?;
    let faulty = |lun: &&PathBuf| kernel.state_in(&array, lun).is_some_and(|state| is_faulty(&state));
    let names: Vec<String> = luns
        .iter()
        .filter(faulty)
        .map(|lun| lun.display().to_string())
        .collect();
    let which = if names.is_empty() {
        format!("{missing} of its LUNs")
    } else {
        names.join(", ")
    };
    (missing > 0).then(|| format!("md lost {which}"))
}

/// Whether the state of a LUN in an array says that it is lost to it.
pub(super) fn is_faulty(state: &str) -> bool {
    state.split(',').any(|word| word == "faulty")
}

/// A LUN of an array that holds all of it.
pub(super) fn is_in_sync(state: &str) -> bool {
    state.split(',').any(|word| word == "in_sync") && !is_faulty(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::recorded::{Root, Scene, UUID};
    use crate::volume::said::raid_status;

    fn laid_out(scene: &str) -> Root {
        Scene::of(scene).laid_out()
    }

    #[test]
    fn an_array_says_what_it_has_lost_by_name_while_it_knows_it() {
        for (scene, expected) in [
            ("md-raid0", None),
            ("md-raid1", None),
            ("md-raid1-sync", None),
            ("md-raid1-replace", None),
            // The old LUN is called faulty now, and nothing is lacking.
            ("md-raid1-replaced", None),
            ("md-raid1-lost", Some("ubdc")),
            ("md-raid1-write-error", Some("loop0")),
            ("md-raid1-removed", Some("1 of its LUNs")),
            ("md-raid1-recover", Some("1 of its LUNs")),
            ("md-raid10", None),
            ("md-raid5", None),
            ("md-raid5-replaced", None),
            ("md-raid5-lost", Some("ubdc")),
            ("md-raid5-removed", Some("1 of its LUNs")),
        ] {
            let root = laid_out(scene);
            let luns = ["ubdb", "ubdc", "ubdd", "ubde", "loop0"].map(|name| root.lun(name));
            let lost = lost_of_array(root.kernel(), &UUID, &luns);
            let shown = lost.map(|lost| lost.replace(&format!("{}/", root.at("dev").display()), ""));
            let expected = expected.map(|which| format!("md lost {which}"));
            assert_eq!(shown, expected, "{scene}");
        }
    }

    #[test]
    fn a_lun_whose_name_is_gone_is_lost_without_one() {
        let root = laid_out("md-raid1-lost");
        let gone = [root.at("dev/ubdc"), root.at("dev/ubde")];
        let lost = lost_of_array(root.kernel(), &UUID, &gone);
        assert_eq!(lost.as_deref(), Some("md lost 1 of its LUNs"));
        // While an array changes its form, the kernel may count less than none.
        root.put("sys/block/md127/md/degraded", "-1\n");
        assert_eq!(lost_of_array(root.kernel(), &UUID, &gone), None);
        assert_eq!(lost_of_array(root.kernel(), &[0xee; 16], &gone), None);
    }

    #[test]
    fn a_mirror_of_lvm_says_how_many_copies_it_has_lost() {
        let lost = |scene: &str| {
            let said = Scene::of(scene).status("data");
            lost_copies(&raid_status(&said[0]).expect("a raid"))
        };
        assert_eq!(lost("lvm-raid1-lost").as_deref(), Some("LVM lost 1 of the copies"));
        assert_eq!(lost("lvm-raid1-repair"), None);
    }

    #[test]
    fn an_array_rests_when_nothing_is_put_right_or_will_be() {
        for (scene, rests) in [
            ("md-raid1", true),
            ("md-raid1-sync", false),
            ("md-raid1-lost", true),
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
            let at_rest = is_at_rest(root.kernel(), &root.array());
            assert_eq!(at_rest.expect("the kernel says it"), rests, "{scene}");
        }
        // It has to begin at the first sector, and has not begun.
        let root = laid_out("md-raid5");
        root.put("sys/block/md127/md/resync_start", "0\n");
        assert!(!is_at_rest(root.kernel(), &root.array()).expect("the kernel says it"));
        let plain = laid_out("md-raid0");
        assert!(
            is_at_rest(plain.kernel(), &plain.array()).is_err(),
            "it never puts anything right"
        );
    }

    #[test]
    fn stripes_whose_parity_does_not_match_are_counted_in_bytes() {
        let root = laid_out("md-raid5-mismatch");
        let array = root.array();
        assert_eq!(unmatched(root.kernel(), &array).expect("counted"), 77_824 * 512);
        for odd in ["", "-8", "none", "18446744073709551615"] {
            root.put("sys/block/md127/md/mismatch_cnt", odd);
            assert!(unmatched(root.kernel(), &array).is_err(), "{odd:?}");
        }
        let whole = laid_out("md-raid5");
        assert_eq!(unmatched(whole.kernel(), &whole.array()).expect("counted"), 0);
    }

    #[test]
    fn faulty_is_a_word_and_not_a_part_of_one() {
        assert!(is_faulty("faulty") && is_faulty("faulty,write_error") && is_faulty("blocked,faulty"));
        for state in [
            "",
            "in_sync",
            "in_sync,want_replacement",
            "spare,replacement",
            "nonfaulty",
        ] {
            assert!(!is_faulty(state), "{state}");
        }
    }
}
