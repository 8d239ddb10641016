//! A series of readings while something runs, taken by a thread of its own.
//!
//! Takes devices and an interval, gives [`Watched`]: samples, and what taking them cost. Each sample covers the time
//! since the one before and holds counts, not rates; rates are derived with the sample's own length. Prevents: a late
//! sample's counts being divided by the interval it should have had, and a sampler that quietly takes a share of the
//! machine.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::processes::own::{monotonic_ns, thread_cpu_ns};
use crate::series::sample::Sample;
use crate::series::sources::{Reading, Sources};
use crate::{ObserveError, Root, Watched};

/// The interval that costs little and still shows a stall of a second in several samples.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(250);

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
        let sample = Sample::between(&last, &now);
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
