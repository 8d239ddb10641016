//! A device while a stack is built on it: cleared of old signatures before, wiped of the stack's own after.
//!
//! A wipe knows its own: it happens only where the UUID that the journal holds stands in the superblock. So a journal
//! found after a reboot, when `/dev/sdb` is another disk and `/dev/loop3` somebody else's file, can't destroy anything.
//! What is left behind is a marker, by which the next run knows that the device is free to use.

use crate::tool::{Tool, argument};
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
const LOOP_MAJOR: u32 = 7;
/// Longest wait for a device that something still has: an orphaned mkfs, a file system that is just going.
const PATIENCE: Duration = Duration::from_secs(15);
/// The marker fills a sector of any disk.
const MARKER_BYTES: usize = 4096;
/// Further copies of the btrfs superblock (64 MiB, 256 GiB), which tools find when the first is gone.
const BTRFS_COPIES: [u64; 2] = [64 * MIB, 256 * 1024 * MIB];

/// Where a pool begins: with the device, or with the partition that is made of a whole disk, of 512-byte or 4 KiB
/// sectors.
const POOL_BEGINS: [u64; 3] = [0, MIB, 8 * MIB];
/// What may follow a pool's partition at the end of a disk.
const POOL_TAIL: u64 = 16 * MIB;

/// Where a file system, or a disk group, keeps its magic number and UUID: (offset of the magic, magic, offset of the
/// UUID).
fn superblock(kind: &str) -> Option<(u64, &'static [u8], u64)> {
    match kind {
        "ext3" | "ext4" => Some((0x438, b"\x53\xef", 0x468)),
        "xfs" => Some((0, b"XFSB", 32)),
        "btrfs" => Some((0x1_0040, b"_BHRfS_M", 0x1_0020)),
        "diskgroup" => Some((0, b"ADGB", 8)),
        // Version 1.2 of its superblock, which lies 4 KiB from the start.
        "md" => Some((0x1000, b"\xfc\x4e\x2b\xa9", 0x1010)),
        _ => None,
    }
}

/// Size of a block device in bytes.
pub(crate) fn size(path: &Path) -> io::Result<u64> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::fs::seek(&file, SeekFrom::End(0))?)
}

/// Whether `path` leads to a block device.
pub(crate) fn is_block(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|s| s.file_type().is_block_device())
}

/// Whether `path` leads to a loop device.
pub(crate) fn is_loop(path: &Path) -> bool {
    is_block(path) && std::fs::metadata(path).is_ok_and(|s| rustix::fs::major(s.rdev()) == LOOP_MAJOR)
}

/// Clears what would tell tools of an older owner, and leaves the marker. Fails when anybody else has the device.
pub(crate) fn claim(path: &Path, marker: &str, run_id: &str) -> io::Result<()> {
    clear(&exclusive(path, Duration::ZERO)?, marker, run_id)
}

/// Wipes the file system with this UUID, if it stands there. No such device, or another content: fine.
pub(crate) fn release(path: &Path, kind: &str, uuid: &[u8; 16], marker: &str, run_id: &str) -> io::Result<()> {
    if !is_block(path) || size(path)? == 0 {
        return Ok(());
    }
    let looped = is_loop(path);
    let result = holds(path, kind, uuid).and_then(|found| match found {
        true if kind == "zfs" => {
            clear_pool(&exclusive(path, PATIENCE)?, marker, run_id)?;
            forget_partitions(path)
        }
        true => clear(&exclusive(path, PATIENCE)?, marker, run_id),
        false => Ok(()),
    });
    match result {
        // The file of a loop device may have been cut; it goes away, and nothing on it can mislead anybody.
        Err(e) if looped && Errno::from_io_error(&e) != Some(Errno::BUSY) => Ok(()),
        other => other,
    }
}

/// Whether the file system of that kind and UUID lies on the device.
pub(crate) fn holds(path: &Path, kind: &str, uuid: &[u8; 16]) -> io::Result<bool> {
    if kind == "zfs" {
        return holds_pool(path, &pool_name(uuid));
    }
    if kind == "lvm" {
        return holds_physical_volume(path, uuid);
    }
    let Some((magic_at, magic, uuid_at)) = superblock(kind) else {
        return Ok(false);
    };
    // What the device's own cache holds may be older than what direct I/O or a file system wrote; a mount's end drops
    // it.
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    let mut found = vec![0u8; magic.len()];
    file.read_exact_at(&mut found, magic_at)?;
    let mut id = [0u8; 16];
    file.read_exact_at(&mut id, uuid_at)?;
    Ok(found == magic && id == *uuid)
}

/// The name of the pool that is journalled under this UUID.
pub fn pool_name(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("assay-{hex}")
}

/// Whether LVM's label in the second sector has this UUID, which it writes in 32 characters.
fn holds_physical_volume(path: &Path, uuid: &[u8; 16]) -> io::Result<bool> {
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    let mut label = [0u8; 64];
    file.read_exact_at(&mut label, 512)?;
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(label.starts_with(b"LABELONE") && label[32..] == *hex.as_bytes())
}

/// Whether the first label of a pool stands on the device, or in the partition that the module's tools make of a whole
/// disk, that has this name: a list of names and values from 16 to 128 KiB.
fn holds_pool(path: &Path, name: &str) -> io::Result<bool> {
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    let size = rustix::fs::seek(&file, SeekFrom::End(0))?;
    let mut list = vec![0u8; 112 << 10];
    for begin in POOL_BEGINS.into_iter().filter(|begin| begin + MIB <= size) {
        file.read_exact_at(&mut list, begin + (16 << 10))?;
        if list.windows(name.len()).any(|window| window == name.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits until nobody has the device for himself any more, as whoever has mounted it does; `BUSY` where somebody keeps
/// it. Opened for reading: what was opened for writing is looked at by udev when it is closed.
pub(crate) fn wait_until_free(path: &Path) -> io::Result<()> {
    hold(path).map(drop)
}

/// Opens a device exclusively to read, and keeps it so until this is closed.
pub(crate) fn hold(path: &Path) -> io::Result<File> {
    // A name may be a FIFO by now, which would wait for a writer for ever.
    let file = taken(path, OFlags::RDONLY | OFlags::NONBLOCK, PATIENCE)?;
    match file.metadata()?.file_type().is_block_device() {
        true => Ok(file),
        false => Err(io::Error::other("it is no block device any more")),
    }
}

fn exclusive(path: &Path, patience: Duration) -> io::Result<File> {
    taken(path, OFlags::RDWR, patience)
}

fn taken(path: &Path, access: OFlags, patience: Duration) -> io::Result<File> {
    let start = Instant::now();
    loop {
        match rustix::fs::open(path, access | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::BUSY) if start.elapsed() < patience => std::thread::sleep(Duration::from_millis(20)),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The same, with all places where labels of a pool may stand.
fn clear_pool(file: &File, marker: &str, run_id: &str) -> io::Result<()> {
    let size = rustix::fs::seek(file, SeekFrom::End(0))?;
    let zeros = vec![0u8; MIB as usize];
    let tail = (size.saturating_sub(POOL_TAIL)..size).step_by(MIB as usize);
    let begins = POOL_BEGINS.into_iter().filter(|begin| begin + MIB <= size);
    for at in tail.chain(begins.rev().collect::<Vec<_>>()) {
        file.write_all_at(&zeros[..MIB.min(size - at) as usize], at)?;
    }
    clear(file, marker, run_id)
}

/// Whether the kernel knows partitions of a device.
fn has_partitions(path: &Path) -> bool {
    let Ok(stat) = std::fs::metadata(path) else {
        return false;
    };
    let (major, minor) = (rustix::fs::major(stat.rdev()), rustix::fs::minor(stat.rdev()));
    let entries = std::fs::read_dir(format!("/sys/dev/block/{major}:{minor}"));
    entries
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.path().join("partition").exists())
}

/// Lets the kernel look for partitions again where it knows some: the table that a pool's tools made of a whole disk is
/// gone. While anybody looks at one of them (udev does, when it changed) the kernel refuses.
fn forget_partitions(path: &Path) -> io::Result<()> {
    let start = Instant::now();
    while has_partitions(path) {
        let again = Tool::new("blockdev", ["--rereadpt", &argument(path)], PATIENCE)
            .writing(&[path.to_owned()])
            .run(None);
        if start.elapsed() > PATIENCE {
            let why = again.err().map_or("its partitions stay".to_owned(), |e| e.to_string());
            return Err(io::Error::other(why));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn clear(file: &File, marker: &str, run_id: &str) -> io::Result<()> {
    let size = rustix::fs::seek(file, SeekFrom::End(0))?;
    let zeros = vec![0u8; MIB as usize];
    // From the end to the start: were it cut short, the marker's place would be the last to lose its old signature.
    let tail = size.saturating_sub(MIB);
    let mut places = vec![(tail, (size - tail) as usize)];
    places.extend(
        BTRFS_COPIES
            .iter()
            .filter(|&&at| at + 4096 <= size)
            .map(|&at| (at, 4096)),
    );
    places.push((0, MIB.min(size) as usize));
    for (at, len) in places {
        file.write_all_at(&zeros[..len], at)?;
    }
    file.sync_all()?;
    let mut block = vec![0u8; MARKER_BYTES];
    let text = format!("{marker}run {run_id}\n");
    let shown = text.len().min(MARKER_BYTES);
    block[..shown].copy_from_slice(&text.as_bytes()[..shown]);
    file.write_all_at(&block, 0)?;
    file.sync_all()
}

/// A UUID for a file system of this run, made of what tells it from all others; no two steps of any two runs share one.
pub(crate) fn uuid(run_id: &str, step: u64, device: &Path) -> [u8; 16] {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (
            salt,
            run_id,
            step,
            device,
            std::process::id(),
            crate::host::process::start_of(std::process::id()),
        )
            .hash(&mut hasher);
        hasher.finish().to_be_bytes()
    };
    let mut id = [0u8; 16];
    id[..8].copy_from_slice(&half(1));
    id[8..].copy_from_slice(&half(2));
    // Version 8 (made by a rule of one's own) and the variant of RFC 9562.
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

/// In the usual form of five groups.
pub(crate) fn uuid_text(id: &[u8; 16]) -> String {
    let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_differ_by_step_and_device_and_are_well_formed() {
        let a = uuid("run", 1, Path::new("/dev/x"));
        assert_eq!(a, uuid("run", 1, Path::new("/dev/x")));
        assert_ne!(a, uuid("run", 2, Path::new("/dev/x")));
        assert_ne!(a, uuid("run", 1, Path::new("/dev/y")));
        let text = uuid_text(&a);
        assert_eq!((text.len(), &text[14..15]), (36, "8"));
    }

    #[test]
    fn a_path_that_is_no_device_has_nothing_to_release() {
        release(Path::new("/dev/nonesuch"), "ext4", &[1; 16], "M\n", "r").expect("fine");
        release(Path::new("/etc/passwd"), "ext4", &[1; 16], "M\n", "r").expect("fine");
    }
}
