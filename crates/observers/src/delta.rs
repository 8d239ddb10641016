//! What happened between two snapshots.
//!
//! Takes an earlier and a later [`Snapshot`], gives a [`Delta`]. Prevents: a counter that went back (a device that was
//! made anew) giving a huge or a zero difference: such a device is listed as lost and has no figures.

use std::collections::BTreeMap;

use crate::cost_delta::opt;
use crate::{
    Cgroup, CpuDelta, DeviceCounters, DeviceDelta, KernelThreadsDelta, Memory, OwnDelta, OwnIo, Pressure, Snapshot,
    Stall, VmCounters,
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
    /// Devices that do not count (`queue/iostats` is 0 at either end, and nothing shows that they count all the same):
    /// their figures mean nothing.
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
        let rss = |snapshot: &Snapshot| snapshot.own.and_then(|own| own.rss_bytes);
        Delta {
            elapsed_ns: self.at_ns.saturating_sub(earlier.at_ns),
            devices,
            lost,
            unaccounted: unaccounted(earlier, self),
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

/// Devices that do not count. The device mapper of kernel 6.1 says so of all its devices, and keeps an account of its
/// own all the same (`dm_start_io_acct`). A device that says so at both ends, and has counted in between, does count.
/// So does an idle one of the mapper that has ever counted, whatever others do to the devices below it. Where a disk
/// says it too, somebody has switched counting off, and it may be off for all. One that says so at one end alone was
/// switched meanwhile: what it has counted is a part.
fn unaccounted(earlier: &Snapshot, later: &Snapshot) -> Vec<String> {
    let mut names: Vec<String> = earlier.unaccounted.iter().chain(&later.unaccounted).cloned().collect();
    names.sort();
    names.dedup();
    let all_mapped = names.iter().all(|name| name.starts_with("dm-"));
    let is_off_throughout = |name: &String| earlier.unaccounted.contains(name) && later.unaccounted.contains(name);
    let completed = |snapshot: &Snapshot, name: &String| snapshot.devices.get(name).map(DeviceCounters::completed);
    let counts = |name: &String| match (completed(earlier, name), completed(later, name)) {
        (Some(before), Some(after)) if before == after => all_mapped && after > 0,
        (Some(before), Some(after)) => before < after,
        _ => false,
    };
    names.retain(|name| !(is_off_throughout(name) && counts(name)));
    names
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

#[cfg(test)]
mod tests {
    use super::*;

    /// At one moment: devices with what they have written since they are there, and those that say they do not count.
    fn snapshot(devices: &[(&str, u64)], unaccounted: &[&str]) -> Snapshot {
        let mut snapshot = Snapshot::take(&[]).expect("the kernel says what it counts");
        let counters = |writes: u64| DeviceCounters {
            writes,
            write_bytes: writes * 4096,
            ..Default::default()
        };
        let named = devices
            .iter()
            .map(|(name, writes)| ((*name).to_owned(), counters(*writes)));
        snapshot.devices = named.collect();
        snapshot.unaccounted = unaccounted.iter().map(|name| (*name).to_owned()).collect();
        snapshot
    }

    fn between(earlier: &[(&str, u64)], later: &[(&str, u64)], unaccounted: &[&str]) -> Vec<String> {
        let earlier = snapshot(earlier, unaccounted);
        snapshot(later, unaccounted).since(&earlier).unaccounted
    }

    const NOBODY: [&str; 0] = [];

    #[test]
    fn an_idle_volume_counts_though_another_one_moves_its_disk() {
        let off = ["dm-0", "dm-1"];
        let idle = between(
            &[("dm-0", 700), ("dm-1", 40), ("sda", 800)],
            &[("dm-0", 950), ("dm-1", 40), ("sda", 1050)],
            &off,
        );
        assert_eq!(idle, NOBODY, "dm-1 has counted what was loaded into it");
        let never = between(
            &[("dm-0", 700), ("dm-1", 0), ("sda", 800)],
            &[("dm-0", 950), ("dm-1", 0), ("sda", 1050)],
            &off,
        );
        assert_eq!(never, ["dm-1"], "nothing shows that it counts");
    }

    #[test]
    fn a_device_whose_account_was_switched_off_is_not_idle() {
        let still = [("dm-0", 700), ("sda", 800)];
        assert_eq!(between(&still, &still, &["sda"]), ["sda"]);
        assert_eq!(
            between(&still, &still, &["dm-0", "sda"]),
            ["dm-0", "sda"],
            "off for all"
        );
        assert_eq!(between(&still, &still, &[]), NOBODY);
        let moved = [("dm-0", 701), ("sda", 800)];
        assert_eq!(
            between(&still, &moved, &["dm-0", "sda"]),
            ["sda"],
            "dm-0 has just counted"
        );
    }

    #[test]
    fn a_device_whose_account_was_switched_meanwhile_has_counted_a_part() {
        let (before, after) = ([("sda", 800)], [("sda", 900)]);
        for (at_begin, at_end) in [(vec!["sda"], vec![]), (vec![], vec!["sda"])] {
            let earlier = snapshot(&before, &at_begin);
            let delta = snapshot(&after, &at_end).since(&earlier);
            assert_eq!(delta.unaccounted, ["sda"]);
        }
        assert_eq!(between(&before, &after, &["sda"]), NOBODY, "it counts all the same");
    }

    #[test]
    fn a_volume_that_was_made_anew_or_is_gone_has_no_figures() {
        let before = [("dm-0", 700)];
        assert_eq!(between(&before, &[("dm-0", 3)], &["dm-0"]), ["dm-0"]);
        assert_eq!(between(&before, &[], &["dm-0"]), ["dm-0"]);
    }
}
