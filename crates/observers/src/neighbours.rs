//! What was taken from a run by others: processor time held back by a limit or by heat, and I/O of other processes.
//!
//! Takes the process whose family is at work, gives counters; two readings give what others did in between. Processes that ended in
//! between are not seen, and without root only one's own are. Prevents: a neighbour's work charged to a stack.

use crate::own::{OwnIo, parse_task, thread_cpu_ns};
use crate::root::{text, value};
use crate::{Clocks, FamilyCpu, Root};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `PF_KTHREAD` of `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Counters at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Processor time of the family.
    pub family: Option<FamilyCpu>,
    /// Bytes of every other process by number and start: read from and sent to block devices. `None`: not to be seen.
    others: Option<BTreeMap<(u32, u64), (u64, u64)>>,
    /// Time that the family's group was held back by its limit on processor time.
    throttled_ns: Option<u64>,
    /// How often a processor was slowed down for heat, all together.
    thermal: Option<u64>,
    /// Distances of the clocks.
    pub clocks: Clocks,
    /// Processor time that the look cost.
    pub cost_cpu_ns: u64,
}

/// What happened between two readings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeighboursDelta {
    /// Processor time of the family.
    pub family_cpu_ns: Option<u64>,
    /// Bytes that other processes read from block devices of the host.
    pub others_read_bytes: Option<u64>,
    /// Bytes that other processes sent to them, or made dirty in the page cache.
    pub others_write_bytes: Option<u64>,
    /// Time that the group was held back.
    pub throttled_ns: Option<u64>,
    /// How often a processor was slowed down for heat.
    pub thermal: Option<u64>,
    /// How far the wall clock was set.
    pub clock_stepped_ns: u64,
    /// How long the host slept.
    pub slept_ns: u64,
}

impl Neighbours {
    /// Of this process, its children and what `servers` name with theirs.
    pub fn read(servers: &[u32]) -> Neighbours {
        Neighbours::read_in(&Root::live(), std::process::id(), servers)
    }

    /// [`read`](Self::read) from a given root.
    pub fn read_in(root: &Root, own: u32, servers: &[u32]) -> Neighbours {
        let began = thread_cpu_ns();
        let processes = processes(root);
        let mut family: Vec<u32> = std::iter::once(own).chain(servers.iter().copied()).collect();
        let mut at = 0;
        while let Some(parent) = family.get(at).copied() {
            let children = processes
                .iter()
                .filter(|one| one.parent == parent && !family.contains(&one.pid));
            let children: Vec<u32> = children.map(|one| one.pid).collect();
            family.extend(children);
            at += 1;
        }
        Neighbours {
            others: others(root, &processes, &family),
            throttled_ns: throttled_ns(root),
            thermal: thermal(root),
            family: FamilyCpu::of_all_in(root, &family),
            clocks: Clocks::read(),
            cost_cpu_ns: thread_cpu_ns().saturating_sub(began),
        }
    }

    /// What happened since an earlier reading.
    pub fn since(&self, earlier: &Neighbours) -> NeighboursDelta {
        let diff = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let moved = |of: fn(&(u64, u64)) -> u64| -> Option<u64> {
            let (now, before) = (self.others.as_ref()?, earlier.others.as_ref()?);
            let of_one = |(key, bytes)| of(bytes).saturating_sub(before.get(key).map_or(0, of));
            Some(now.iter().map(of_one).sum())
        };
        let clocks = self.clocks.since(&earlier.clocks);
        NeighboursDelta {
            family_cpu_ns: self.family.zip(earlier.family).map(|(now, before)| {
                let used = now.since(&before);
                used.user_ns + used.system_ns
            }),
            others_read_bytes: moved(|bytes| bytes.0),
            others_write_bytes: moved(|bytes| bytes.1),
            throttled_ns: diff(self.throttled_ns, earlier.throttled_ns),
            thermal: diff(self.thermal, earlier.thermal),
            clock_stepped_ns: clocks.stepped_ns,
            slept_ns: clocks.slept_ns,
        }
    }
}

/// A process that is no thread of the kernel.
struct Process {
    pid: u32,
    parent: u32,
    start_ticks: u64,
}

/// All that are to be seen, in one walk: opening files is what a look costs.
fn processes(root: &Root) -> Vec<Process> {
    let entries = std::fs::read_dir(&root.proc).into_iter().flatten().flatten();
    let of = |pid: u32| {
        // Processes end while we walk.
        let stat = root.proc_text(&format!("{pid}/stat"))?;
        let task = parse_task(&stat).filter(|task| task.flags & KERNEL_THREAD == 0)?;
        Some(Process {
            pid,
            parent: u32::try_from(task.parent).ok()?,
            start_ticks: task.start_ticks,
        })
    };
    entries
        .filter_map(|entry| of(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Bytes of all processes but a family's, as far as they may be seen; `None` when none may.
fn others(root: &Root, processes: &[Process], family: &[u32]) -> Option<BTreeMap<(u32, u64), (u64, u64)>> {
    let mut found = BTreeMap::new();
    for one in processes.iter().filter(|one| !family.contains(&one.pid)) {
        // Without root those of other users are closed; even to root those that may not be traced.
        if let Some(io) = root
            .proc_text(&format!("{}/io", one.pid))
            .and_then(|text| OwnIo::parse(&text))
        {
            found.insert((one.pid, one.start_ticks), (io.read_bytes, io.write_bytes));
        }
    }
    // One that sees nobody sees nothing.
    (!found.is_empty()).then_some(found)
}

/// Of the processor group of this process and those above it, the most: a limit further up holds back all below.
/// Source: `Documentation/scheduler/sched-bwc.rst` and `cgroup-v2.rst` of the kernel.
fn throttled_ns(root: &Root) -> Option<u64> {
    let (top, path) = processor_group(root)?;
    let dirs = path.ancestors().take_while(|dir| dir.starts_with(&top));
    dirs.filter_map(held_back_ns).max()
}

fn held_back_ns(dir: &Path) -> Option<u64> {
    let stat = text(&dir.join("cpu.stat"))?;
    let field = |name: &str| -> Option<u64> {
        let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    field("throttled_time ").or_else(|| field("throttled_usec ")?.checked_mul(1_000))
}

/// Where the hierarchy of the processor controller is mounted, and this process's directory in it.
fn processor_group(root: &Root) -> Option<(PathBuf, PathBuf)> {
    let groups = root.proc_text("self/cgroup")?;
    let mounts = crate::mountinfo::parse(&root.proc_text("self/mountinfo")?);
    let mut found = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let of_cpu = |options: &str| options.split(',').any(|option| option == "cpu");
        let mount = match controllers {
            "" => mounts.iter().find(|mount| mount.kind == "cgroup2"),
            list if of_cpu(list) => mounts
                .iter()
                .find(|mount| mount.kind == "cgroup" && of_cpu(&mount.options)),
            _ => None,
        };
        if let Some((path, top)) = mount.and_then(|mount| crate::cgroup::dir_of(root, mount, group)) {
            // Version 1 has the controller wherever it is mounted.
            if !controllers.is_empty() {
                return Some((top, path));
            }
            found = Some((top, path));
        }
    }
    found
}

/// Source: `Documentation/arch/x86/` of the kernel; other processors do not count it.
fn thermal(root: &Root) -> Option<u64> {
    let dir = root.sys.join("devices/system/cpu");
    let counts = std::fs::read_dir(dir).ok()?.flatten().filter_map(|entry| {
        value(&entry.path().join("thermal_throttle/core_throttle_count"))?
            .parse::<u64>()
            .ok()
    });
    let counts: Vec<u64> = counts.collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Process and its start, bytes read and written.
    type Traffic = ((u32, u64), (u64, u64));

    fn reading(others: &[Traffic], throttled_ns: u64) -> Neighbours {
        Neighbours {
            family: None,
            others: Some(others.iter().copied().collect()),
            throttled_ns: Some(throttled_ns),
            thermal: None,
            clocks: Clocks { wall_ns: 0, boot_ns: 0 },
            cost_cpu_ns: 0,
        }
    }

    #[test]
    fn processes_that_came_count_whole_and_those_that_went_not_at_all() {
        let before = reading(&[((1, 5), (100, 10)), ((2, 5), (100, 10))], 40);
        let now = reading(&[((1, 5), (150, 10)), ((3, 9), (7, 70)), ((2, 6), (1, 1))], 50);
        let delta = now.since(&before);
        assert_eq!(delta.others_read_bytes, Some(50 + 7 + 1));
        assert_eq!(delta.others_write_bytes, Some(70 + 1));
        assert_eq!((delta.throttled_ns, delta.thermal), (Some(10), None));
    }

    #[test]
    fn both_versions_of_control_groups_tell_how_long_they_held_back() {
        let dir = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            std::fs::write(dir.path().join("cpu.stat"), text).unwrap();
            held_back_ns(dir.path())
        };
        let old = "nr_periods 5\nnr_throttled 3\nthrottled_time 70123000\n";
        assert_eq!(said(old), Some(70_123_000));
        let new = "usage_usec 9\nuser_usec 5\nnr_periods 5\nnr_throttled 3\nthrottled_usec 70123\n";
        assert_eq!(said(new), Some(70_123_000));
        assert_eq!(said("usage_usec 9\n"), None);
    }

    #[test]
    fn a_process_beside_this_one_is_seen_and_a_child_is_not() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let script = format!(
            "dd if=/dev/zero of={}/file bs=1M count=8 conv=fsync 2>/dev/null; echo done; sleep 60",
            dir.path().display()
        );
        let root = Root::live();
        let own = Neighbours::read(&[]);
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", &script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let now = Neighbours::read(&[]);
        // To a stranger the shell, which waited for its child, has written all of it.
        let stranger = others(&root, &processes(&root), &[]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let of_shell: Vec<_> = stranger.iter().filter(|((pid, _), _)| *pid == child.id()).collect();
        assert_eq!(of_shell.len(), 1);
        assert!(now.others.unwrap().keys().all(|(pid, _)| *pid != child.id()));
        assert!(now.family.is_some() && own.family.is_some());
    }
}
