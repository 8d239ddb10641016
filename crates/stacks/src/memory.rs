//! The memory budget of a stack: a control group around the process, page cache included; and emptying caches.
//!
//! Takes a number of bytes, gives a [`MemoryLimit`] that says how far the kernel holds it. Where it can't, that is an
//! answer with a reason, not an error: the report then says "not enforced". Prevents a budget that exists on paper
//! only.

use crate::error::StackError;
use crate::host::cgroup::{self, Hierarchy, Version};
use crate::host::process;
use crate::journal::Journal;
use crate::undo::Undo;
use std::path::{Path, PathBuf};

/// How a memory budget is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// By a control group of version 1.
    V1,
    /// By a control group of version 2.
    V2,
    /// Not at all, and why.
    NotEnforced(String),
}

/// A memory budget in force, or the reason why not.
#[derive(Clone, Debug)]
pub struct MemoryLimit {
    /// How it is kept.
    pub version: Enforcement,
    /// Directory of the control group; empty when not enforced.
    pub path: PathBuf,
    /// Bytes.
    pub bytes: u64,
    /// Directory of the group that the process came from.
    from: PathBuf,
}

/// Puts process `pid` into a control group of its own with at most `bytes` of memory, page cache included. Undone
/// (moved back, group removed) through the journal.
pub fn memory_limit(bytes: u64, pid: u32, journal: &mut Journal) -> Result<MemoryLimit, StackError> {
    let not = |why: String| {
        Ok(MemoryLimit {
            version: Enforcement::NotEnforced(why),
            path: PathBuf::new(),
            bytes,
            from: PathBuf::new(),
        })
    };
    let read = |name: &str| sandbox::kernel_text(format!("/proc/{pid}/{name}"));
    let (Ok(mountinfo), Ok(membership)) = (read("mountinfo"), read("cgroup")) else {
        return not(format!("process {pid} can't be looked at"));
    };
    let hierarchy = match cgroup::find(&mountinfo, &membership) {
        Ok(hierarchy) => hierarchy,
        Err(why) => return not(why),
    };
    let mut why = "no control group above this process hands down the memory controller".to_owned();
    for parent in hierarchy.parents() {
        match enter(&hierarchy, &parent, bytes, pid, journal)? {
            Ok(limit) => return Ok(limit),
            Err(refused) => why = refused,
        }
    }
    not(why)
}

/// Tries one parent. The outer error is the journal's; the inner one says why this parent won't do.
fn enter(
    hierarchy: &Hierarchy,
    parent: &Path,
    bytes: u64,
    pid: u32,
    journal: &mut Journal,
) -> Result<Result<MemoryLimit, String>, StackError> {
    let mark = journal.mark();
    let path = parent.join(format!("assay-{}-{pid}", journal.run_id()));
    journal.before(Undo::RemoveCgroup { path: path.clone() })?;
    let started = process::start_of(pid).unwrap_or(0);
    let entered = std::fs::create_dir(&path)
        .and_then(|()| std::fs::write(path.join(hierarchy.version.limit_file()), bytes.to_string()))
        .map_err(|e| format!("{}: {e}", path.display()));
    if let Err(why) = entered {
        let _ = journal.undo_to(mark);
        return Ok(Err(why));
    }
    journal.before(Undo::MoveToCgroup {
        pid,
        started,
        group: hierarchy.own.clone(),
    })?;
    if let Err(e) = cgroup::admit(&path, pid) {
        let _ = journal.undo_to(mark);
        return Ok(Err(format!("process {pid} may not enter {}: {e}", path.display())));
    }
    let version = match hierarchy.version {
        Version::One => Enforcement::V1,
        Version::Two => Enforcement::V2,
    };
    Ok(Ok(MemoryLimit {
        version,
        path,
        bytes,
        from: hierarchy.own.clone(),
    }))
}

impl MemoryLimit {
    fn version(&self) -> Option<Version> {
        match self.version {
            Enforcement::V1 => Some(Version::One),
            Enforcement::V2 => Some(Version::Two),
            Enforcement::NotEnforced(_) => None,
        }
    }

    /// Takes a process that plays hardware out of the budget, back to where the run came from. No-op when not enforced.
    pub fn exempt(&self, pid: u32) -> Result<(), StackError> {
        if self.version().is_none() {
            return Ok(());
        }
        cgroup::admit(&self.from, pid)
            .map_err(|e| StackError::path("move a process to", &self.from, e, "run without a memory budget"))
    }

    /// Raises or lowers the limit; page cache above it is given up at once. No-op when not enforced.
    pub fn set(&mut self, bytes: u64) -> Result<(), StackError> {
        if let Some(version) = self.version() {
            let file = self.path.join(version.limit_file());
            std::fs::write(&file, bytes.to_string()).map_err(|e| {
                StackError::path(
                    "set",
                    &file,
                    e,
                    "the process holds more than that already: ask for more",
                )
            })?;
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Whether [`MemoryLimit::reclaim`] gives up anything: not where the budget is not enforced, and with version 2 not
    /// before Linux 5.19.
    pub fn may_reclaim(&self) -> bool {
        self.version()
            .is_some_and(|version| self.path.join(reclaim_file(version)).exists())
    }

    /// Gives up the group's page cache, so that a trial does not start with that of the one before. The process's own
    /// memory stays (on a machine with swap, part of it may be swapped out and comes back when used). No-op when not
    /// enforced.
    pub fn reclaim(&self) -> Result<(), StackError> {
        let cure = "remove `budget` from [memory], or run where this user may write to its control group";
        match self.version() {
            None => Ok(()),
            Some(Version::One) => {
                let file = self.path.join(reclaim_file(Version::One));
                std::fs::write(&file, "0").map_err(|e| StackError::path("write", &file, e, cure))
            }
            Some(Version::Two) => {
                let file = self.path.join(reclaim_file(Version::Two));
                let cached = stat_value(&self.path.join("memory.stat"), "file");
                match std::fs::write(&file, cached.to_string()) {
                    // Less than asked could be given up.
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
                    // Linux before 5.19 has no such file: the cache stays, and the line on provenance shows its reads.
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
                    written => written.map_err(|e| StackError::path("write", &file, e, cure)),
                }
            }
        }
    }
}

fn stat_value(file: &Path, key: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let value = text
        .lines()
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0)
}

/// A write to it gives up what a group has in the page cache.
fn reclaim_file(version: Version) -> &'static str {
    match version {
        Version::One => "memory.force_empty",
        Version::Two => "memory.reclaim",
    }
}

/// What empties the kernel's caches when root writes to it.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this process may empty the caches of the whole machine. Root of a container may not.
pub fn may_drop_caches() -> bool {
    std::fs::OpenOptions::new().write(true).open(DROP_CACHES).is_ok()
}

/// Empties the page cache, dentries and inodes of the whole machine, of what is not dirty. Needs root.
pub fn drop_caches() -> Result<(), StackError> {
    let cure = "run as root, or let caches be warm";
    std::fs::write(DROP_CACHES, "3").map_err(|e| StackError::path("write", Path::new(DROP_CACHES), e, cure))
}
