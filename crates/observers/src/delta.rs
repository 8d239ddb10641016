//! What happened between two snapshots.
//!
//! Takes an earlier and a later [`Snapshot`], gives a [`Delta`].
//! Prevents: a counter that went back (a device that was made anew) giving a huge or a zero difference: such a device is
//! listed as lost and has no figures.

use std::collections::BTreeMap;

use crate::{
    Cgroup, CpuTimes, DeviceCounters, Discards, Flushes, KernelThread, Memory, OwnCounters, OwnIo, Pressure, Snapshot,
    Stall, SystemCpu, VmCounters,
};

/// What one device did. Times are sums over requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceDelta {
    /// Read requests completed, after merging.
    pub reads: u64,
    /// Reads merged into others.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent by all reads.
    pub read_ms: u64,
    /// Write requests completed, after merging.
    pub writes: u64,
    /// Writes merged into others.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds spent by all writes.
    pub write_ms: u64,
    /// Milliseconds with at least one request in flight, sampled at clock ticks.
    pub busy_ms: u64,
    /// Milliseconds weighted by requests in flight: over the elapsed time, the mean queue.
    pub weighted_ms: u64,
    /// Discards; `None` where the kernel does not count them.
    pub discards: Option<Discards>,
    /// Cache flushes; `None` where the kernel does not count them.
    pub flushes: Option<Flushes>,
    /// Requests in flight at the earlier moment.
    pub in_flight_begin: u64,
    /// Requests in flight at the later moment: not in the figures above.
    pub in_flight_end: u64,
}

impl DeviceDelta {
    /// The difference; `None` if a counter went back.
    pub fn between(earlier: &DeviceCounters, later: &DeviceCounters) -> Option<Self> {
        let (a, b) = (earlier, later);
        Some(DeviceDelta {
            reads: b.reads.checked_sub(a.reads)?,
            reads_merged: b.reads_merged.checked_sub(a.reads_merged)?,
            read_bytes: b.read_bytes.checked_sub(a.read_bytes)?,
            read_ms: wrapped_ms(a.read_ms, b.read_ms)?,
            writes: b.writes.checked_sub(a.writes)?,
            writes_merged: b.writes_merged.checked_sub(a.writes_merged)?,
            write_bytes: b.write_bytes.checked_sub(a.write_bytes)?,
            write_ms: wrapped_ms(a.write_ms, b.write_ms)?,
            busy_ms: wrapped_ms(a.busy_ms, b.busy_ms)?,
            weighted_ms: wrapped_ms(a.weighted_ms, b.weighted_ms)?,
            discards: match (a.discards, b.discards) {
                (Some(a), Some(b)) => Some(Discards {
                    discards: b.discards.checked_sub(a.discards)?,
                    discards_merged: b.discards_merged.checked_sub(a.discards_merged)?,
                    discard_bytes: b.discard_bytes.checked_sub(a.discard_bytes)?,
                    discard_ms: wrapped_ms(a.discard_ms, b.discard_ms)?,
                }),
                _ => None,
            },
            flushes: match (a.flushes, b.flushes) {
                (Some(a), Some(b)) => Some(Flushes {
                    flushes: b.flushes.checked_sub(a.flushes)?,
                    flush_ms: wrapped_ms(a.flush_ms, b.flush_ms)?,
                }),
                _ => None,
            },
            in_flight_begin: a.in_flight,
            in_flight_end: b.in_flight,
        })
    }
}

/// The kernel prints times as 32-bit numbers, so at great depth they wrap within a day.
fn wrapped_ms(earlier: u64, later: u64) -> Option<u64> {
    match later.checked_sub(earlier) {
        Some(ms) => Some(ms),
        None if earlier <= u64::from(u32::MAX) => Some(later + (1 << 32) - earlier),
        None => None,
    }
}

/// CPU time spent by the machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuDelta {
    /// All CPUs together. Idle, waiting and stolen time may step back a little in the kernel; such a step counts as none.
    pub all: CpuTimes,
    /// By number of CPU, those online at both moments.
    pub each: BTreeMap<u32, CpuTimes>,
    /// Context switches.
    pub context_switches: Option<u64>,
}

impl CpuDelta {
    fn between(earlier: &SystemCpu, later: &SystemCpu) -> Self {
        let pairs = later
            .each
            .iter()
            .filter_map(|(cpu, b)| Some((*cpu, times(earlier.each.get(cpu)?, b))));
        CpuDelta {
            all: times(&earlier.all, &later.all),
            each: pairs.collect(),
            context_switches: opt(earlier.context_switches, later.context_switches),
        }
    }

    /// Share of all CPU time in which nothing ran (idle and waiting for I/O), 0 to 1; `None` when no tick has passed.
    pub fn idle_share(&self) -> Option<f64> {
        let idle = self.all.idle_ns.saturating_add(self.all.iowait_ns);
        let total = self
            .all
            .busy_ns()
            .saturating_add(idle)
            .saturating_add(self.all.steal_ns);
        (total > 0).then(|| idle as f64 / total as f64)
    }
}

pub(crate) fn times(a: &CpuTimes, b: &CpuTimes) -> CpuTimes {
    CpuTimes {
        user_ns: b.user_ns.saturating_sub(a.user_ns),
        nice_ns: b.nice_ns.saturating_sub(a.nice_ns),
        system_ns: b.system_ns.saturating_sub(a.system_ns),
        idle_ns: b.idle_ns.saturating_sub(a.idle_ns),
        iowait_ns: b.iowait_ns.saturating_sub(a.iowait_ns),
        irq_ns: b.irq_ns.saturating_sub(a.irq_ns),
        softirq_ns: b.softirq_ns.saturating_sub(a.softirq_ns),
        steal_ns: b.steal_ns.saturating_sub(a.steal_ns),
    }
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
    fn between(earlier: &[KernelThread], later: &[KernelThread]) -> Self {
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
    fn between(a: &OwnCounters, b: &OwnCounters) -> Option<Self> {
        Some(OwnDelta {
            cpu_ns: opt(a.cpu_ns, b.cpu_ns),
            user_ns: b.user_ns.checked_sub(a.user_ns)?,
            system_ns: b.system_ns.checked_sub(a.system_ns)?,
            faults_major: b.faults_major.checked_sub(a.faults_major)?,
        })
    }
}

/// What happened between two snapshots. Levels (memory, control group, own size) are given at both ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Delta {
    /// Time between the two.
    pub elapsed_ns: u64,
    /// By name, those present at both ends.
    pub devices: BTreeMap<String, DeviceDelta>,
    /// Devices without figures: gone, new, or made anew in between.
    pub lost: Vec<String>,
    /// Devices that do not count (`queue/iostats` is 0 at either end): their figures mean nothing.
    pub unaccounted: Vec<String>,
    /// CPU time of the machine.
    pub cpu: CpuDelta,
    /// CPU time of kernel threads.
    pub kernel_threads: Option<KernelThreadsDelta>,
    /// This process.
    pub own: Option<OwnDelta>,
    /// Bytes moved by this process, differences.
    pub own_io: Option<OwnIo>,
    /// Memory traffic of the machine, differences.
    pub vm: Option<VmCounters>,
    /// Time stalled, differences.
    pub pressure: Pressure,
    /// Memory of this process, bytes, at the earlier and the later moment.
    pub rss_bytes: (Option<u64>, Option<u64>),
    /// Memory of the machine at the earlier and the later moment.
    pub memory: (Option<Memory>, Option<Memory>),
    /// The control group at the earlier and the later moment.
    pub cgroup: (Option<Cgroup>, Option<Cgroup>),
    /// How often the group's limit was hit in between; `None` when it is not told, or the process changed its group.
    pub cgroup_limit_hits: Option<u64>,
    /// CPU time that taking the two snapshots cost; the later one's lies outside the interval.
    pub cost_cpu_ns: u64,
}

impl Snapshot {
    /// What happened since an earlier snapshot.
    pub fn since(&self, earlier: &Snapshot) -> Delta {
        let mut devices = BTreeMap::new();
        let mut lost: Vec<String> = earlier
            .devices
            .keys()
            .filter(|name| !self.devices.contains_key(*name))
            .cloned()
            .collect();
        for (name, later) in &self.devices {
            let delta = earlier
                .devices
                .get(name)
                .and_then(|before| DeviceDelta::between(before, later));
            match delta {
                Some(delta) => drop(devices.insert(name.clone(), delta)),
                None => lost.push(name.clone()),
            }
        }
        let mut unaccounted: Vec<String> = earlier.unaccounted.iter().chain(&self.unaccounted).cloned().collect();
        unaccounted.sort();
        unaccounted.dedup();
        let rss = |snapshot: &Snapshot| snapshot.own.and_then(|own| own.rss_bytes);
        Delta {
            elapsed_ns: self.at_ns.saturating_sub(earlier.at_ns),
            devices,
            lost,
            unaccounted,
            cpu: CpuDelta::between(&earlier.cpu, &self.cpu),
            kernel_threads: both(earlier.kernel_threads.as_ref(), self.kernel_threads.as_ref())
                .map(|(a, b)| KernelThreadsDelta::between(a, b)),
            own: both(earlier.own, self.own).and_then(|(a, b)| OwnDelta::between(&a, &b)),
            own_io: both(earlier.own_io, self.own_io).and_then(|(a, b)| io_between(&a, &b)),
            vm: both(earlier.vm, self.vm).map(|(a, b)| vm_between(&a, &b)),
            pressure: Pressure {
                cpu: stall_between(earlier.pressure.cpu, self.pressure.cpu),
                io: stall_between(earlier.pressure.io, self.pressure.io),
                memory: stall_between(earlier.pressure.memory, self.pressure.memory),
            },
            rss_bytes: (rss(earlier), rss(self)),
            memory: (earlier.memory, self.memory),
            cgroup_limit_hits: both(earlier.cgroup.as_ref(), self.cgroup.as_ref())
                .filter(|(a, b)| a.path == b.path)
                .and_then(|(a, b)| opt(a.limit_hits, b.limit_hits)),
            cgroup: (earlier.cgroup.clone(), self.cgroup.clone()),
            cost_cpu_ns: earlier.cost_cpu_ns.saturating_add(self.cost_cpu_ns),
        }
    }
}

fn both<T>(a: Option<T>, b: Option<T>) -> Option<(T, T)> {
    a.zip(b)
}

fn opt(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    b?.checked_sub(a?)
}

fn io_between(a: &OwnIo, b: &OwnIo) -> Option<OwnIo> {
    Some(OwnIo {
        read_asked_bytes: b.read_asked_bytes.checked_sub(a.read_asked_bytes)?,
        write_asked_bytes: b.write_asked_bytes.checked_sub(a.write_asked_bytes)?,
        read_bytes: b.read_bytes.checked_sub(a.read_bytes)?,
        write_bytes: b.write_bytes.checked_sub(a.write_bytes)?,
        cancelled_write_bytes: b.cancelled_write_bytes.checked_sub(a.cancelled_write_bytes)?,
    })
}

fn vm_between(a: &VmCounters, b: &VmCounters) -> VmCounters {
    VmCounters {
        paged_in_bytes: opt(a.paged_in_bytes, b.paged_in_bytes),
        paged_out_bytes: opt(a.paged_out_bytes, b.paged_out_bytes),
        swapped_in_bytes: opt(a.swapped_in_bytes, b.swapped_in_bytes),
        swapped_out_bytes: opt(a.swapped_out_bytes, b.swapped_out_bytes),
        faults_major: opt(a.faults_major, b.faults_major),
        dirtied_bytes: opt(a.dirtied_bytes, b.dirtied_bytes),
        written_back_bytes: opt(a.written_back_bytes, b.written_back_bytes),
    }
}

fn stall_between(a: Option<Stall>, b: Option<Stall>) -> Option<Stall> {
    let (a, b) = (a?, b?);
    Some(Stall {
        some_us: b.some_us.checked_sub(a.some_us)?,
        full_us: opt(a.full_us, b.full_us),
    })
}
