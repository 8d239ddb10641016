//! A series of readings while something runs, taken by a thread of its own.
//!
//! Takes devices and an interval, gives [`Watched`]: samples, and what taking them cost. Each sample covers the time since
//! the one before and holds counts, not rates; rates are derived with the sample's own length.
//! Prevents: a late sample's counts being divided by the interval it should have had, and a sampler that quietly takes a
//! share of the machine.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::own::{monotonic_ns, thread_cpu_ns};
use crate::watch_sources::{Reading, Sources};
use crate::{CpuTimes, DeviceDelta, ObserveError, Root};

/// The interval that costs little and still shows a stall of a second in several samples.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(250);

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

/// A running sampler. Dropped without [`stop`](Watch::stop), it ends and its samples are lost.
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Watched>>,
}

impl Watch {
    /// Starts watching the running kernel. Fails if a device is not there or no thread can be started.
    pub fn start(devices: &[String], interval: Duration) -> Result<Self, ObserveError> {
        Self::start_in(&Root::live(), devices, interval)
    }

    /// [`start`](Self::start) from given roots.
    pub fn start_in(root: &Root, devices: &[String], interval: Duration) -> Result<Self, ObserveError> {
        let sources = Sources::open(root, devices)?;
        // Below a millisecond the sampler would be the load.
        let interval = interval.max(Duration::from_millis(1));
        let (stop, stopped) = mpsc::channel();
        let devices = devices.to_vec();
        let thread = std::thread::Builder::new()
            .name("assay-watch".into())
            .spawn(move || {
                let wait = |time: Duration| stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
                run(sources, devices, interval, wait)
            })
            .map_err(|source| ObserveError::Thread { source })?;
        Ok(Watch {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Takes a last sample, ends the thread and hands over what was seen.
    pub fn stop(mut self) -> Watched {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Watched> {
        drop(self.stop.take());
        let thread = self.thread.take()?;
        Some(thread.join().expect("the sampler has no code that panics"))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the sampler is reported by `stop`; here it must not become a second one.
            let _ = thread.join();
        }
    }
}

/// Samples on a fixed grid of time until `wait` returns false, so that one late sample does not shift all others.
fn run(mut sources: Sources, devices: Vec<String>, interval: Duration, wait: impl Fn(Duration) -> bool) -> Watched {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let (mut last, mut now) = (Reading::default(), Reading::default());
    sources.read(&mut last);
    let begin = last.at_ns;
    let mut due = begin.saturating_add(interval_ns);
    let mut watched = Watched {
        devices,
        interval_ns,
        ..Watched::default()
    };
    loop {
        let running = wait(Duration::from_nanos(due.saturating_sub(monotonic_ns())));
        sources.read(&mut now);
        let sample = between(&last, &now);
        let cost = &mut watched.cost;
        cost.samples += 1;
        cost.failed += now.devices.iter().filter(|device| device.is_none()).count() as u64;
        if now.at_ns > due.saturating_add(interval_ns / 2) {
            cost.late += 1;
        }
        watched.samples.push(sample);
        std::mem::swap(&mut last, &mut now);
        if !running {
            break;
        }
        due = due.saturating_add(interval_ns);
        if due < last.at_ns {
            let behind = (last.at_ns - due).div_ceil(interval_ns);
            cost.missed += behind;
            due = due.saturating_add(behind.saturating_mul(interval_ns));
        }
    }
    watched.cost.elapsed_ns = last.at_ns.saturating_sub(begin);
    watched.cost.cpu_ns = thread_cpu_ns();
    watched
}

fn between(last: &Reading, now: &Reading) -> Sample {
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
        cpu: last.cpu.zip(now.cpu).map(|(a, b)| crate::delta::times(&a, &b)),
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
