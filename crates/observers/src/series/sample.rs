//! What a watch hands over: samples, and what they cost.
//!
//! Takes pairs of readings, gives counts over the time between them.
//! Prevents: a reading that failed showing as a device at rest; it is `None`.

use crate::series::sources::Reading;
use crate::{CpuTimes, DeviceDelta};

/// One device in one sample: what was completed since the sample before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceSample {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent by all reads.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds spent by all writes.
    pub write_ms: u64,
    /// Bytes discarded; `None` where it is not counted.
    pub discard_bytes: Option<u64>,
    /// Flushes completed; `None` where it is not counted.
    pub flushes: Option<u64>,
    /// Milliseconds with requests in flight.
    pub busy_ms: u64,
    /// Requests in flight at this moment.
    pub in_flight: u64,
}

/// One moment, and what happened since the sample before it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample {
    /// Monotonic clock.
    pub at_ns: u64,
    /// Time since the sample before: what the counts belong to.
    pub elapsed_ns: u64,
    /// In the order of [`Watched::devices`]; `None` when the device could not be read or was made anew.
    pub devices: Vec<Option<DeviceSample>>,
    /// CPU time of the machine since the sample before, in whole clock ticks.
    pub cpu: Option<CpuTimes>,
    /// CPU time of this process since the sample before, the sampler's included.
    pub own_cpu_ns: u64,
    /// Page cache of the machine now.
    pub page_cache_bytes: Option<u64>,
    /// Waiting to be written back now.
    pub dirty_bytes: Option<u64>,
    /// Being written back now.
    pub writeback_bytes: Option<u64>,
    /// The kernel's estimate of memory to be had now.
    pub available_bytes: Option<u64>,
    /// Kernel objects now.
    pub slab_bytes: Option<u64>,
    /// Memory of this process now.
    pub rss_bytes: Option<u64>,
    /// Memory of the control group now.
    pub cgroup_bytes: Option<u64>,
    /// Time since the sample before in which some task stood still for I/O, microseconds.
    pub io_stall_us: Option<u64>,
}

impl Sample {
    /// A count as a rate per second over this sample's own length; `None` for a length of 0.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| count as f64 * 1e9 / self.elapsed_ns as f64)
    }
}

/// What watching cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WatchCost {
    /// CPU time of the sampler's thread.
    pub cpu_ns: u64,
    /// How long it watched.
    pub elapsed_ns: u64,
    /// Samples taken.
    pub samples: u64,
    /// Samples taken more than half an interval after they were due.
    pub late: u64,
    /// Samples that were due and never taken, because the next one was due already.
    pub missed: u64,
    /// Readings of a device that failed.
    pub failed: u64,
}

impl WatchCost {
    /// CPU time over elapsed time: the share of one core, 0 to 1; `None` if no time passed.
    pub fn core_share(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.cpu_ns as f64 / self.elapsed_ns as f64)
    }
}

/// A finished watch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Watched {
    /// Names, in the order of each sample's devices.
    pub devices: Vec<String>,
    /// The interval asked for.
    pub interval_ns: u64,
    /// In time order. The last one was taken on stopping and is shorter as a rule.
    pub samples: Vec<Sample>,
    /// What it cost.
    pub cost: WatchCost,
}

impl Sample {
    /// What happened between two readings.
    pub(crate) fn between(last: &Reading, now: &Reading) -> Sample {
        let device = |(a, b): (&Option<_>, &Option<_>)| {
            let delta = DeviceDelta::between(a.as_ref()?, b.as_ref()?)?;
            Some(DeviceSample {
                reads: delta.reads,
                read_bytes: delta.read_bytes,
                read_ms: delta.read_ms,
                writes: delta.writes,
                write_bytes: delta.write_bytes,
                write_ms: delta.write_ms,
                discard_bytes: delta.discards.map(|discards| discards.discard_bytes),
                flushes: delta.flushes.map(|flushes| flushes.flushes),
                busy_ms: delta.busy_ms,
                in_flight: delta.in_flight_end,
            })
        };
        Sample {
            at_ns: now.at_ns,
            elapsed_ns: now.at_ns.saturating_sub(last.at_ns),
            devices: last.devices.iter().zip(&now.devices).map(device).collect(),
            cpu: last.cpu.zip(now.cpu).map(|(a, b)| crate::cost_delta::times(&a, &b)),
            own_cpu_ns: now.own_cpu_ns.saturating_sub(last.own_cpu_ns),
            page_cache_bytes: now.page_cache_bytes,
            dirty_bytes: now.dirty_bytes,
            writeback_bytes: now.writeback_bytes,
            available_bytes: now.available_bytes,
            slab_bytes: now.slab_bytes,
            rss_bytes: now.rss_bytes,
            cgroup_bytes: now.cgroup_bytes,
            io_stall_us: last
                .io_stall
                .zip(now.io_stall)
                .and_then(|(a, b)| b.some_us.checked_sub(a.some_us)),
        }
    }
}
