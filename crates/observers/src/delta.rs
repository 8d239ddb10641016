//! What happened between two snapshots.
//!
//! Takes an earlier and a later [`Snapshot`], gives a [`Delta`]. Prevents: a counter that went back (a device that was
//! made anew) giving a huge or a zero difference: such a device is listed as lost and has no figures.

use std::collections::BTreeMap;

use crate::cost_delta::opt;
use crate::{
    Cgroup, CpuDelta, DeviceDelta, KernelThreadsDelta, Memory, OwnDelta, OwnIo, Pressure, Snapshot, Stall, VmCounters,
};

/// What happened between two snapshots. Levels (memory, control group, own size) are given at both ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Delta {
    /// Time between the two.
    pub elapsed_ns: u64,
    /// By name, those present at both ends.
    pub devices: BTreeMap<String, DeviceDelta>,
    /// Devices without figures: gone, new, or made anew in between.
    pub lost: Vec<String>,
    /// Devices that do not count (`queue/iostats` is 0 at either end, and their counters stand still): their figures
    /// mean nothing.
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
    /// CPU time that reading the counters of both snapshots cost: at most so much of it lies inside the interval.
    pub cost_cpu_ns: u64,
    /// CPU time that the walks through all tasks cost, before and after the interval.
    pub walk_cpu_ns: u64,
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
        // The device mapper says that it does not count, and counts: it keeps its own account (`dm_start_io_acct`).
        unaccounted.retain(|name| devices.get(name).is_none_or(|delta| delta.reads + delta.writes == 0));
        let rss = |snapshot: &Snapshot| snapshot.own.and_then(|own| own.rss_bytes);
        Delta {
            elapsed_ns: self.at_ns.saturating_sub(earlier.at_ns),
            devices,
            lost,
            unaccounted,
            cpu: CpuDelta::between(earlier, self),
            kernel_threads: earlier
                .kernel_threads
                .as_ref()
                .zip(self.kernel_threads.as_ref())
                .map(|(a, b)| KernelThreadsDelta::between(a, b)),
            own: earlier.own.zip(self.own).and_then(|(a, b)| OwnDelta::between(&a, &b)),
            own_io: earlier.own_io.zip(self.own_io).and_then(|(a, b)| io_between(&a, &b)),
            vm: earlier.vm.zip(self.vm).map(|(a, b)| vm_between(&a, &b)),
            pressure: Pressure {
                cpu: stall_between(earlier.pressure.cpu, self.pressure.cpu),
                io: stall_between(earlier.pressure.io, self.pressure.io),
                memory: stall_between(earlier.pressure.memory, self.pressure.memory),
            },
            rss_bytes: (rss(earlier), rss(self)),
            memory: (earlier.memory, self.memory),
            cgroup_limit_hits: earlier
                .cgroup
                .as_ref()
                .zip(self.cgroup.as_ref())
                .filter(|(a, b)| a.path == b.path)
                .and_then(|(a, b)| opt(a.limit_hits, b.limit_hits)),
            cgroup: (earlier.cgroup.clone(), self.cgroup.clone()),
            cost_cpu_ns: earlier.cost_cpu_ns.saturating_add(self.cost_cpu_ns),
            walk_cpu_ns: earlier.walk_cpu_ns.saturating_add(self.walk_cpu_ns),
        }
    }
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
