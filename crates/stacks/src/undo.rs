//! How each kind of step is taken back.
//!
//! An [`Undo`] is data: it stands in the journal before its step is taken, and is carried out by the run itself or by
//! another process after a kill. So each is *idempotent* (done already, or never needed: fine), checks for itself that
//! nothing still stands on what it removes, and removes nothing that Assay did not make.

use crate::host::process::{PATIENCE, Who};
use crate::host::{cgroup, mounts, process};
use crate::nfs::processes;
use crate::volume::{lvm, md};
use crate::zfs::{commands, daemon, module};
use crate::{device, serving};
use rustix::process::Signal;
use sandbox::{Identity, Removal};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        /// The LUN file, for messages.
        backing: PathBuf,
        /// Which file it is, whatever it is called by then.
        file: Identity,
    },
    /// Wipe the file system with this UUID off a device, and leave the marker of a free device.
    WipeSignature {
        /// The device.
        device: PathBuf,
        /// `ext4`, `xfs`, `btrfs`, `diskgroup`, `lvm`, `md` or `zfs`.
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
    /// End what Assay started of itself for a service in this directory; it ends by itself when its run has gone, but
    /// takes its time.
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
    /// End the server of files, and its port mapper, that work in this directory.
    StopFileServer {
        /// The directory that they work in, which Assay made.
        dir: PathBuf,
    },
    /// Remove all volumes of a group of LVM; its LUNs are wiped by steps of their own.
    RemoveVolumes {
        /// The group, whose name holds a UUID of the run's.
        group: String,
    },
    /// Stop the array of md with this UUID, whatever it is called by now.
    StopArray {
        /// As its members hold it.
        uuid: [u8; 16],
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
            Undo::DetachLoop { backing, .. } => write!(f, "detach the loop device on {}", backing.display()),
            Undo::WipeSignature { device, filesystem, .. } => write!(f, "wipe {filesystem} off {}", device.display()),
            Undo::MoveToCgroup { pid, group, .. } => write!(f, "move process {pid} to {}", group.display()),
            Undo::RemoveCgroup { path } => write!(f, "remove control group {}", path.display()),
            Undo::StopServer { data } => write!(f, "stop the server in {}", data.display()),
            Undo::StopServing { place, .. } => write!(f, "stop serving LUNs at {}", place.display()),
            Undo::StopService { dir, service } => write!(f, "stop {service} in {}", dir.display()),
            Undo::StopFuse { dir } => write!(f, "stop zfs-fuse in {}", dir.display()),
            Undo::StopFileServer { dir } => write!(f, "stop the NFS server in {}", dir.display()),
            Undo::RemoveVolumes { group } => write!(f, "remove the volumes of {group}"),
            Undo::StopArray { uuid } => write!(f, "stop the array {}", device::uuid_text(uuid)),
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

    /// Where in the run's own directories it works; `None`: on a device, a process or a setting.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Undo::Unmount { path } | Undo::RemoveDir { path, .. } | Undo::RemoveFile { path } => Some(path),
            Undo::StopServer { data: path }
            | Undo::StopServing { place: path, .. }
            | Undo::StopService { dir: path, .. }
            | Undo::StopFileServer { dir: path }
            | Undo::StopFuse { dir: path } => Some(path),
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
            Undo::StopFileServer { dir } => Undo::StopFileServer { dir: resolve(&dir) },
            other => other,
        }
    }

    /// Whether what it undoes ended with the boot in which it was done: processes, mounts of ours, loop devices,
    /// settings. What is there under the same name after it is somebody else's.
    pub(crate) fn ends_with_the_boot(&self) -> bool {
        matches!(
            self,
            Undo::DetachLoop { .. }
                | Undo::MoveToCgroup { .. }
                | Undo::RemoveCgroup { .. }
                | Undo::RestoreSetting { .. }
                | Undo::StopServer { .. }
                | Undo::StopServing { .. }
                | Undo::StopService { .. }
                | Undo::StopFuse { .. }
                | Undo::StopFileServer { .. }
        )
    }

    /// Carries it out. `run_id` is written beside markers; `made` says which file or directory is removed.
    pub(crate) fn take(&self, run_id: &str, made: Option<&Identity>) -> io::Result<()> {
        match self {
            Undo::Unmount { path } => mounts::unmount(path),
            Undo::RemoveDir { path, contents } => {
                let removal = if *contents {
                    Removal::Tree
                } else {
                    Removal::EmptyDirectory
                };
                Ok(sandbox::remove(path, removal, made)?)
            }
            Undo::RemoveFile { path } => remove_file(path, made),
            Undo::DetachLoop { file, .. } => luns::detach_backing(file).map_err(|e| io::Error::other(e.to_string())),
            Undo::WipeSignature {
                device,
                filesystem,
                uuid,
                marker,
            } => {
                // Its array may be up again: after a reboot, or because udev has seen its LUNs.
                if filesystem == "md" {
                    md::stop(uuid)?;
                }
                device::release(device, filesystem, uuid, marker, run_id)
            }
            Undo::MoveToCgroup { pid, started, group } => {
                must_be_of(group, &[CGROUP, CGROUP2])?;
                if process::is_alive(*pid, *started) {
                    cgroup::admit(group, *pid)?;
                }
                Ok(())
            }
            Undo::RemoveCgroup { path } => {
                must_be_of(path, &[CGROUP, CGROUP2])?;
                cgroup::remove(path, PATIENCE)
            }
            // SIGQUIT makes it end at once; what is still there after half of our patience is killed.
            Undo::StopServer { data } => {
                let signals = [(Duration::ZERO, Signal::QUIT), (PATIENCE / 2, Signal::KILL)];
                process::end_all_in(data, Who::Postgres, &signals)
            }
            Undo::StopServing { dir, place } => serving::stop(dir, place),
            Undo::StopService { dir, service } => {
                process::end_all_in(dir, Who::Ours(service), &[(PATIENCE / 3, Signal::KILL)])
            }
            Undo::StopFuse { dir } => daemon::kill(dir),
            Undo::StopFileServer { dir } => processes::kill(dir),
            Undo::RemoveVolumes { group } => lvm::remove(group),
            Undo::StopArray { uuid } => md::stop(uuid),
            Undo::ExportPool { pool } => commands::export(pool),
            Undo::RestoreSetting { file, first, value } => {
                must_be_of(file, &[SYSFS, PROC])?;
                module::restore(file, first.as_deref(), value)
            }
        }
    }
}

/// Kinds of file system by which the kernel shows itself (`linux/magic.h`).
const SYSFS: i64 = 0x6265_6572;
const PROC: i64 = 0x9fa0;
const CGROUP: i64 = 0x0027_e0eb;
const CGROUP2: i64 = 0x6367_7270;

/// Refuses a path that does not lead into one of these file systems of the kernel's. Not there: fine.
fn must_be_of(path: &Path, kinds: &[i64]) -> io::Result<()> {
    match rustix::fs::statfs(path) {
        Ok(found) if kinds.contains(&found.f_type) => Ok(()),
        Err(e) if e == rustix::io::Errno::NOENT => Ok(()),
        Ok(_) => Err(io::Error::other(
            "it is not where the kernel keeps such settings: undo it by hand",
        )),
        Err(e) => Err(e.into()),
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

fn remove_file(path: &Path, made: Option<&Identity>) -> io::Result<()> {
    let holders = made.map(luns::find_by_backing).unwrap_or_default();
    if let Some(holder) = holders.first() {
        let why = format!("still attached as {}", holder.path.display());
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    Ok(sandbox::remove(path, Removal::File, made)?)
}
