//! What a running tool costs, seen from outside: the CPU time of all its threads, and of the whole machine, over one
//! window of its run.
//!
//! Takes a process id twice, gives nanoseconds. The same for our side and for theirs. Prevents: CPU per I/O that
//! leaves out kernel threads (loop workers, completions in interrupts), start-up counted as cost, and each side
//! measured its own way.

use anyhow::Context;
use observers::SystemCpu;
use std::collections::BTreeMap;
use std::time::Instant;

/// A thread that has used less only starts others; its end is not that of the loop.
const STARTER_NS: u64 = 10_000_000;

/// CPU time up to one moment.
pub(crate) struct Account {
    at: Instant,
    /// Idle, waiting and stolen time of all CPUs, ns: what was not work.
    unused_ns: u64,
    cpus: u64,
    /// By process and thread.
    threads: BTreeMap<(u32, u32), u64>,
}

/// CPU time over a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// CPU seconds of the process and its children, a second.
    pub(crate) process: f64,
    /// CPU seconds of the machine, a second.
    pub(crate) system: f64,
}

impl Account {
    pub(crate) fn take(process: u32) -> anyhow::Result<Account> {
        let mut threads = BTreeMap::new();
        for pid in family(process) {
            threads_of(pid, &mut threads);
        }
        let text = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        let at = Instant::now();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let cpu = SystemCpu::parse(&text, tick_ns).context("/proc/stat is in no known form")?;
        let all = cpu.all;
        Ok(Account {
            at,
            unused_ns: all.idle_ns + all.iowait_ns + all.steal_ns,
            cpus: cpu.each.len() as u64,
            threads,
        })
    }

    /// From an earlier account to this one. A thread that began in between counts from zero; one that ended has taken
    /// its time with it, and then there is no account: the loop ended inside the window.
    pub(crate) fn since(&self, earlier: &Account) -> Option<Spent> {
        let gone = |id: &(u32, u32)| !self.threads.contains_key(id);
        if earlier.threads.iter().any(|(id, ns)| gone(id) && *ns > STARTER_NS) || self.threads.is_empty() {
            return None;
        }
        let seconds = self.at.duration_since(earlier.at).as_secs_f64();
        let ran: u64 = self
            .threads
            .iter()
            .map(|(id, ns)| ns.saturating_sub(earlier.threads.get(id).copied().unwrap_or(0)))
            .sum();
        // Idle time is exact where busy time is sampled by the tick.
        let unused = self.unused_ns.saturating_sub(earlier.unused_ns) as f64 / 1e9;
        Some(Spent {
            seconds,
            process: ran as f64 / 1e9 / seconds,
            system: (seconds * self.cpus as f64 - unused).max(0.0) / seconds,
        })
    }
}

/// A process and its descendants.
pub(crate) fn family(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(
                text.split_ascii_whitespace()
                    .filter_map(|word| word.parse::<u32>().ok()),
            );
        }
    }
    found
}

/// CPU time of each thread, ns, from the scheduler itself: exact, where `stat` counts by the tick.
fn threads_of(pid: u32, into: &mut BTreeMap<(u32, u32), u64>) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return;
    };
    for task in tasks.flatten() {
        let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        if let Some(ns) = text.split_ascii_whitespace().next().and_then(|word| word.parse().ok()) {
            into.insert((pid, tid), ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_spins_is_seen_to_spin() {
        let own = std::process::id();
        let before = Account::take(own).unwrap();
        let mut sum = 0u64;
        while before.at.elapsed().as_millis() < 200 {
            sum = std::hint::black_box(sum + 1);
        }
        let spent = Account::take(own).unwrap().since(&before).unwrap();
        assert!(spent.process > 0.0 && spent.seconds >= 0.2, "{spent:?}");
    }
}
