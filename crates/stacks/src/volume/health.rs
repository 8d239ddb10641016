//! How a volume is: LUNs that it has lost, and parity that does not match its data.
//!
//! Asks the kernel. Prevents: work on half of a mirror that passes for work on both, and a write hole that nobody sees
//! because no LUN was lost with the power.

use super::commands::RESYNC_LIMIT;
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
    let mut stale = None;
    for volume in built.volumes.iter().filter(with_parity) {
        let device = volume.device();
        let failed = |e| StackError::path("look at", &device, e, "see the kernel log (dmesg)");
        let array = mapped::array_of(&volume.uuid).map_err(failed)?;
        at_rest(&array).map_err(failed)?;
        let sectors: u64 = mapped::of_array(&array, "mismatch_cnt")
            .and_then(|text| text.parse().map_err(io::Error::other))
            .map_err(failed)?;
        stale = Some(stale.unwrap_or(0) + sectors * SECTOR);
    }
    Ok(stale)
}

/// Waits until the kernel has nothing to put right. It says so only once it has begun: where it has to is in
/// `resync_start`.
fn at_rest(array: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let from = mapped::of_array(array, "resync_start")?;
        if from == "none" && mapped::action_of(array)? == "idle" {
            return Ok(());
        }
        if start.elapsed() > RESYNC_LIMIT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Made {
    fn lost(&self) -> Option<String> {
        match &self.manager {
            Manager::Lvm(asked) if asked.layout == LvmLayout::Raid1 => {
                let lost = lvm::status(&lvm::mapping(&self.uuid)).ok().flatten()?.lost;
                (lost > 0).then(|| format!("LVM lost {lost} of the copies"))
            }
            Manager::Lvm(_) => None,
            Manager::Md(_) => {
                let array = mapped::array_of(&self.uuid).ok()?;
                // raid0 says nothing of it.
                let missing: u32 = mapped::of_array(&array, "degraded").ok()?.parse().ok()?;
                let faulty = |lun: &&PathBuf| mapped::state_in(&array, lun).is_some_and(|state| is_faulty(&state));
                let luns = self.paths();
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
        }
    }
}

/// Whether the state of a LUN in an array says that it is lost to it.
pub(super) fn is_faulty(state: &str) -> bool {
    state.split(',').any(|word| word == "faulty")
}
