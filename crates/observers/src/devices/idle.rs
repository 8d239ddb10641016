//! Whether devices have come to rest, and making a file system durable: the end of a phase.
//!
//! Takes names of devices, gives an answer or waits for it. A device rests when nothing is in flight and nothing was
//! completed over a window. Others' I/O on the same device counts too: on a shared disk rest may never come, and the
//! answer says which device was busy.
//! Prevents: a phase being called done while its writes are still on their way.

use std::path::Path;
use std::time::Duration;

use crate::devices::counters;
use crate::processes::own::monotonic_ns;
use crate::{DeviceCounters, ObserveError, Root};
use rustix::fs::{Mode, OFlags};

/// How long a device must do nothing to be called idle by [`wait_idle`].
const REST: Duration = Duration::from_millis(50);
/// How often [`wait_idle`] looks.
const STEP: Duration = Duration::from_millis(5);

/// What came of waiting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleWait {
    /// From the call to its return, the 50 ms of proof included.
    pub waited_ns: u64,
    /// From the call to the last look at which anything moved: what a drain took. 0 when nothing moved at all.
    pub settled_ns: u64,
    /// Whether all devices came to rest before the time was up.
    pub idle: bool,
    /// Devices that moved within the last 50 ms; empty when idle.
    pub busy: Vec<String>,
}

/// Whether nothing is in flight on any of the devices, and nothing is completed, for the length of `window`.
pub fn quiet(devices: &[String], window: Duration) -> Result<bool, ObserveError> {
    quiet_in(&Root::live(), devices, window)
}

/// [`quiet`] from given roots.
pub fn quiet_in(root: &Root, devices: &[String], window: Duration) -> Result<bool, ObserveError> {
    let before = look(root, devices)?;
    if before.iter().any(|counters| counters.in_flight > 0) {
        return Ok(false);
    }
    std::thread::sleep(window);
    let after = look(root, devices)?;
    Ok(before.iter().zip(&after).all(|(before, after)| at_rest(before, after)))
}

/// Waits until all devices have rested for 50 ms, at most about `timeout`.
pub fn wait_idle(devices: &[String], timeout: Duration) -> Result<IdleWait, ObserveError> {
    wait_idle_in(&Root::live(), devices, timeout)
}

/// [`wait_idle`] from given roots.
pub fn wait_idle_in(root: &Root, devices: &[String], timeout: Duration) -> Result<IdleWait, ObserveError> {
    let begin = monotonic_ns();
    let deadline = begin.saturating_add(nanos(timeout));
    let mut last = look(root, devices)?;
    // Rest is proved by looks alone: a moment that nobody looked at proves none, however late this thread was.
    let mut looked_at = monotonic_ns();
    // When each device was last seen to move; at the first look nobody knows.
    let mut moved_at = vec![looked_at; devices.len()];
    let mut settled_ns = 0;
    loop {
        let rested = |at: &u64| looked_at.saturating_sub(*at) >= nanos(REST);
        let idle = moved_at.iter().all(rested);
        let now = monotonic_ns();
        if idle || now >= deadline {
            let busy = devices
                .iter()
                .zip(&moved_at)
                .filter(|(_, at)| !rested(at))
                .map(|(name, _)| name.clone())
                .collect();
            return Ok(IdleWait {
                waited_ns: now.saturating_sub(begin),
                settled_ns,
                idle,
                busy,
            });
        }
        std::thread::sleep(STEP);
        let counters = look(root, devices)?;
        looked_at = monotonic_ns();
        for ((before, after), at) in last.iter().zip(&counters).zip(&mut moved_at) {
            if !at_rest(before, after) {
                *at = looked_at;
                settled_ns = looked_at.saturating_sub(begin);
            }
        }
        last = counters;
    }
}

fn at_rest(before: &DeviceCounters, after: &DeviceCounters) -> bool {
    after.in_flight == 0 && before.completed() == after.completed()
}

fn look(root: &Root, devices: &[String]) -> Result<Vec<DeviceCounters>, ObserveError> {
    devices.iter().map(|device| counters::read_one(root, device)).collect()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Makes all that was written to the file system of a place durable; for a block device, what was written to the
/// device.
///
/// The one call in this room, beside [`crate::BlockTrace`], that does more than read: it ends a phase, and no other
/// room waits for devices.
pub fn syncfs(path: &Path) -> Result<(), ObserveError> {
    use std::os::unix::fs::FileTypeExt;
    let failed = |source: std::io::Error| ObserveError::Sync {
        path: path.to_path_buf(),
        source,
    };
    // Without waiting: another user may have put a pipe in a file's place.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(std::io::Error::from);
    let file = opened.map(std::fs::File::from).map_err(|source| ObserveError::Place {
        path: path.to_path_buf(),
        source,
    })?;
    if file.metadata().map_err(failed)?.file_type().is_block_device() {
        // syncfs on a device's node would sync the file system that holds the node.
        return file.sync_all().map_err(failed);
    }
    rustix::fs::syncfs(&file).map_err(|errno| failed(errno.into()))
}
