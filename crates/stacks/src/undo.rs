//! How each kind of step is taken back.
//!
//! An [`Undo`] is data: it stands in the journal before its step is taken, and is carried out by the run itself or by
//! another process after a kill. So each is *idempotent* (done already, or never needed: fine), checks for itself that
//! nothing still stands on what it removes, and removes nothing that Assay did not make.

use crate::process::{PATIENCE, Who};
use crate::{cgroup, device, mounts, process, serving, tool, zfs};
use rustix::io::Errno;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One step's way back. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Undo {
    /// Unmount what is mounted there.
    Unmount {
        /// The mount point.
        path: PathBuf,
    },
    /// Remove a directory.
    RemoveDir {
        /// The directory.
        path: PathBuf,
        /// With what is in it (never across a mount point); otherwise it must be empty.
        contents: bool,
    },
    /// Remove a file, once no loop device holds it.
    RemoveFile {
        /// The file.
        path: PathBuf,
    },
    /// Detach every loop device that holds this file.
    DetachLoop {
        /// The LUN file.
        backing: PathBuf,
    },
    /// Wipe the file system with this UUID off a device, and leave the marker of a free device.
    WipeSignature {
        /// The device.
        device: PathBuf,
        /// `ext4`, `xfs`, `btrfs`, `diskgroup` or `zfs`.
        filesystem: String,
        /// The UUID given to mkfs; another content is left alone.
        uuid: [u8; 16],
        /// The first line of what is left at the device's start.
        marker: String,
    },
    /// Move a process back to the control group it came from.
    MoveToCgroup {
        /// The process.
        pid: u32,
        /// Its start time in clock ticks since boot.
        started: u64,
        /// The directory of the group.
        group: PathBuf,
    },
    /// Remove a control group; processes left in it go to its parent.
    RemoveCgroup {
        /// The directory of the group.
        path: PathBuf,
    },
    /// End every process of the database server that works in this directory. A stranger who stands there is none.
    StopServer {
        /// The data directory, which Assay made.
        data: PathBuf,
    },
    /// Unmount served LUN files and end the process that serves them.
    StopServing {
        /// The directory that it works in, which Assay made.
        dir: PathBuf,
        /// The mount point.
        place: PathBuf,
    },
    /// End what Assay started of itself for a service in this directory; it ends by itself when its run has gone, but takes its time.
    StopService {
        /// The directory that it works in, which Assay made.
        dir: PathBuf,
        /// The first argument that it was started with.
        service: String,
    },
    /// End zfs-fuse, which works in this directory, without asking it: its pools are wiped in any case.
    StopFuse {
        /// The directory that it works in, which Assay made.
        dir: PathBuf,
    },
    /// Export a pool that the kernel's module has imported.
    ExportPool {
        /// Its name, which no other pool has.
        pool: String,
    },
    /// Give a setting of the machine the value that it had.
    RestoreSetting {
        /// The file of the kernel's that it is set by.
        file: PathBuf,
        /// What is written before it, where the kernel takes what stood there for no change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<String>,
        /// What stood there.
        value: String,
    },
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undo::Unmount { path } => write!(f, "unmount {}", path.display()),
            Undo::RemoveDir { path, .. } => write!(f, "remove directory {}", path.display()),
            Undo::RemoveFile { path } => write!(f, "remove file {}", path.display()),
            Undo::DetachLoop { backing } => write!(f, "detach the loop device on {}", backing.display()),
            Undo::WipeSignature { device, filesystem, .. } => write!(f, "wipe {filesystem} off {}", device.display()),
            Undo::MoveToCgroup { pid, group, .. } => write!(f, "move process {pid} to {}", group.display()),
            Undo::RemoveCgroup { path } => write!(f, "remove control group {}", path.display()),
            Undo::StopServer { data } => write!(f, "stop the server in {}", data.display()),
            Undo::StopServing { place, .. } => write!(f, "stop serving LUNs at {}", place.display()),
            Undo::StopService { dir, service } => write!(f, "stop {service} in {}", dir.display()),
            Undo::StopFuse { dir } => write!(f, "stop zfs-fuse in {}", dir.display()),
            Undo::ExportPool { pool } => write!(f, "export the pool {pool}"),
            Undo::RestoreSetting { file, value, .. } => write!(f, "set {} back to {value}", file.display()),
        }
    }
}

impl Undo {
    /// What must not exist when the step is journalled: the undo would remove it.
    pub(crate) fn makes(&self) -> Option<&Path> {
        match self {
            Undo::RemoveDir { path, .. } | Undo::RemoveFile { path } | Undo::RemoveCgroup { path } => Some(path),
            _ => None,
        }
    }

    /// The same with paths that mean the same in another process: absolute, links resolved.
    pub(crate) fn resolved(self) -> Undo {
        match self {
            Undo::Unmount { path } => Undo::Unmount { path: resolve(&path) },
            Undo::RemoveDir { path, contents } => Undo::RemoveDir {
                path: resolve(&path),
                contents,
            },
            Undo::RemoveFile { path } => Undo::RemoveFile { path: resolve(&path) },
            Undo::DetachLoop { backing } => Undo::DetachLoop {
                backing: resolve(&backing),
            },
            Undo::StopServer { data } => Undo::StopServer { data: resolve(&data) },
            Undo::StopServing { dir, place } => Undo::StopServing {
                dir: resolve(&dir),
                place: resolve(&place),
            },
            Undo::StopService { dir, service } => Undo::StopService {
                dir: resolve(&dir),
                service,
            },
            Undo::StopFuse { dir } => Undo::StopFuse { dir: resolve(&dir) },
            other => other,
        }
    }

    /// Carries it out. `run_id` is written beside markers.
    pub(crate) fn take(&self, run_id: &str) -> io::Result<()> {
        match self {
            Undo::Unmount { path } => mounts::unmount(path),
            Undo::RemoveDir { path, contents } => remove_dir(path, *contents),
            Undo::RemoveFile { path } => remove_file(path),
            Undo::DetachLoop { backing } => detach(backing),
            Undo::WipeSignature {
                device,
                filesystem,
                uuid,
                marker,
            } => device::release(device, filesystem, uuid, marker, run_id),
            Undo::MoveToCgroup { pid, started, group } => {
                if process::is_alive(*pid, *started) {
                    cgroup::admit(group, *pid)?;
                }
                Ok(())
            }
            Undo::RemoveCgroup { path } => cgroup::remove(path, PATIENCE),
            // SIGQUIT makes it end at once; what is still there after half of our patience is killed.
            Undo::StopServer { data } => {
                let signals = [(Duration::ZERO, Signal::QUIT), (PATIENCE / 2, Signal::KILL)];
                process::end_all_in(data, Who::Postgres, &signals)
            }
            Undo::StopServing { dir, place } => serving::stop(dir, place),
            Undo::StopService { dir, service } => {
                process::end_all_in(dir, Who::Ours(service), &[(PATIENCE / 3, Signal::KILL)])
            }
            Undo::StopFuse { dir } => zfs::daemon::kill(dir),
            Undo::ExportPool { pool } => zfs::module::export(pool),
            Undo::RestoreSetting { file, first, value } => zfs::module::restore(file, first.as_deref(), value),
        }
    }
}

/// Absolute, links resolved as far as the path exists.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    std::fs::canonicalize(&absolute).unwrap_or_else(|_| match (absolute.parent(), absolute.file_name()) {
        (Some(dir), Some(name)) => std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()).join(name),
        _ => absolute,
    })
}

/// What was not removed because it is not there is no failure. The error alone does not tell: a read-only file system
/// refuses before it looks.
fn gone_is_fine(result: io::Result<()>, path: &Path) -> io::Result<()> {
    result.or_else(|e| match std::fs::symlink_metadata(path) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(e),
    })
}

fn remove_dir(path: &Path, contents: bool) -> io::Result<()> {
    if contents {
        use std::os::unix::fs::MetadataExt;
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
            Ok(found) => empty_dir(path, found.dev())?,
        }
    }
    gone_is_fine(std::fs::remove_dir(path), path)
}

/// Removes what is in a directory, but never what lies on another file system.
fn empty_dir(path: &Path, device: u64) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // Of the entry itself: a link is removed, not followed.
        let found = entry.metadata()?;
        if found.dev() != device {
            let why = format!("{} is a mount point", entry.path().display());
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        if found.is_dir() {
            empty_dir(&entry.path(), device)?;
            gone_is_fine(std::fs::remove_dir(entry.path()), &entry.path())?;
        } else {
            gone_is_fine(std::fs::remove_file(entry.path()), &entry.path())?;
        }
    }
    Ok(())
}

fn remove_file(path: &Path) -> io::Result<()> {
    let holders = loops_on(path);
    if !holders.is_empty() {
        let why = format!("still attached as {}", holders.join(", "));
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    gone_is_fine(std::fs::remove_file(path), path)
}

/// Names of the loop devices that hold a file, also a deleted one.
fn loops_on(backing: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else {
        return Vec::new();
    };
    let holds = |name: &String| {
        let shown = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default();
        let shown = shown.trim_end_matches('\n');
        Path::new(shown.strip_suffix(" (deleted)").unwrap_or(shown)) == backing
    };
    entries
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("loop") && holds(name))
        .collect()
}

/// Detaches and waits. A device in use is asked for again for a while and then refused: the kernel would accept the order
/// and carry it out at some later time.
fn detach(backing: &Path) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let start = Instant::now();
    loop {
        let Some(name) = loops_on(backing).into_iter().next() else {
            return Ok(());
        };
        let device = Path::new("/dev").join(&name);
        let free = match rustix::fs::open(&device, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            // Closed again before losetup is called, or it would count as a user.
            Ok(_) => true,
            Err(Errno::BUSY) => false,
            Err(Errno::NXIO | Errno::NOENT) => continue_if_gone(backing)?,
            Err(e) => return Err(e.into()),
        };
        if free {
            let losetup = tool::Tool::new("losetup", ["-d", &format!("/dev/{name}")], PATIENCE);
            // A failure shows in the next look at the list.
            if let Err(e) = losetup.run(None)
                && start.elapsed() > PATIENCE
            {
                return Err(io::Error::other(e.to_string()));
            }
            if loops_on(backing).is_empty() {
                return Ok(());
            }
        }
        if start.elapsed() > PATIENCE {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                format!("/dev/{name} is in use"),
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A device that vanished between two looks is no error; one that the list still shows can't be opened.
fn continue_if_gone(backing: &Path) -> io::Result<bool> {
    match loops_on(backing).first() {
        None => Ok(false),
        Some(name) => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("/dev/{name} can't be opened"),
        )),
    }
}
