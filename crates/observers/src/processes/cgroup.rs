//! Memory of a control group, version 1 or 2.
//!
//! Takes `/proc/self/cgroup` and `/proc/self/mountinfo` to find the group, gives use, peak, limit and page cache in
//! bytes. Reads only; the budget itself is set elsewhere. Source: `Documentation/admin-guide/cgroup-v1/memory.rst` and
//! `cgroup-v2.rst` of the kernel. Prevents: "no limit" taken for "limit not known", and a limit of a group further up
//! being missed.

use std::path::{Path, PathBuf};

use crate::Root;
use crate::devices::mountinfo::{self, Mount};
use crate::root::{text, value};

/// Version 1 says "no limit" by the largest number of whole pages in 63 bits, whatever the page size.
const UNLIMITED_V1: u64 = 1 << 62;

/// Which interface a group was read through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CgroupVersion {
    /// A hierarchy of the memory controller of its own.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The most a group may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Bytes: the smallest of the group's own and those above it that can be seen.
    Bytes(u64),
    /// None set.
    Unlimited,
    /// The kernel does not tell.
    Unknown,
}

/// Memory of one control group now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cgroup {
    /// The interface.
    pub version: CgroupVersion,
    /// Its directory.
    pub path: PathBuf,
    /// In use: processes, page cache, kernel objects.
    pub usage_bytes: Option<u64>,
    /// The most ever in use (version 2: kernel 5.19 or newer).
    pub usage_bytes_peak: Option<u64>,
    /// The most allowed.
    pub limit: Limit,
    /// Page cache in it.
    pub file_bytes: Option<u64>,
    /// Memory of processes that is not backed by files.
    pub anonymous_bytes: Option<u64>,
    /// Page cache waiting to be written back.
    pub dirty_bytes: Option<u64>,
    /// Kernel objects.
    pub slab_bytes: Option<u64>,
    /// How often the limit was hit.
    pub limit_hits: Option<u64>,
}

impl Cgroup {
    /// Reads the group of a directory; `top` is where its hierarchy is mounted.
    pub fn read(version: CgroupVersion, path: &Path, top: &Path) -> Self {
        let number = |name: &str| value(&path.join(name))?.parse::<u64>().ok();
        let stat = text(&path.join("memory.stat")).unwrap_or_default();
        let field = |name: &str| {
            let line = stat
                .lines()
                .find(|line| line.split_ascii_whitespace().next() == Some(name))?;
            line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let path = path.to_path_buf();
        match version {
            CgroupVersion::V1 => Cgroup {
                usage_bytes: number("memory.usage_in_bytes"),
                usage_bytes_peak: number("memory.max_usage_in_bytes"),
                limit: limit_v1(number("memory.limit_in_bytes"), field("hierarchical_memory_limit")),
                file_bytes: field("total_cache").or(field("cache")),
                anonymous_bytes: field("total_rss").or(field("rss")),
                dirty_bytes: field("total_dirty").or(field("dirty")),
                slab_bytes: number("memory.kmem.usage_in_bytes"),
                limit_hits: number("memory.failcnt"),
                version,
                path,
            },
            CgroupVersion::V2 => Cgroup {
                usage_bytes: number("memory.current"),
                usage_bytes_peak: number("memory.peak"),
                limit: limit_v2(&path, top),
                file_bytes: field("file"),
                anonymous_bytes: field("anon"),
                dirty_bytes: field("file_dirty"),
                slab_bytes: field("slab"),
                limit_hits: events_max(&path),
                version,
                path,
            },
        }
    }
}

fn limit_v1(own: Option<u64>, hierarchical: Option<u64>) -> Limit {
    match own.into_iter().chain(hierarchical).min() {
        None => Limit::Unknown,
        Some(bytes) if bytes >= UNLIMITED_V1 => Limit::Unlimited,
        Some(bytes) => Limit::Bytes(bytes),
    }
}

/// The smallest limit from the group up to the top; the top itself has none.
fn limit_v2(path: &Path, top: &Path) -> Limit {
    let mut limit = Limit::Unknown;
    for dir in path.ancestors().take_while(|dir| dir.starts_with(top)) {
        let Some(text) = value(&dir.join("memory.max")) else {
            continue;
        };
        limit = match (text.parse::<u64>(), limit) {
            (Ok(bytes), Limit::Bytes(least)) => Limit::Bytes(least.min(bytes)),
            (Ok(bytes), _) => Limit::Bytes(bytes),
            (Err(_), Limit::Unknown) if text == "max" => Limit::Unlimited,
            (Err(_), least) => least,
        };
    }
    limit
}

fn events_max(path: &Path) -> Option<u64> {
    let events = text(&path.join("memory.events"))?;
    let line = events.lines().find_map(|line| line.strip_prefix("max "))?;
    line.trim().parse().ok()
}

/// The group of this process whose memory is accounted; `None` where no memory controller is.
pub(crate) fn own(root: &Root) -> Option<Cgroup> {
    let (version, path, top) = own_dir(root, "memory")?;
    let group = Cgroup::read(version, &path, &top);
    // The top of version 2 has no figures of its own: /proc/meminfo is its account.
    group.usage_bytes.is_some().then_some(group)
}

/// This process's directory in the hierarchy of a controller, and where that is mounted. Version 1 has the controller
/// wherever it is mounted; no other hierarchy has it then.
pub(crate) fn own_dir(root: &Root, controller: &str) -> Option<(CgroupVersion, PathBuf, PathBuf)> {
    let names_it = |list: &str| list.split(',').any(|name| name == controller);
    let groups = root.proc_text("self/cgroup")?;
    let mounts = mountinfo::parse(&root.proc_text("self/mountinfo")?);
    let mut unified = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        if names_it(controllers) {
            let has_it = |mount: &&Mount| mount.kind == "cgroup" && names_it(&mount.options);
            let (path, top) = dir_of(root, mounts.iter().find(has_it)?, group)?;
            return Some((CgroupVersion::V1, path, top));
        }
        if controllers.is_empty() {
            unified = mounts
                .iter()
                .find(|mount| mount.kind == "cgroup2")
                .and_then(|mount| dir_of(root, mount, group));
        }
    }
    unified.map(|(path, top)| (CgroupVersion::V2, path, top))
}

/// In a container the mounted part may begin at the container's own group, which then is cut off the group's name.
fn dir_of(root: &Root, mount: &Mount, group: &str) -> Option<(PathBuf, PathBuf)> {
    let group = Path::new(group);
    let inside = group
        .strip_prefix(&mount.root)
        .or_else(|_| group.strip_prefix("/"))
        .ok()?;
    let top = root.place(&mount.point);
    let path = top.join(inside);
    // A group out of sight has no account here; the top's figures would be another's.
    path.is_dir().then_some((path, top))
}
