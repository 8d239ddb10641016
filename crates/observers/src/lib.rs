//! Room `observers`: what the kernel says about devices, CPUs and memory while others work.
//!
//! Takes names of block devices, gives counters ([`Snapshot`]), their differences ([`Delta`]), a series over time
//! ([`Watch`]), what lies under a place ([`lineage`]), whether a device has come to rest ([`wait_idle`]) and facts of the
//! host. It reads `/proc` and `/sys` and owns no other side effect, with two exceptions that say so: [`syncfs`], and
//! [`BlockTrace`], which works in a tracing instance of its own.
//!
//! Prevents: a figure that the kernel did not give appearing as a zero (what is absent is `None`), a counter that was
//! reset taken for progress, kernel threads left out of the cost, and an observer whose own cost nobody knows.

mod affinity;
mod cgroup;
mod clocks;
mod cost_delta;
mod cpu;
mod delta;
mod descent;
mod device_delta;
mod device_errors;
mod device_facts;
mod diskstats;
mod error;
mod family;
mod host_facts;
mod idle;
mod kthreads;
mod lineage;
mod memory;
mod mountinfo;
mod neighbours;
mod own;
mod pressure;
mod root;
mod sample;
mod snapshot;
mod topology;
mod trace;
mod trace_lines;
mod watch;
mod watch_sources;

pub use affinity::Affinity;
pub use cgroup::{Cgroup, CgroupVersion, Limit};
pub use clocks::{ClockChange, Clocks};
pub use cost_delta::{AllowedCpu, CpuDelta, KernelThreadsDelta, OwnDelta};
pub use cpu::{CpuTimes, SystemCpu};
pub use delta::Delta;
pub use device_delta::DeviceDelta;
pub use device_errors::DeviceErrors;
pub use device_facts::{device_facts, device_facts_in};
pub use diskstats::{DeviceCounters, Discards, Flushes};
pub use error::ObserveError;
pub use family::{FamilyCpu, family_memory, family_memory_in};
pub use host_facts::{host_facts, host_facts_in};
pub use idle::{IdleWait, quiet, quiet_in, syncfs, wait_idle, wait_idle_in};
pub use kthreads::KernelThread;
pub use lineage::{Backing, DeviceName, Level, Lineage, lineage, lineage_in};
pub use memory::{Memory, VmCounters};
pub use neighbours::{Neighbours, NeighboursDelta};
pub use own::{OwnCounters, OwnIo};
pub use pressure::{Pressure, Stall};
pub use root::{Place, Root};
pub use sample::{DeviceSample, Sample, WatchCost, Watched};
pub use snapshot::Snapshot;
pub use trace::BlockTrace;
pub use trace_lines::{BlockEvent, TraceCounts, TraceSum};
pub use watch::{DEFAULT_INTERVAL, Watch};
