//! Control groups of memory, version 1 and 2: found, made, entered, left, removed.
//!
//! Takes the roots of `/proc` and of the hierarchy's mount, so that tests can bring their own. Prevents the guess that
//! a machine has version 2 only, or that the process lives at the root of the hierarchy.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Which interface a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// Where the memory controller is, and where in it the process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    /// Mount point.
    pub(crate) root: PathBuf,
    /// Directory of the process's own group.
    pub(crate) own: PathBuf,
}

/// Finds the hierarchy with the memory controller, from the text of `/proc/<pid>/mountinfo` and `/proc/<pid>/cgroup`.
pub(crate) fn find(mountinfo: &str, membership: &str) -> Result<Hierarchy, String> {
    let mounted = |kind: &str, option: Option<&str>| {
        mountinfo.lines().find_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let mut back = back.split(' ');
            let (found, options) = (back.next()?, back.nth(1)?);
            let fits = found == kind && option.is_none_or(|o| options.split(',').any(|x| x == o));
            let place = front.split(' ').nth(4)?;
            fits.then(|| PathBuf::from(crate::host::mounts::unescape(place)))
        })
    };
    let member = |wanted: &dyn Fn(&str, &str) -> bool| {
        membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            wanted(number, controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let one = member(&|_, controllers| controllers.split(',').any(|c| c == "memory"));
    if let (Some(root), Some(path)) = (mounted("cgroup", Some("memory")), one) {
        return Ok(place(Version::One, root, &path));
    }
    let two = member(&|number, controllers| number == "0" && controllers.is_empty());
    match (mounted("cgroup2", None), two) {
        (Some(root), Some(path)) => Ok(place(Version::Two, root, &path)),
        _ => Err("no control group file system with the memory controller is mounted".to_owned()),
    }
}

/// In a container the path may be that of the host, which is not to be seen; then the root of the mount is one's own.
fn place(version: Version, root: PathBuf, path: &str) -> Hierarchy {
    let own = root.join(path);
    let own = if own.is_dir() { own } else { root.clone() };
    Hierarchy { version, root, own }
}

impl Hierarchy {
    /// Directories under which a group with a memory limit might be made, the nearest first.
    pub(crate) fn parents(&self) -> Vec<PathBuf> {
        match self.version {
            Version::One => vec![self.own.clone()],
            // A group of version 2 that holds processes can't hand its controllers down, so the new group is a sibling
            // or further up, where memory is handed down already. The root alone may hold both.
            Version::Two => {
                let hands_down = |dir: &&Path| {
                    std::fs::read_to_string(dir.join("cgroup.subtree_control"))
                        .is_ok_and(|list| list.split_whitespace().any(|c| c == "memory"))
                };
                self.own
                    .ancestors()
                    .take_while(|dir| dir.starts_with(&self.root))
                    .filter(|dir| *dir != self.own || *dir == self.root)
                    .filter(hands_down)
                    .map(Path::to_owned)
                    .collect()
            }
        }
    }
}

impl Version {
    /// The file that holds the limit in bytes.
    pub(crate) fn limit_file(self) -> &'static str {
        match self {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        }
    }
}

/// Moves a process, with all its threads, into a group.
pub(crate) fn admit(group: &Path, pid: u32) -> io::Result<()> {
    std::fs::write(group.join("cgroup.procs"), pid.to_string())
}

/// Removes a group. Processes still in it (orphans of a killed run) are moved up first. Gone already: fine.
pub(crate) fn remove(group: &Path, patience: Duration) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match std::fs::remove_dir(group) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if Errno::from_io_error(&e) == Some(Errno::BUSY) && start.elapsed() < patience => {
                let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
                for pid in members.split_whitespace().filter_map(|p| p.parse().ok()) {
                    // One that ends meanwhile can't be moved and need not be.
                    if let Some(parent) = group.parent() {
                        let _ = admit(parent, pid);
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "30 29 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      33 29 0:29 / /nonesuch/memory rw,relatime - cgroup cgroup rw,memory\n\
                      38 29 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const V2: &str = "38 29 0:34 / /nonesuch/v2 rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_1_is_taken_where_it_has_the_memory_controller() {
        let found = find(V1, "4:memory:/a/b\n0::/x\n").expect("found");
        assert_eq!(found.version, Version::One);
        assert_eq!(found.root, PathBuf::from("/nonesuch/memory"));
        // The path is not to be seen, as in a container: the root of the mount.
        assert_eq!(found.own, found.root);
        assert_eq!(find(V2, "0::/x\n").expect("found").version, Version::Two);
        assert!(find("", "0::/x\n").is_err());
    }

    #[test]
    fn a_group_of_version_2_is_made_where_memory_is_handed_down() {
        let top = std::env::temp_dir().join(format!("assay-cgroup-test-{}", std::process::id()));
        let own = top.join("user.slice/user-0.slice/session.scope");
        std::fs::create_dir_all(&own).expect("made");
        std::fs::write(top.join("cgroup.subtree_control"), "cpu memory\n").expect("written");
        std::fs::write(top.join("user.slice/cgroup.subtree_control"), "cpu memory pids\n").expect("written");
        std::fs::write(top.join("user.slice/user-0.slice/cgroup.subtree_control"), "pids\n").expect("written");
        let hierarchy = Hierarchy {
            version: Version::Two,
            root: top.clone(),
            own,
        };
        let parents = hierarchy.parents();
        std::fs::remove_dir_all(&top).expect("removed");
        assert_eq!(parents, [top.join("user.slice"), top]);
    }
}
