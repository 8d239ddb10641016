//! How a volume is: LUNs that it has lost, and parity that does not match its data.
//!
//! Asks the kernel. Prevents: work on half of a mirror that passes for work on both, and a write hole that nobody sees
//! because no LUN was lost with the power.

use super::mapped::Kernel;
use super::said::{RaidStatus, is_faulty, raid_status, snapshot_ended};
use super::whole::{mirror, names_of, wait_until_whole};
use super::{Made, lvm, mapped};
use crate::built::Built;
use crate::error::StackError;
use crate::journal::Journal;
use plan::{LvmLayout, Manager, MdLevel};
use std::io;
use std::path::{Path, PathBuf};

const SECTOR: u64 = 512;

/// LUNs that the volumes of a stack have lost, in words: they go on with the copies or the parity that is left.
pub fn lost_members(built: &Built) -> Option<String> {
    built.volumes.iter().find_map(Made::lost)
}

/// The check of all copies or parity that the kernel does for somebody else, in words: distributions plan one a month.
pub fn checked_by_others(built: &Built) -> Option<String> {
    let kernel = mapped::here();
    let arrays = built
        .volumes
        .iter()
        .filter(|volume| matches!(volume.manager, Manager::Md(_)));
    arrays
        .filter_map(|volume| kernel.array_of(&volume.uuid).ok())
        .find_map(|array| check_of(kernel, &array))
}

fn check_of(kernel: Kernel<'_>, array: &Path) -> Option<String> {
    let action = kernel.action_of(array).ok()?;
    matches!(action.as_str(), "check" | "repair")
        .then(|| format!("md does a {action} of the array for somebody else: wait until it is over, and run again"))
}

/// Bytes, at least, of the stripes whose parity did not match their data when the stack came up: read once the kernel
/// has put all of them right. What recovery overwrote before has right parity by then and is not counted. A LUN lost in
/// that time would have been computed wrong there. `None`: nothing of the stack has parity.
///
/// # Errors
/// An array that is gone, or is never at rest.
pub fn stale_parity(built: &Built, journal: &Journal) -> Result<Option<u64>, StackError> {
    let with_parity = |volume: &&Made| matches!(&volume.manager, Manager::Md(md) if md.level == MdLevel::Raid5);
    let kernel = mapped::here();
    let mut stale = None;
    for volume in built.volumes.iter().filter(with_parity) {
        let device = volume.device();
        wait_until_whole(&volume.manager, &volume.uuid, &device, journal.run())?;
        let failed = |e| StackError::path("look at", &device, e, "see the kernel log (dmesg)");
        let array = kernel.array_of(&volume.uuid).map_err(failed)?;
        stale = Some(stale.unwrap_or(0) + unmatched(kernel, &array).map_err(failed)?);
    }
    Ok(stale)
}

/// Waits until the volumes of a stack have put right what a power cut left: a phase beside that would measure both. A
/// volume that has lost a LUN puts nothing right, and is not waited for.
///
/// # Errors
/// As [`stale_parity`]; [`StackError::Ended`] once the run is to end.
pub fn settle(built: &Built, journal: &Journal) -> Result<(), StackError> {
    let mut whole = built.volumes.iter().filter(|volume| volume.lost().is_none());
    whole.try_for_each(|volume| wait_until_whole(&volume.manager, &volume.uuid, &volume.device(), journal.run()))
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
            Manager::Lvm(asked) => lost_of_group(asked.layout, &self.uuid, mapped::here(), &lvm::said),
            Manager::Md(_) => lost_of_array(mapped::here(), &self.uuid, &self.paths()),
        }
    }
}

/// What a volume of LVM has lost: copies, or its snapshot, which the kernel drops where its room is full or its LUN has
/// gone.
fn lost_of_group(
    layout: LvmLayout,
    uuid: &[u8; 16],
    kernel: Kernel<'_>,
    said: &dyn Fn(&str) -> Result<String, StackError>,
) -> Option<String> {
    let names = names_of(kernel, uuid).ok()?;
    let status = |name: &String| match said(name) {
        Ok(status) => Ok(status),
        Err(e) => Err(format!("what LVM lost can't be asked: {e}")),
    };
    let (mirror, kept) = (mirror(&names, uuid), lvm::kept(uuid));
    if layout == LvmLayout::Raid1 && names.contains(&mirror) {
        match status(&mirror).map(|status| raid_status(&status)) {
            Ok(Some(RaidStatus { lost: lost @ 1.., .. })) => return Some(format!("LVM lost {lost} of the copies")),
            Ok(_) => {}
            Err(why) => return Some(why),
        }
    }
    let kept = names.contains(&kept).then(|| status(&kept))?;
    match kept {
        Ok(status) => snapshot_ended(&status).map(|word| format!("the snapshot has ended ({word})")),
        Err(why) => Some(why),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::recorded::{Root, Scene, UUID};

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
    fn a_check_that_somebody_began_is_seen_and_work_of_the_array_is_none() {
        for (scene, expected) in [
            (
                "md-raid5-check",
                Some("md does a check of the array for somebody else: wait until it is over, and run again"),
            ),
            ("md-raid5", None),
            ("md-raid5-sync", None),
            ("md-raid1-recover", None),
            ("md-raid0", None),
        ] {
            let root = laid_out(scene);
            assert_eq!(check_of(root.kernel(), &root.array()).as_deref(), expected, "{scene}");
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

    /// What `dmsetup status` said of a mapping in a scene.
    fn said_in<'a>(scene: &'a Scene) -> impl Fn(&str) -> Result<String, StackError> + 'a {
        |name| {
            let volume = name.rsplit('-').next().unwrap_or_default();
            let said = scene.status(volume).into_iter().next();
            said.ok_or_else(|| StackError::path("ask", Path::new(name), io::ErrorKind::NotFound, "cure"))
        }
    }

    #[test]
    fn copies_that_lvm_lost_are_seen_also_below_a_snapshot() {
        for (name, layout, expected) in [
            ("lvm-raid1", LvmLayout::Raid1, None),
            ("lvm-raid1-lost", LvmLayout::Raid1, Some("LVM lost 1 of the copies")),
            ("lvm-raid1-repair", LvmLayout::Raid1, None),
            ("lvm-cow", LvmLayout::Striped, None),
            ("lvm-linear", LvmLayout::Linear, None),
        ] {
            let scene = Scene::of(name);
            let root = scene.laid_out();
            let lost = lost_of_group(layout, &UUID, root.kernel(), &said_in(&scene));
            assert_eq!(lost.as_deref(), expected, "{name}");
        }
        let scene = Scene::of("lvm-raid1-lost");
        let root = scene.laid_out();
        root.put("sys/block/dm-90/dm/name", &format!("{}-real", lvm::mapping(&UUID)));
        root.put("sys/block/dm-90/dm/uuid", "LVM-a-real");
        let said = |name: &str| match name.strip_suffix("-real") {
            Some(name) => said_in(&scene)(name),
            None => Ok("0 221184 snapshot-origin \n".to_owned()),
        };
        let lost = lost_of_group(LvmLayout::Raid1, &UUID, root.kernel(), &said);
        assert_eq!(lost.as_deref(), Some("LVM lost 1 of the copies"));
    }

    #[test]
    fn a_snapshot_that_keeps_nothing_any_more_is_lost() {
        let root = laid_out("lvm-cow");
        let lost = |status: &'static str| {
            let said = move |_: &str| Ok(format!("0 221184 {status}\n"));
            lost_of_group(LvmLayout::Striped, &UUID, root.kernel(), &said)
        };
        assert_eq!(lost("snapshot 256/139264 256"), None);
        for word in ["Invalid", "Overflow"] {
            let words = lost(if word == "Invalid" {
                "snapshot Invalid"
            } else {
                "snapshot Overflow"
            });
            assert_eq!(words, Some(format!("the snapshot has ended ({word})")));
        }
        let silent = |_: &str| {
            Err(StackError::path(
                "run",
                Path::new("dmsetup"),
                io::ErrorKind::NotFound,
                "cure",
            ))
        };
        let words = lost_of_group(LvmLayout::Striped, &UUID, root.kernel(), &silent).expect("it can't be asked");
        assert!(
            words.starts_with("what LVM lost can't be asked: run dmsetup"),
            "{words}"
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
}
