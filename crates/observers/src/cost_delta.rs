//! CPU time between two snapshots: of the machine, of kernel threads, of this process.
//!
//! Takes counters of both moments, gives differences. Prevents: a thread that began in between being left out, one that
//! ended being counted as negative, and processors that a run may not use taken for its room.

use std::collections::BTreeMap;

use crate::{CpuTimes, KernelThread, OwnCounters, Snapshot};

/// CPU time spent by the machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuDelta {
    /// All CPUs together. Idle, waiting and stolen time may step back a little in the kernel; such a step counts as
    /// none.
    pub all: CpuTimes,
    /// By number of CPU, those online at both moments.
    pub each: BTreeMap<u32, CpuTimes>,
    /// Those that this process may run on, together, where they are fewer than those online; `None`: all of them, or
    /// nobody tells.
    pub allowed: Option<AllowedCpu>,
    /// Context switches.
    pub context_switches: Option<u64>,
}

/// CPU time of the processors that this process and what it starts may run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AllowedCpu {
    /// How many they are.
    pub processors: u32,
    /// Their time.
    pub times: CpuTimes,
}

impl CpuDelta {
    pub(crate) fn between(earlier: &Snapshot, later: &Snapshot) -> Self {
        let (a, b) = (&earlier.cpu, &later.cpu);
        let pairs = b
            .each
            .iter()
            .filter_map(|(cpu, now)| Some((*cpu, times(a.each.get(cpu)?, now))));
        let each = pairs.collect();
        CpuDelta {
            all: times(&a.all, &b.all),
            allowed: allowed([earlier, later], &each),
            each,
            context_switches: opt(a.context_switches, b.context_switches),
        }
    }

    /// Of the processors that this process may run on.
    pub fn here(&self) -> &CpuTimes {
        self.allowed.as_ref().map_or(&self.all, |allowed| &allowed.times)
    }

    /// Share of the CPU time of the processors that this process may run on, in which nothing ran there (idle and
    /// waiting for I/O), 0 to 1; `None` when no tick has passed.
    pub fn idle_share(&self) -> Option<f64> {
        let here = self.here();
        let idle = here.idle_ns.saturating_add(here.iowait_ns);
        let total = here.busy_ns().saturating_add(idle).saturating_add(here.steal_ns);
        (total > 0).then(|| idle as f64 / total as f64)
    }
}

/// Those that may be used at either end, if they are fewer than those online.
fn allowed(ends: [&Snapshot; 2], each: &BTreeMap<u32, CpuTimes>) -> Option<AllowedCpu> {
    let [early, late] = ends.map(|end| end.affinity.as_ref());
    let (early, late) = (early?, late?);
    // A container's own view of `/proc/stat` numbers its processors anew: then a list as long as what is seen is all of
    // it.
    if early.count().max(late.count()) >= each.len() as u64 {
        return None;
    }
    let mut found = AllowedCpu::default();
    for (_, times) in each.iter().filter(|(cpu, _)| early.allows(**cpu) || late.allows(**cpu)) {
        found.processors += 1;
        found.times = each_time(&found.times, times, u64::saturating_add);
    }
    (found.processors > 0).then_some(found)
}

/// Each kind of time of both, by the same arithmetic.
fn each_time(a: &CpuTimes, b: &CpuTimes, with: fn(u64, u64) -> u64) -> CpuTimes {
    CpuTimes {
        user_ns: with(a.user_ns, b.user_ns),
        nice_ns: with(a.nice_ns, b.nice_ns),
        system_ns: with(a.system_ns, b.system_ns),
        idle_ns: with(a.idle_ns, b.idle_ns),
        iowait_ns: with(a.iowait_ns, b.iowait_ns),
        irq_ns: with(a.irq_ns, b.irq_ns),
        softirq_ns: with(a.softirq_ns, b.softirq_ns),
        steal_ns: with(a.steal_ns, b.steal_ns),
    }
}

pub(crate) fn times(a: &CpuTimes, b: &CpuTimes) -> CpuTimes {
    each_time(b, a, u64::saturating_sub)
}

/// A difference of counters that not every kernel has, and that may have been made anew.
pub(crate) fn opt(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    b?.checked_sub(a?)
}

/// CPU time spent by kernel threads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelThreadsDelta {
    /// All of them.
    pub cpu_ns: u64,
    /// By kind, those that ran.
    pub families: BTreeMap<String, u64>,
    /// Threads that ended in between; what they used since the earlier moment is missing above (not in [`CpuDelta`]).
    pub ended: u64,
}

impl KernelThreadsDelta {
    pub(crate) fn between(earlier: &[KernelThread], later: &[KernelThread]) -> Self {
        let key = |thread: &KernelThread| (thread.pid, thread.start_ticks);
        let mut before: BTreeMap<(u32, u64), u64> = earlier.iter().map(|thread| (key(thread), thread.cpu_ns)).collect();
        let mut delta = KernelThreadsDelta::default();
        for thread in later {
            // A thread that was not there before began at nothing, and all it used is ours.
            let used = thread.cpu_ns.saturating_sub(before.remove(&key(thread)).unwrap_or(0));
            delta.cpu_ns = delta.cpu_ns.saturating_add(used);
            if used > 0 {
                let family = delta.families.entry(thread.family.clone()).or_default();
                *family = family.saturating_add(used);
            }
        }
        delta.ended = before.len() as u64;
        delta
    }
}

/// What this process used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnDelta {
    /// CPU time of all threads, by the process's clock.
    pub cpu_ns: Option<u64>,
    /// User part, in whole clock ticks.
    pub user_ns: u64,
    /// System part, in whole clock ticks.
    pub system_ns: u64,
    /// Page faults that waited for storage.
    pub faults_major: u64,
}

impl OwnDelta {
    pub(crate) fn between(a: &OwnCounters, b: &OwnCounters) -> Option<Self> {
        Some(OwnDelta {
            cpu_ns: opt(a.cpu_ns, b.cpu_ns),
            user_ns: b.user_ns.checked_sub(a.user_ns)?,
            system_ns: b.system_ns.checked_sub(a.system_ns)?,
            faults_major: b.faults_major.checked_sub(a.faults_major)?,
        })
    }
}
