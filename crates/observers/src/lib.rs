//! Room `observers`: what the kernel says about devices, CPUs and memory while others work.
//!
//! Takes names of block devices, gives counters ([`Snapshot`]), their differences ([`Delta`]), a series over time
//! ([`Watch`]), what lies under a place ([`lineage`]), whether a device has come to rest ([`wait_idle`]) and facts of
//! the host. It reads `/proc` and `/sys` and owns no other side effect, with two exceptions that say so: [`syncfs`],
//! and [`BlockTrace`], which works in a tracing instance of its own.
//!
//! Prevents: a figure that the kernel did not give appearing as a zero (what is absent is `None`), a counter that was
//! reset taken for progress, kernel threads left out of the cost, and an observer whose own cost nobody knows.

mod cost_delta;
mod delta;
mod devices;
mod error;
mod host;
mod processes;
mod root;
mod series;
mod snapshot;

pub use cost_delta::{AllowedCpu, CpuDelta, KernelThreadsDelta, OwnDelta};
pub use delta::Delta;
pub use devices::counters::{DeviceCounters, Discards, Flushes};
pub use devices::delta::DeviceDelta;
pub use devices::descent::{lineage, lineage_in};
pub use devices::errors::DeviceErrors;
pub use devices::facts::{device_facts, device_facts_in};
pub use devices::idle::{IdleWait, quiet, quiet_in, syncfs, wait_idle, wait_idle_in};
pub use devices::lineage::{Backing, DeviceName, Level, Lineage};
pub use devices::topology::{counted_at, counts_flushes};
pub use devices::trace::BlockTrace;
pub use devices::trace_lines::{BlockEvent, TraceCounts, TraceSum};
pub use error::ObserveError;
pub use host::affinity::Affinity;
pub use host::clocks::{ClockChange, Clocks};
pub use host::cpu::{CpuTimes, SystemCpu};
pub use host::facts::{host_facts, host_facts_in};
pub use host::kernel_threads::KernelThread;
pub use host::memory::{Memory, VmCounters};
pub use host::pressure::{Pressure, Stall};
pub use processes::cgroup::{Cgroup, CgroupVersion, Limit};
pub use processes::family::{FamilyCpu, family_memory, family_memory_in};
pub use processes::neighbours::{Neighbours, NeighboursDelta};
pub use processes::own::{OwnCounters, OwnIo, cpu_ns as own_cpu_ns};
pub use processes::tasks::Tasks;
pub use root::{Place, Root};
pub use series::sample::{DeviceSample, Sample, WatchCost, Watched};
pub use series::watch::{DEFAULT_INTERVAL, Watch};
pub use snapshot::Snapshot;
