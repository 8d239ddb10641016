//! How busy the threads are that drive the work.
//!
//! Takes the work of a thread, gives the time in which it had a processor. Prevents: a load that is limited by whoever
//! makes it, without anybody knowing.

use std::time::Instant;

/// A thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// In which it had a processor, user and system, ns.
    pub had_ns: u64,
    /// All of it, ns.
    pub elapsed_ns: u64,
}

impl Busy {
    /// Does `work`, and gives the time of this thread meanwhile.
    ///
    /// # Errors
    /// Those of the work.
    pub fn of<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Busy), E> {
        let own_ns = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        };
        let (began, had_ns) = (Instant::now(), own_ns());
        let done = work()?;
        let busy = Busy {
            elapsed_ns: began.elapsed().as_nanos() as u64,
            had_ns: own_ns().saturating_sub(had_ns),
        };
        Ok((done, busy))
    }

    /// Share of its time in which it had a processor, 0 to 1; `None` where it took no time.
    pub fn share(self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| (self.had_ns as f64 / self.elapsed_ns as f64).min(1.0))
    }

    /// Shares of several threads as one, 0 to 1: there may be fewer processors than threads. `None`: one is not known.
    pub fn together(all: &[Busy]) -> Option<f64> {
        let shares: Vec<f64> = all.iter().map(|one| one.share()).collect::<Option<_>>()?;
        let processors = std::thread::available_parallelism().map_or(shares.len(), usize::from);
        Some((shares.iter().sum::<f64>() / shares.len().min(processors).max(1) as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_thread_that_sleeps_is_idle() {
        let slept = || {
            std::thread::sleep(Duration::from_millis(200));
            Ok::<_, ()>(7)
        };
        let (done, busy) = Busy::of(slept).unwrap();
        assert_eq!(done, 7);
        assert!(busy.share().is_some_and(|share| share < 0.5), "{busy:?}");
        let of = |had_ns| Busy { had_ns, elapsed_ns: 10 };
        assert_eq!(Busy::together(&[of(4)]), Some(0.4));
        assert_eq!(Busy::together(&[of(10); 1000]), Some(1.0));
        assert_eq!(
            Busy {
                had_ns: 0,
                elapsed_ns: 0
            }
            .share(),
            None
        );
    }
}
