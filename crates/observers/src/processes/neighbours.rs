//! What was taken from a run by others: processor time held back by a limit or by heat, and I/O of other processes.
//!
//! Takes the process whose family is at work, gives counters; two readings give what others did in between. Processes
//! that ended in between are not seen, and without root only one's own are. Prevents: a neighbour's work charged to a
//! stack, and a container that shows no other process taken for a host that has none.

use crate::processes::cgroup::own_dir;
use crate::processes::own::{OwnIo, thread_cpu_ns};
use crate::processes::tasks::{Task, Tasks};
use crate::root::{text, value};
use crate::{Clocks, FamilyCpu, Root};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// By process and its start.
type Others = BTreeMap<(u32, u64), Other>;

/// Counters at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Processor time of the family.
    pub family: Option<FamilyCpu>,
    /// Every other process by number and start. `None`: the host's are out of sight.
    others: Option<Others>,
    /// Other processes whose bytes are closed to this one.
    unseen: u64,
    /// How the family's group and those above it were held back by limits on processor time.
    limits: BTreeMap<PathBuf, Limit>,
    /// How often a processor was slowed down for heat, all together.
    thermal: Option<u64>,
    /// Distances of the clocks.
    pub clocks: Clocks,
    /// Processor time that the look cost, the tasks' left out.
    pub cost_cpu_ns: u64,
}

/// Bytes of another process, those of its children that ended among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Other {
    parent: u32,
    /// Read from and sent to block devices.
    moved: [u64; 2],
}

/// What a control group's limit on processor time did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Limit {
    /// Time held back, summed over processors.
    held_ns: u64,
    /// Periods in which the group wanted a processor, and those of them in which it was held back.
    periods: u64,
    held_periods: u64,
}

/// What happened between two readings.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NeighboursDelta {
    /// Processor time of the family.
    pub family_cpu_ns: Option<u64>,
    /// Bytes that other processes read from block devices of the host.
    pub others_read_bytes: Option<u64>,
    /// Bytes that other processes sent to them, or made dirty in the page cache.
    pub others_write_bytes: Option<u64>,
    /// Other processes that could not be looked into at the end.
    pub others_unseen: u64,
    /// Time that a limit held the group back, summed over processors: of its own limit or one above it, whichever did
    /// most.
    pub throttled_ns: Option<u64>,
    /// Share of the periods of that limit in which it did; `None` where there was no period.
    pub throttled_periods_share: Option<f64>,
    /// How often a processor was slowed down for heat.
    pub thermal: Option<u64>,
    /// How far the wall clock was set.
    pub clock_stepped_ns: u64,
    /// How long the host slept.
    pub slept_ns: u64,
}

impl Neighbours {
    /// Of this process, its children and what `servers` name with theirs; the tasks were just read.
    pub fn read(tasks: &Tasks, servers: &[u32]) -> Neighbours {
        Neighbours::read_in(&Root::live(), tasks, std::process::id(), servers)
    }

    /// [`read`](Self::read) from a given root.
    pub fn read_in(root: &Root, tasks: &Tasks, own: u32, servers: &[u32]) -> Neighbours {
        let began = thread_cpu_ns();
        let parents: Vec<u32> = std::iter::once(own).chain(servers.iter().copied()).collect();
        let family = tasks.families(&parents);
        let (others, unseen) = match tasks.are_of_host() {
            true => others(root, tasks.processes(), &family),
            false => (None, 0),
        };
        Neighbours {
            others,
            unseen,
            limits: limits(root),
            thermal: thermal(root),
            family: FamilyCpu::of_all_in(root, &family),
            clocks: Clocks::read(),
            cost_cpu_ns: thread_cpu_ns().saturating_sub(began),
        }
    }

    /// What happened since an earlier reading.
    pub fn since(&self, earlier: &Neighbours) -> NeighboursDelta {
        let diff = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let moved = self.others.as_ref().zip(earlier.others.as_ref());
        let moved = moved.map(|(now, before)| [0, 1].map(|way| moved_since(now, before, way)));
        let limit = self.limited_most(earlier);
        let clocks = self.clocks.since(&earlier.clocks);
        NeighboursDelta {
            family_cpu_ns: self.family.zip(earlier.family).map(|(now, before)| {
                let used = now.since(&before);
                used.user_ns + used.system_ns
            }),
            others_read_bytes: moved.map(|moved| moved[0]),
            others_write_bytes: moved.map(|moved| moved[1]),
            others_unseen: self.unseen,
            throttled_ns: limit.map(|limit| limit.held_ns),
            throttled_periods_share: limit
                .filter(|limit| limit.periods > 0)
                .map(|limit| limit.held_periods as f64 / limit.periods as f64),
            thermal: diff(self.thermal, earlier.thermal),
            clock_stepped_ns: clocks.stepped_ns,
            slept_ns: clocks.slept_ns,
        }
    }
}

impl Neighbours {
    /// The limit that held back most since then: each by its own counters, for one that did much long ago did nothing
    /// now.
    fn limited_most(&self, earlier: &Neighbours) -> Option<Limit> {
        let since = |(dir, now): (&PathBuf, &Limit)| {
            let before = earlier.limits.get(dir)?;
            Some(Limit {
                held_ns: now.held_ns.checked_sub(before.held_ns)?,
                periods: now.periods.checked_sub(before.periods)?,
                held_periods: now.held_periods.checked_sub(before.held_periods)?,
            })
        };
        let all = self.limits.iter().filter_map(since);
        all.max_by_key(|limit| (limit.held_periods, limit.held_ns, limit.periods))
    }
}

/// Bytes that processes moved in one direction. A process that ended in between leaves its whole life to the parent
/// that waited for it: what was counted of it before is taken off there again, or off the next above that is still
/// there.
fn moved_since(now: &Others, before: &Others, way: usize) -> u64 {
    let living: BTreeMap<u32, (u32, u64)> = now.keys().map(|key| (key.0, *key)).collect();
    let were: BTreeMap<u32, u32> = before.iter().map(|(key, one)| (key.0, one.parent)).collect();
    let mut left: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for (_, one) in before.iter().filter(|(key, _)| !now.contains_key(key)) {
        let mut parent = one.parent;
        // Bounded, for numbers are given again and may make a ring.
        for _ in 0..before.len() {
            match (
                living.get(&parent).filter(|key| before.contains_key(*key)),
                were.get(&parent),
            ) {
                (Some(key), _) => {
                    *left.entry(*key).or_default() += one.moved[way];
                    break;
                }
                (None, Some(above)) => parent = *above,
                (None, None) => break,
            }
        }
    }
    let of_one = |(key, one): (&(u32, u64), &Other)| {
        let known = before.get(key).map_or(0, |one| one.moved[way]);
        let inherited = left.get(key).copied().unwrap_or(0);
        one.moved[way].saturating_sub(known.saturating_add(inherited))
    };
    now.iter().map(of_one).sum()
}

/// Bytes of all processes but a family's, as far as they may be seen (`None` when none may), and how many may not.
fn others<'a>(root: &Root, processes: impl Iterator<Item = &'a Task>, family: &[u32]) -> (Option<Others>, u64) {
    let (mut found, mut unseen) = (BTreeMap::new(), 0);
    for one in processes.filter(|one| !family.contains(&one.pid)) {
        // Without root those of other users are closed; even to root those that may not be traced.
        let io = root.proc_text(&format!("{}/io", one.pid));
        match io.and_then(|text| OwnIo::parse(&text)) {
            Some(io) => {
                let other = Other {
                    parent: one.parent,
                    moved: [io.read_bytes, io.write_bytes],
                };
                found.insert((one.pid, one.start_ticks), other);
            }
            // One that ended meanwhile is closed to nobody.
            None => unseen += u64::from(root.proc_text(&format!("{}/stat", one.pid)).is_some()),
        }
    }
    // One that sees nobody sees nothing.
    ((!found.is_empty()).then_some(found), unseen)
}

/// Of the processor group of this process and those above it: a limit further up holds back all below.
/// Source: `Documentation/scheduler/sched-bwc.rst` and `cgroup-v2.rst` of the kernel.
fn limits(root: &Root) -> BTreeMap<PathBuf, Limit> {
    let Some((_, path, top)) = own_dir(root, "cpu") else {
        return BTreeMap::new();
    };
    let dirs = path.ancestors().take_while(|dir| dir.starts_with(&top));
    dirs.filter_map(|dir| Some((dir.to_path_buf(), limit(dir)?))).collect()
}

fn limit(dir: &Path) -> Option<Limit> {
    let stat = text(&dir.join("cpu.stat"))?;
    let field = |name: &str| -> Option<u64> {
        let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Limit {
        held_ns: field("throttled_time ").or_else(|| field("throttled_usec ")?.checked_mul(1_000))?,
        periods: field("nr_periods ").unwrap_or(0),
        held_periods: field("nr_throttled ").unwrap_or(0),
    })
}

/// Cores and packages; each of their processors tells the same of them. Other processors than those of x86 do not count
/// it. Source: `Documentation/ABI/testing/sysfs-devices-system-cpu` of the kernel.
fn thermal(root: &Root) -> Option<u64> {
    let dir = root.sys.join("devices/system/cpu");
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for entry in std::fs::read_dir(dir).ok()?.flatten() {
        let of = |file: &str| value(&entry.path().join(file));
        let package = of("topology/physical_package_id").unwrap_or_default();
        let core = of("topology/core_id").unwrap_or_else(|| entry.file_name().to_string_lossy().into_owned());
        for (file, whose) in [
            ("thermal_throttle/core_throttle_count", format!("core {package} {core}")),
            ("thermal_throttle/package_throttle_count", format!("package {package}")),
        ] {
            if let Some(count) = of(file).and_then(|text| text.parse::<u64>().ok()) {
                let known = counts.entry(whose).or_default();
                *known = count.max(*known);
            }
        }
    }
    (!counts.is_empty()).then(|| counts.values().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Process and its start, its parent, bytes read and written.
    type Traffic = ((u32, u64), u32, [u64; 2]);

    fn reading(others: &[Traffic], limits: &[(&str, [u64; 3])]) -> Neighbours {
        let other = |(key, parent, moved): &Traffic| {
            let one = Other {
                parent: *parent,
                moved: *moved,
            };
            (*key, one)
        };
        let limit = |(dir, [held_ns, periods, held_periods]): &(&str, [u64; 3])| {
            let one = Limit {
                held_ns: *held_ns,
                periods: *periods,
                held_periods: *held_periods,
            };
            (PathBuf::from(dir), one)
        };
        Neighbours {
            family: None,
            others: Some(others.iter().map(other).collect()),
            unseen: 2,
            limits: limits.iter().map(limit).collect(),
            thermal: None,
            clocks: Clocks { wall_ns: 0, boot_ns: 0 },
            cost_cpu_ns: 0,
        }
    }

    #[test]
    fn processes_that_came_count_whole_and_those_that_went_not_at_all() {
        let before = reading(&[((1, 5), 0, [100, 10]), ((2, 5), 1, [100, 10])], &[]);
        let now = reading(
            &[((1, 5), 0, [250, 20]), ((3, 9), 1, [7, 70]), ((2, 6), 1, [1, 1])],
            &[],
        );
        let delta = now.since(&before);
        // The second ended and its number was given again; the first, which waited for it, had its 100 and 10 put to
        // its own 50.
        assert_eq!(delta.others_read_bytes, Some(50 + 7 + 1));
        assert_eq!(delta.others_write_bytes, Some(70 + 1));
        assert_eq!(
            (delta.others_unseen, delta.throttled_ns, delta.thermal),
            (2, None, None)
        );
    }

    #[test]
    fn what_a_child_had_moved_before_it_ended_is_not_its_parents_work() {
        let gib = 1 << 30;
        // A shell, its backup and the backup's writer, which had moved a gibibyte before; both end, the shell waits.
        let before = reading(&[((1, 1), 0, [0, 0]), ((2, 2), 1, [5, 0]), ((3, 3), 2, [gib, 0])], &[]);
        let now = reading(&[((1, 1), 0, [gib + 5 + 4096, 0])], &[]);
        assert_eq!(now.since(&before).others_read_bytes, Some(4096));
        // Nobody waited: then nothing is put to anybody, and nothing is taken off below nought.
        let now = reading(&[((1, 1), 0, [0, 0])], &[]);
        assert_eq!(now.since(&before).others_read_bytes, Some(0));
        // A ring of numbers that were given again ends.
        let ring = reading(&[((4, 1), 5, [9, 0]), ((5, 1), 4, [9, 0])], &[]);
        assert_eq!(now.since(&ring).others_read_bytes, Some(0));
    }

    #[test]
    fn the_limit_that_holds_back_now_is_told_from_one_that_did_long_ago() {
        let before = reading(&[], &[("/a", [9_000_000, 500, 400]), ("/a/b", [10, 100, 0])]);
        let now = reading(&[], &[("/a", [9_000_000, 520, 400]), ("/a/b", [810, 120, 8])]);
        let delta = now.since(&before);
        assert_eq!(delta.throttled_ns, Some(800));
        assert_eq!(delta.throttled_periods_share, Some(0.4));
        let idle = now.since(&now);
        assert_eq!((idle.throttled_ns, idle.throttled_periods_share), (Some(0), None));
    }

    #[test]
    fn where_no_thread_of_the_kernel_is_in_sight_nobody_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
            live: false,
            ..Root::live()
        };
        let put = |pid: u32, flags: u64, io: Option<u64>| {
            let dir = root.proc.join(pid.to_string());
            std::fs::create_dir_all(&dir).unwrap();
            let stat = format!("{pid} (one) S 0 0 0 0 -1 {flags} 0 0 0 0 7 8 0 0 0 -20 1 0 5 0 0 0\n");
            std::fs::write(dir.join("stat"), stat).unwrap();
            if let Some(bytes) = io {
                let io = format!(
                    "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {bytes}\nwrite_bytes: \
                     0\ncancelled_write_bytes: 0\n"
                );
                std::fs::write(dir.join("io"), io).unwrap();
            }
        };
        let look = || Neighbours::read_in(&root, &Tasks::read_in(&root), 9, &[]);
        // A container: its own init and the tool, and nobody of the host's.
        put(1, 0x0040_0100, Some(0));
        put(9, 0x0040_0000, Some(0));
        let before = look();
        put(1, 0x0040_0100, Some(1 << 20));
        let hidden = look().since(&before);
        assert_eq!(
            (
                hidden.others_read_bytes,
                hidden.others_write_bytes,
                hidden.others_unseen
            ),
            (None, None, 0)
        );
        // The host: its threads are in sight, so a process that is not there is not there.
        put(2, 0x0020_8040, None);
        let before = look();
        put(1, 0x0040_0100, Some(3 << 20));
        let seen = look().since(&before);
        assert_eq!(seen.others_read_bytes, Some(2 << 20));
        // Sight that begins in between begins with nothing known.
        assert_eq!(
            look().since(&Neighbours { others: None, ..before }).others_read_bytes,
            None
        );
    }

    #[test]
    fn both_versions_of_control_groups_tell_how_long_they_held_back() {
        let dir = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            std::fs::write(dir.path().join("cpu.stat"), text).unwrap();
            limit(dir.path()).map(|limit| (limit.held_ns, limit.periods, limit.held_periods))
        };
        let old = "nr_periods 5\nnr_throttled 3\nthrottled_time 70123000\n";
        assert_eq!(said(old), Some((70_123_000, 5, 3)));
        let new = "usage_usec 9\nuser_usec 5\nnr_periods 5\nnr_throttled 3\nthrottled_usec 70123\n";
        assert_eq!(said(new), Some((70_123_000, 5, 3)));
        assert_eq!(said("usage_usec 9\n"), None);
    }

    #[test]
    fn heat_is_counted_once_for_a_core_and_once_for_a_package() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
            ..Root::live()
        };
        assert_eq!(thermal(&root), None);
        // Two processors of one core, one of another, in one package.
        for (cpu, core, cores) in [(0, 0, 3), (1, 0, 3), (2, 1, 4)] {
            let cpu = root.sys.join(format!("devices/system/cpu/cpu{cpu}"));
            std::fs::create_dir_all(cpu.join("thermal_throttle")).unwrap();
            std::fs::create_dir_all(cpu.join("topology")).unwrap();
            let put = |file: &str, value: u64| std::fs::write(cpu.join(file), format!("{value}\n")).unwrap();
            put("topology/physical_package_id", 0);
            put("topology/core_id", core);
            put("thermal_throttle/core_throttle_count", cores);
            put("thermal_throttle/package_throttle_count", 10);
        }
        assert_eq!(thermal(&root), Some(3 + 4 + 10));
    }

    #[test]
    fn a_process_beside_this_one_is_seen_and_a_child_is_not() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        if !Tasks::read().are_of_host() {
            return;
        }
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let script = format!(
            "dd if=/dev/zero of={}/file bs=1M count=8 conv=fsync 2>/dev/null; echo done; sleep 60",
            dir.path().display()
        );
        let root = Root::live();
        let own = Neighbours::read(&Tasks::read(), &[]);
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", &script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let now = Neighbours::read(&Tasks::read(), &[]);
        // To a stranger the shell, which waited for its child, has written all of it.
        let stranger = others(&root, Tasks::read().processes(), &[]).0.unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let of_shell: Vec<_> = stranger.iter().filter(|((pid, _), _)| *pid == child.id()).collect();
        assert_eq!(of_shell.len(), 1);
        assert!(now.others.unwrap().keys().all(|(pid, _)| *pid != child.id()));
        assert!(now.family.is_some() && own.family.is_some());
    }
}
