//! Everything that is counted, at one moment.
//!
//! Takes the names of the devices of interest, gives a [`Snapshot`]; two of them give a [`Delta`](crate::Delta).
//! Prevents: figures of one phase coming from different moments than those of another, and the cost of looking being
//! unknown: each snapshot says what it cost, and the walk through all tasks lies outside an interval.

use std::collections::BTreeMap;

use crate::devices::counters as device_counters;
use crate::host::{affinity, cpu, kernel_threads, memory, pressure};
use crate::processes::{cgroup, own};
use crate::{
    Affinity, Cgroup, DeviceCounters, KernelThread, Memory, ObserveError, OwnCounters, OwnIo, Pressure, Root,
    SystemCpu, Tasks, VmCounters,
};

/// Counters and levels at one moment; what this kernel does not tell is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Monotonic clock when the devices were read.
    pub at_ns: u64,
    /// How long reading its counters took.
    pub elapsed_ns: u64,
    /// CPU time that reading its counters cost: between two snapshots the counters hold it.
    pub cost_cpu_ns: u64,
    /// CPU time that the walk through all tasks cost, which [`opening`](Self::opening) and [`closing`](Self::closing)
    /// keep out of what the counters hold.
    pub walk_cpu_ns: u64,
    /// By name.
    pub devices: BTreeMap<String, DeviceCounters>,
    /// Devices whose accounting is switched off (`queue/iostats` is 0). Counters of a device mapper move all the same.
    pub unaccounted: Vec<String>,
    /// CPU time of the machine.
    pub cpu: SystemCpu,
    /// Processors that this process and what it starts may run on; `None` where it is not told.
    pub affinity: Option<Affinity>,
    /// CPU time of kernel threads; `None` where none can be seen (another PID namespace), and where nobody
    /// [opened](Self::opening) or [closed](Self::closing) an interval.
    pub kernel_threads: Option<Vec<KernelThread>>,
    /// This process.
    pub own: Option<OwnCounters>,
    /// Bytes of this process.
    pub own_io: Option<OwnIo>,
    /// Memory of the machine.
    pub memory: Option<Memory>,
    /// Memory traffic of the machine.
    pub vm: Option<VmCounters>,
    /// Memory of this process's control group.
    pub cgroup: Option<Cgroup>,
    /// Time stalled.
    pub pressure: Pressure,
}

impl Snapshot {
    /// Looks at the running kernel, and at no task of it: also in the middle of what others measure. Fails if a device
    /// is not there, or `/proc/stat` and `/proc/diskstats` cannot be read.
    pub fn take(devices: &[String]) -> Result<Self, ObserveError> {
        Self::take_in(&Root::live(), devices)
    }

    /// [`take`](Self::take) from given roots.
    pub fn take_in(root: &Root, devices: &[String]) -> Result<Self, ObserveError> {
        let cpu_begin = own::thread_cpu_ns();
        let begin = own::monotonic_ns();
        let cgroup = cgroup::own(root);
        let at_ns = own::monotonic_ns();
        let counters = device_counters::read(root, devices)?;
        let cpu = cpu::read(root)?;
        Ok(Snapshot {
            at_ns,
            devices: counters,
            unaccounted: unaccounted(root, devices),
            cpu,
            affinity: affinity::read(root),
            kernel_threads: None,
            own: own::read(root),
            own_io: own::read_io(root),
            memory: memory::read(root),
            vm: memory::read_vm(root),
            cgroup,
            pressure: pressure::read(root),
            elapsed_ns: own::monotonic_ns().saturating_sub(begin),
            cost_cpu_ns: own::thread_cpu_ns().saturating_sub(cpu_begin),
            walk_cpu_ns: 0,
        })
    }

    /// The beginning of an interval: tasks that were just read come before the counters.
    pub fn opening(tasks: &Tasks, devices: &[String]) -> Result<Self, ObserveError> {
        Self::opening_in(&Root::live(), tasks, devices)
    }

    /// [`opening`](Self::opening) from given roots.
    pub fn opening_in(root: &Root, tasks: &Tasks, devices: &[String]) -> Result<Self, ObserveError> {
        let began = own::thread_cpu_ns();
        let threads = kernel_threads::read(root, tasks);
        let walked = own::thread_cpu_ns().saturating_sub(began);
        let mut snapshot = Self::take_in(root, devices)?;
        snapshot.kernel_threads = threads;
        snapshot.walk_cpu_ns = tasks.cost_cpu_ns + walked;
        Ok(snapshot)
    }

    /// The end of an interval: the counters come before the tasks, which are read for others who look at them too.
    pub fn closing(devices: &[String]) -> Result<(Self, Tasks), ObserveError> {
        let root = Root::live();
        let mut snapshot = Self::take_in(&root, devices)?;
        let tasks = Tasks::read_in(&root);
        snapshot.add_threads(&root, &tasks);
        Ok((snapshot, tasks))
    }

    fn add_threads(&mut self, root: &Root, tasks: &Tasks) {
        let began = own::thread_cpu_ns();
        self.kernel_threads = kernel_threads::read(root, tasks);
        self.walk_cpu_ns = tasks.cost_cpu_ns + own::thread_cpu_ns().saturating_sub(began);
    }
}

fn unaccounted(root: &Root, devices: &[String]) -> Vec<String> {
    let off = |device: &&String| {
        let disk = crate::devices::topology::disk_of(root, device).unwrap_or_else(|| (*device).clone());
        crate::root::value(&root.block_dir(&disk).join("queue/iostats")).as_deref() == Some("0")
    };
    devices.iter().filter(off).cloned().collect()
}
