//! What the module does with `O_DIRECT`: seen at the devices, not believed by the flag that an open was granted.
//!
//! OpenZFS up to 2.2 grants the flag and reads through its ARC all the same; from 2.3 on what is aligned goes around it. Takes a pool, gives
//! which of the two it is: on a dataset whose data the ARC keeps, what was just written is read again, and either the devices move it or they
//! do not. Prevents: a database's cache beside an ARC that nobody said was there.

use super::commands::{Commands, PoolPlan};
use crate::error::StackError;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes written and read again: whole records of any size, and little beside any ARC.
const PROBE_BYTES: usize = 4 << 20;
/// What direct I/O has to be aligned to, where it is honoured.
const PAGE: usize = 4096;
/// In the kernel's line of a device: sectors of 512 bytes that were read.
const SECTORS_READ: usize = 2;

/// Whether reads with `O_DIRECT` go around the cache. It is the module's nature, so one look serves the whole run.
pub(crate) fn seen(commands: &Commands, pool: &PoolPlan, dir: &Path, lock: &File) -> Result<bool, StackError> {
    static SEEN: OnceLock<bool> = OnceLock::new();
    if let Some(seen) = SEEN.get() {
        return Ok(*seen);
    }
    let (name, place) = (format!("{}/probe", pool.name), dir.join("probe"));
    let failed = |e: io::Error| StackError::path("look for O_DIRECT at", &place, e, "check the kernel log (dmesg)");
    std::fs::create_dir(&place).map_err(failed)?;
    commands.create_cached(&name, &place, lock)?;
    let file = place.join("probe");
    write(&file).map_err(failed)?;
    commands.sync(&pool.name, 0)?;
    let moved = read_again(&file, &pool.data).map_err(failed)?;
    commands.destroy_dataset(&name, lock)?;
    std::fs::remove_dir(&place).map_err(failed)?;
    // Whoever else reads from these devices reads little: they are the pool's alone.
    Ok(*SEEN.get_or_init(|| moved > PROBE_BYTES as u64 / 2))
}

/// Memory of whole pages, found in a larger one: (all, where they begin).
fn pages() -> (Vec<u8>, usize) {
    let all: Vec<u8> = (0..PROBE_BYTES + PAGE).map(|at| (at % 251) as u8 | 1).collect();
    let begin = all.as_ptr().align_offset(PAGE);
    (all, begin)
}

fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC | more;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

fn write(path: &Path) -> io::Result<()> {
    let file = open(path, OFlags::CREATE | OFlags::EXCL)?;
    let (all, begin) = pages();
    file.write_all_at(&all[begin..begin + PROBE_BYTES], 0)?;
    file.sync_all()
}

/// Bytes that the devices moved to read the file once.
fn read_again(path: &Path, devices: &[PathBuf]) -> io::Result<u64> {
    let file = open(path, OFlags::empty())?;
    let (mut all, begin) = pages();
    let before = bytes_read(devices)?;
    file.read_exact_at(&mut all[begin..begin + PROBE_BYTES], 0)?;
    Ok(bytes_read(devices)? - before)
}

/// What the kernel counts of these devices, partitions of them included.
fn bytes_read(devices: &[PathBuf]) -> io::Result<u64> {
    let mut sum = 0;
    for device in devices {
        let number = std::fs::metadata(device)?.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let line = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat"))?;
        let told = line.split_whitespace().nth(SECTORS_READ);
        let sectors: u64 = told
            .and_then(|told| told.parse().ok())
            .ok_or_else(|| io::Error::other(format!("{}: no count of sectors", device.display())))?;
        sum += sectors * 512;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_aligned_and_holds_no_zeros_that_a_pool_would_leave_out() {
        let (all, begin) = pages();
        assert!((all.as_ptr() as usize + begin).is_multiple_of(PAGE));
        assert!(all[begin..begin + PROBE_BYTES].iter().all(|byte| *byte != 0));
    }
}
