//! Loop devices on LUN files, with direct I/O and without discards.
//!
//! Takes the path of a LUN file, gives a [`LoopDevice`]. Prevents a LUN that is cached twice (a loop device without
//! direct I/O reads and writes its file through the page cache, and the stack above looks faster than the disk) and a
//! LUN that becomes sparse because something discards. What can't be had is an error, never a slower device that nobody
//! noticed.

use crate::error::LunError;
use crate::file::LunFile;
use crate::{kernel, sysfs};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use sandbox::Identity;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Attempts when another process takes the free loop device first.
const ATTEMPTS: u32 = 64;
/// Longest wait for a device to be let go; something like udev may look at it for a moment.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOP_MAJOR: u32 = 7;

/// A loop device that holds a LUN file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopDevice {
    /// `/dev/loopN`.
    pub path: PathBuf,
    /// N.
    pub number: u32,
    /// The file as the kernel names it, without its mark for deleted files.
    pub backing: PathBuf,
    /// Direct I/O below, as the kernel says.
    pub direct_io: bool,
    /// Sector size in bytes.
    pub logical_block: u32,
}

/// Attaches a LUN file to a free loop device with direct I/O, and forbids discards on it. Needs root.
///
/// The sector size is the *physical* block of the disk below the file (at most 4 KiB, and 4 KiB where that can't be
/// told). A file system then lays itself out as it would on that disk: with smaller sectors XFS would write 512-byte
/// log sectors that the disk must read, change and write back, and a redo log would be padded to other sizes on ext4
/// than on btrfs.
///
/// The file is given by its descriptor: `lun` is bound whatever its path leads to by then.
pub fn attach(lun: &LunFile) -> Result<LoopDevice, LunError> {
    attach_open(&lun.reopened(OFlags::RDWR | OFlags::DIRECT)?, &lun.path)
}

/// The same for a file that a device service shows at this path, which is no link.
///
/// # Errors
/// As [`attach`].
pub fn attach_served(path: &Path) -> Result<LoopDevice, LunError> {
    attach_open(&open(path, OFlags::RDWR | OFlags::DIRECT | OFlags::NOFOLLOW)?, path)
}

fn attach_open(backing: &OwnedFd, path: &Path) -> Result<LoopDevice, LunError> {
    let stat = rustix::fs::fstat(backing).map_err(|e| LunError::path("look at", path, e, "check the file system"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        let source = std::io::Error::from(std::io::ErrorKind::InvalidInput);
        return Err(LunError::path(
            "attach",
            path,
            source,
            "only a regular file is attached as a loop device",
        ));
    }
    let block = sector_size(stat.st_dev);
    if stat.st_size == 0 || !(stat.st_size as u64).is_multiple_of(u64::from(block)) {
        return Err(LunError::BadSize {
            path: path.to_owned(),
            bytes: stat.st_size as u64,
        });
    }
    let number = bind(path, backing, block)?;
    finish(path, number)
}

/// Bytes of a sector of loop device `number`; `None`: there is no such device.
pub fn sector_bytes(number: u32) -> Option<u32> {
    Some(describe(number).logical_block).filter(|bytes| *bytes > 0)
}

/// Lets a loop device say of itself that it turns, as a disk does; file systems look at it. A kernel that won't hear it
/// goes without.
pub fn say_rotational(number: u32) {
    let _ = std::fs::write(format!("/sys/block/loop{number}/queue/rotational"), "1");
}

/// Detaches loop device `number` and waits until it is free. Free already: fine. Never leaves it to be freed "later".
pub fn detach(number: u32) -> Result<(), LunError> {
    let path = device_path(number);
    let start = Instant::now();
    // The moment it is free, somebody else may have taken it: what he attached is not ours to detach.
    let ours = backing_of(number);
    while ours.is_some() && backing_of(number) == ours {
        // Asked for exclusively first: the kernel would accept the detach of a mounted device and do it at the unmount.
        match rustix::fs::open(&path, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            // Held exclusively nobody attaches anything to it: what it has now stays until it is cleared.
            Ok(_) if backing_of(number) != ours => return Ok(()),
            Ok(device) => match kernel::clear_loop(&device) {
                Ok(()) => {}
                Err(e) if e.raw_os_error() == Some(libc::ENXIO) => return Ok(()),
                Err(e) => return Err(LunError::path("detach", &path, e, "run `assay clean`")),
            },
            Err(Errno::BUSY) => {
                if let Some(place) = sysfs::number_of(&path).and_then(sysfs::mounted_on) {
                    return Err(LunError::InUse {
                        device: path,
                        by: format!(": mounted on {}", place.display()),
                    });
                }
            }
            Err(Errno::NXIO | Errno::NOENT) => return Ok(()),
            Err(e) => return Err(LunError::path("open", &path, e, "run `assay clean`")),
        }
        if backing_of(number) != ours {
            break;
        }
        if start.elapsed() > PATIENCE {
            return Err(LunError::InUse {
                device: path,
                by: String::new(),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// What the page cache holds of loop device `number` is gone, written or not: its LUN has no power. It stays attached:
/// whoever else looks for a free device could take the number meanwhile. Waits until nobody else has it for itself.
///
/// # Errors
/// Somebody does not let it go.
pub fn forget(number: u32) -> Result<(), LunError> {
    let path = device_path(number);
    let start = Instant::now();
    let device = loop {
        // To read: udev looks at what was open for writing, and would bring up an array whose LUN it finds.
        match rustix::fs::open(&path, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            Ok(device) => break device,
            Err(Errno::BUSY) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            Err(Errno::BUSY) => {
                return Err(LunError::InUse {
                    device: path,
                    by: String::new(),
                });
            }
            Err(e) => return Err(LunError::path("open", &path, e, "run `assay clean`")),
        }
    };
    // What was not written fails here, and is told to us rather than to the next who opens the device.
    let _ = rustix::fs::fsync(&device);
    kernel::drop_buffers(&device).map_err(|e| LunError::path("drop what is cached of", &path, e, "run as root"))
}

/// Loop devices that hold this very file, whatever it is called by now, also when it was deleted.
pub fn find_by_backing(file: &Identity) -> Vec<LoopDevice> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else {
        return Vec::new();
    };
    let holds = |number: &u32| {
        // Without a file it has no such directory, and need not be opened.
        sys_dir(*number).join("loop").exists()
            && rustix::fs::open(device_path(*number), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).is_ok_and(
                |device| matches!(kernel::loop_backing(&device), Ok(Some(held)) if held == (file.device, file.inode)),
            )
    };
    let mut found: Vec<LoopDevice> = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.strip_prefix("loop")?.parse().ok())
        .filter(holds)
        .map(describe)
        .collect();
    found.sort_by_key(|l| l.number);
    found
}

/// Detaches every loop device that holds this file. None does: fine.
///
/// # Errors
/// As [`detach`].
pub fn detach_backing(file: &Identity) -> Result<(), LunError> {
    find_by_backing(file).iter().try_for_each(|held| detach(held.number))
}

fn device_path(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/loop{number}"))
}

fn sys_dir(number: u32) -> PathBuf {
    PathBuf::from(format!("/sys/block/loop{number}"))
}

fn backing_of(number: u32) -> Option<PathBuf> {
    let shown = sysfs::text(&sys_dir(number).join("loop/backing_file"))?;
    Some(PathBuf::from(shown.strip_suffix(" (deleted)").unwrap_or(&shown)))
}

fn describe(number: u32) -> LoopDevice {
    let dir = sys_dir(number);
    LoopDevice {
        path: device_path(number),
        number,
        backing: backing_of(number).unwrap_or_default(),
        direct_io: sysfs::number(&dir.join("loop/dio")) == Some(1),
        logical_block: sysfs::number(&dir.join("queue/logical_block_size")).unwrap_or(0) as u32,
    }
}

/// The physical block of the disk that holds the file, as far as one can be told.
fn sector_size(file_system: u64) -> u32 {
    let mut dir = sysfs::block_dir(file_system);
    if !dir.join("queue").exists() {
        // A partition has no queue of its own; its disk is the directory above.
        dir.pop();
    }
    let told = sysfs::number(&dir.join("queue/physical_block_size"));
    told.map_or(4096, |bytes| bytes.clamp(512, 4096) as u32)
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, LunError> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(|e| {
        let cure = match e {
            Errno::INVAL => "its file system has no direct I/O: name a `dir` on ext4, XFS or btrfs",
            _ => "loop devices need root and the loop driver (modprobe loop)",
        };
        LunError::path("open", path, e, cure)
    })
}

/// Finds a free loop device and takes it; whoever else takes it in between, the next one is tried.
fn bind(path: &Path, backing: &OwnedFd, block: u32) -> Result<u32, LunError> {
    let control_path = Path::new("/dev/loop-control");
    let control = open(control_path, OFlags::RDWR)?;
    for _ in 0..ATTEMPTS {
        let number = kernel::free_loop_number(&control)
            .map_err(|e| LunError::path("find a free loop device with", control_path, e, "run as root"))?;
        let device_path = device_path(number);
        make_node(number, &device_path);
        let device = match open(&device_path, OFlags::RDWR) {
            Ok(device) => device,
            // The node of a device made a moment ago may be on its way.
            Err(LunError::Path { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            Err(e) => return Err(e),
        };
        match kernel::configure_loop(&device, backing, block, path.as_os_str().as_bytes()) {
            Ok(()) => return Ok(number),
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => continue,
            Err(e) => {
                let cure = "Linux 5.8 or later is needed, and a file system that gives direct I/O";
                return Err(LunError::path("attach", path, e, cure));
            }
        }
    }
    Err(LunError::path(
        "attach",
        path,
        Errno::BUSY,
        "all free loop devices were taken by others: run again",
    ))
}

/// Where no devtmpfs makes nodes (a container with its own `/dev`), they are made here.
fn make_node(number: u32, path: &Path) {
    if std::fs::metadata(path).is_err() {
        let device = rustix::fs::makedev(LOOP_MAJOR, number);
        // A failure shows in the open that follows.
        let mode = Mode::from_raw_mode(0o600);
        let _ = rustix::fs::mknodat(rustix::fs::CWD, path, FileType::BlockDevice, mode, device);
    }
}

/// Forbids discards and checks what the kernel gave; a device that is not as it must be is detached again.
fn finish(path: &Path, number: u32) -> Result<LoopDevice, LunError> {
    let device = describe(number);
    let discard = sys_dir(number).join("queue/discard_max_bytes");
    let checked = if !device.direct_io {
        Err(LunError::NotDirect {
            path: path.to_owned(),
            device: device.path.clone(),
        })
    } else {
        std::fs::write(&discard, "0").map_err(|e| LunError::path("forbid discards in", &discard, e, "run as root"))
    };
    if checked.is_err() {
        let _ = detach(number);
    }
    checked.map(|()| device)
}
