//! CPU time of kernel threads: loop workers, kworkers, journal and writeback threads.
//!
//! Takes `/proc`, gives one entry per kernel thread. Work done for a stack often runs there and in no process; figures
//! that leave it out flatter copy-on-write and loop-backed stacks. Walks all of `/proc`: for the begin and the end of a
//! phase, not for sampling. (io_uring workers are threads of the process and counted there.)
//! Prevents: a thread number used again by a new thread taken for the same thread.

use crate::Root;
use crate::processes::tasks::Tasks;

/// A kernel thread and what it has used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelThread {
    /// Thread number.
    pub pid: u32,
    /// When it was started, clock ticks since boot: tells two threads of one number apart.
    pub start_ticks: u64,
    /// What kind it is: `loop`, `kworker`, `jbd2`, `xfsaild`, `btrfs`, `kswapd`, …
    pub family: String,
    /// CPU time since its start: nanoseconds by the scheduler where it tells, else whole clock ticks.
    pub cpu_ns: u64,
}

/// All kernel threads among these tasks; `None` when there are none (another PID namespace).
pub(crate) fn read(root: &Root, tasks: &Tasks) -> Option<Vec<KernelThread>> {
    let mut threads = Vec::new();
    for task in tasks.all()? {
        let Some(name) = &task.of_kernel else { continue };
        let scheduler = root.proc_text(&format!("{}/schedstat", task.pid));
        let exact = scheduler.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
        threads.push(KernelThread {
            pid: task.pid,
            start_ticks: task.start_ticks,
            family: family(name),
            cpu_ns: exact.unwrap_or(task.ticks.saturating_mul(crate::host::cpu::tick_ns())),
        });
    }
    threads.sort_by_key(|thread| (thread.pid, thread.start_ticks));
    (!threads.is_empty()).then_some(threads)
}

/// The kind of thread by its name: what stands before a `/` or, for names like `btrfs-transaction`, before the `-`.
fn family(name: &str) -> String {
    let name = name.split('/').next().unwrap_or(name);
    let name = match name.split_once('-') {
        Some((kind @ ("btrfs" | "xfs" | "ext4" | "jbd2" | "dm" | "md" | "nvme"), _)) => kind,
        _ => name,
    };
    let trimmed = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // `jbd2` has its digit for good.
    let kind = if name.starts_with("jbd2") { "jbd2" } else { trimmed };
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn families_join_what_belongs_together() {
        let cases = [
            ("kworker/0:1H-kblockd", "kworker"),
            ("loop0", "loop"),
            ("loop12", "loop"),
            ("jbd2/vda-8", "jbd2"),
            ("xfsaild/loop0", "xfsaild"),
            ("xfs-data/loop0", "xfs"),
            ("btrfs-transaction", "btrfs"),
            ("btrfs-cleaner", "btrfs"),
            ("kswapd0", "kswapd"),
            ("ksoftirqd/1", "ksoftirqd"),
            ("rcu_preempt", "rcu_preempt"),
        ];
        for (name, expected) in cases {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
