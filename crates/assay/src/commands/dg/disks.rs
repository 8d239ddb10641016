//! Disks as they are named on the command line: which they are, what stands on them, and who else has them.
//!
//! The rule is one: `--disk`, or arguments where a command takes no others, or `ASSAY_DISKS`. Prevents: two programs
//! that change the metadata of one group, and a disk opened for writing only because a pattern of the shell met it.

use super::port::DiskPort;
use crate::cli::dg::Place;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use diskgroup::{GroupError, Inspected};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use targets::{Access, OpenSpec, Which};

/// The variable that names disks, with white space between them.
const VARIABLE: &str = "ASSAY_DISKS";
/// Memory of a port that only looks.
const LOOK_BYTES: u64 = 1 << 20;

/// The disks that were named, each once.
pub(super) fn named(place: &Place, arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all: Vec<PathBuf> = arguments.iter().chain(&place.disk).cloned().collect();
    if all.is_empty() {
        let set = std::env::var_os(VARIABLE).unwrap_or_default();
        let set = set.to_string_lossy();
        all = set.split_whitespace().map(PathBuf::from).collect();
    }
    if all.is_empty() {
        return Err(Failure::Usage(anyhow!(
            "no disks are named\n  name the disks of the group with --disk (once for each), or in {VARIABLE}"
        )));
    }
    let mut seen = Vec::new();
    all.retain(|path| {
        let id = identity(path);
        let new = id.is_none() || !seen.contains(&id);
        seen.push(id);
        new
    });
    if all.len() > 256 {
        return Err(Failure::Usage(anyhow!(
            "{} disks are named\n  name at most 256",
            all.len()
        )));
    }
    Ok(all)
}

/// What makes a path the same as another: the device it names, or the file it is.
pub(super) fn identity(path: &Path) -> Option<(bool, u64, u64)> {
    let stat = std::fs::metadata(path).ok()?;
    if stat.file_type().is_block_device() {
        Some((true, stat.rdev(), 0))
    } else {
        Some((false, stat.dev(), stat.ino()))
    }
}

/// Whether a path is among others, by whatever name.
pub(super) fn is_among(path: &Path, others: &[PathBuf]) -> bool {
    let id = identity(path);
    others.iter().any(|o| o == path || (id.is_some() && identity(o) == id))
}

/// What stands on each disk. They are opened for reading.
pub(super) fn survey(paths: &[PathBuf]) -> Result<Vec<Inspected>, Failure> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    for path in paths {
        check_kind(path)?;
    }
    let specs: Vec<OpenSpec> = paths
        .iter()
        .map(|path| OpenSpec::reading(path, Access::Direct))
        .collect();
    let port = DiskPort::open(&specs, LOOK_BYTES, 8).map_err(|e| Failure::Run(e.into()))?;
    diskgroup::inspect(port, paths.len() as u16).map_err(|e| Failure::Run(e.into()))
}

fn check_kind(path: &Path) -> Result<(), Failure> {
    let Ok(stat) = std::fs::metadata(path) else {
        return Ok(()); // opening it says why
    };
    if stat.is_file() || stat.file_type().is_block_device() {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "{} is no block device and no regular file\n  name a whole disk such as /dev/nvme1n1, or a file of the size \
         the disk should have",
        path.display()
    )))
}

/// The group that was asked for and its disks among those named.
pub(super) fn members(
    paths: &[PathBuf],
    survey: &[Inspected],
    group: Option<&str>,
) -> Result<(String, Vec<PathBuf>), Failure> {
    let run = |e: GroupError| Failure::Run(e.into());
    let names = group_names(survey);
    refuse_newer(paths, survey)?;
    let name = match (group, names.as_slice()) {
        (Some(name), _) if names.iter().any(|n| n == name) => name.to_string(),
        (None, [name]) => name.clone(),
        (None, [_, _, ..]) => {
            return Err(Failure::Usage(anyhow!(
                "the disks belong to several groups: {}\n  say which with --group",
                names.join(", ")
            )));
        }
        (asked, _) => {
            let what = asked.map_or_else(|| "a disk group".to_string(), |n| format!("disk group {n}"));
            let mut there = format!("no disk of {what} among the {} named", paths.len());
            if !names.is_empty() {
                there.push_str(&format!(" (they belong to {})", names.join(", ")));
            }
            let damaged = damaged(paths, survey);
            if !damaged.is_empty() {
                there.push_str(&format!("; the header is damaged on {}", shown(&damaged)));
            }
            return Err(run(GroupError::NoGroup { what: there }));
        }
    };
    Ok((name.clone(), of_group(paths, survey, &name)))
}

/// The names of the groups whose members were found, in order.
pub(super) fn group_names(survey: &[Inspected]) -> Vec<String> {
    let names = survey.iter().filter_map(|s| match s {
        Inspected::Disk {
            group, member: true, ..
        } => Some(group.clone()),
        _ => None,
    });
    let names: std::collections::BTreeSet<String> = names.collect();
    names.into_iter().collect()
}

/// The members of a group among the paths.
pub(super) fn of_group(paths: &[PathBuf], survey: &[Inspected], name: &str) -> Vec<PathBuf> {
    let is = |s: &Inspected| matches!(s, Inspected::Disk { group, member: true, .. } if group == name);
    let found = paths.iter().zip(survey).filter(|(_, s)| is(s));
    found.map(|(p, _)| p.clone()).collect()
}

/// Paths with a damaged header.
pub(super) fn damaged(paths: &[PathBuf], survey: &[Inspected]) -> Vec<PathBuf> {
    let found = paths.iter().zip(survey).filter(|(_, s)| **s == Inspected::Damaged);
    found.map(|(p, _)| p.clone()).collect()
}

/// A disk of a newer version may be of any group, so nothing is done beside it.
pub(super) fn refuse_newer(paths: &[PathBuf], survey: &[Inspected]) -> Result<(), Failure> {
    let newer = paths.iter().zip(survey).find_map(|(p, s)| match s {
        Inspected::Newer(version) => Some((p, *version)),
        _ => None,
    });
    newer.map_or(Ok(()), |(path, found)| {
        let error = GroupError::Newer {
            disk: path.display().to_string(),
            found,
            known: diskgroup::FORMAT_VERSION,
        };
        Err(Failure::Run(error.into()))
    })
}

/// Paths in a row.
pub(super) fn shown(paths: &[PathBuf]) -> String {
    let all: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    all.join(", ")
}

/// Root writes only to what no other user can put another thing in the place of: a link in the place of a file would
/// lead to any disk.
pub(super) fn trust(path: &Path) -> Result<(), Failure> {
    let Ok(real) = path.canonicalize() else {
        // Opening it says what is wrong with it.
        return Ok(());
    };
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    for dir in [real.parent().unwrap_or(Path::new("/")), above.unwrap_or(Path::new("."))] {
        sandbox::Directory::open(dir).map_err(|e| Failure::Run(anyhow!("{e}")))?;
    }
    Ok(())
}

/// Disks that nobody else may have while this lives: the kernel's exclusive claim on devices, a lock on files. Ports of
/// this process open them through it, and get these disks or none, whatever their paths lead to by then.
pub(super) struct Claim {
    held: Vec<(PathBuf, OwnedFd)>,
}

/// Claims disks.
pub(super) fn claim(paths: &[PathBuf]) -> Result<Claim, Failure> {
    let mut held = Vec::new();
    for path in paths {
        trust(path)?;
        let device = std::fs::metadata(path).is_ok_and(|s| s.file_type().is_block_device());
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC;
        flags.set(OFlags::EXCL, device);
        let claimed = rustix::fs::open(path, flags, Mode::empty()).and_then(|fd| {
            if !device {
                rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
            }
            Ok(fd)
        });
        held.push((path.clone(), claimed.map_err(|e| not_claimed(path, e))?));
    }
    Ok(Claim { held })
}

impl Claim {
    /// A port on these disks to read and to write.
    pub(super) fn port(&self, memory_bytes: u64, depth: usize) -> Result<DiskPort, Failure> {
        let spec = |(path, held): &(PathBuf, OwnedFd)| {
            let which = Which::held(held).with_context(|| format!("look at {}", path.display()))?;
            Ok(OpenSpec::writing(path, Access::Direct).that_is(which))
        };
        let specs = self.held.iter().map(spec).collect::<anyhow::Result<Vec<_>>>();
        let specs = specs.map_err(Failure::Run)?;
        DiskPort::open(&specs, memory_bytes, depth).map_err(|e| Failure::Run(e.into()))
    }
}

fn not_claimed(path: &Path, error: Errno) -> Failure {
    let path = path.display();
    Failure::Run(match error {
        Errno::BUSY | Errno::AGAIN => anyhow!(
            "{path} is in use by another program\n  wait for the other `assay`, or stop what uses the disk: a group \
             is opened once at a time"
        ),
        Errno::NOENT => anyhow!("{path}: there is no such disk\n  check the path"),
        Errno::ACCESS | Errno::PERM => {
            anyhow!("{path}: {error}\n  run as a user who may open it (devices need root)")
        }
        other => anyhow!("{path}: {other}\n  check the device (dmesg)"),
    })
}
