//! The moment at which work is ended by a power cut or a kill: waited for, unless the work fails before, or somebody
//! wants to stop.
//!
//! Takes the time of work, from its first acknowledgement on, and the flag that a signal sets; says what came first.
//! Prevents: a failure of the work itself that is judged as if it had been ended, a wait that Ctrl-C has to sit out,
//! and a machine so busy that what was to be ended had not begun: nothing is lost then, and nothing is shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How soon a signal is seen.
const SLICE: Duration = Duration::from_millis(50);
/// Longest wait for the first acknowledgement: a storage that does not answer is ended all the same.
const FIRST: Duration = Duration::from_secs(60);

/// What came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The moment: what fails from now on fails for it.
    Due,
    /// The work failed before.
    Failed,
    /// Somebody wants to stop.
    Interrupted,
}

/// One moment, of which only the first that comes counts.
#[derive(Default)]
pub(crate) struct Moment {
    came: Mutex<Option<Came>>,
    told: Condvar,
    begun: AtomicBool,
}

impl Moment {
    /// Something was acknowledged: from the first on the work has its time.
    pub(crate) fn begin(&self) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            let _held = self.lock();
            self.told.notify_all();
        }
    }

    /// Waits until the work has had this time, or something else came first.
    pub(crate) fn wait(&self, after: Duration, cancel: &AtomicBool) -> Came {
        let (entered, mut began) = (Instant::now(), None::<Instant>);
        let mut came = self.lock();
        loop {
            if let Some(first) = *came {
                return first;
            }
            if began.is_none() && (self.begun.load(Ordering::Relaxed) || entered.elapsed() >= FIRST) {
                began = Some(Instant::now());
            }
            let left = began.map_or(SLICE, |began| after.saturating_sub(began.elapsed()));
            if cancel.load(Ordering::Relaxed) {
                *came = Some(Came::Interrupted);
            } else if left.is_zero() {
                *came = Some(Came::Due);
            } else {
                let waited = self.told.wait_timeout(came, left.min(SLICE));
                came = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// The work failed; whether nothing had come before.
    pub(crate) fn fail(&self) -> bool {
        let mut came = self.lock();
        let nothing = came.is_none();
        if nothing {
            *came = Some(Came::Failed);
        }
        self.told.notify_all();
        nothing
    }

    /// What has come, if anything has.
    pub(crate) fn came(&self) -> Option<Came> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Came>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As long as no test lasts.
    const NEVER: Duration = Duration::from_secs(3600);

    #[test]
    fn what_comes_first_counts() {
        let (quiet, asked) = (AtomicBool::new(false), AtomicBool::new(true));
        let moment = Moment::default();
        assert_eq!(moment.came(), None);
        moment.begin();
        assert_eq!(moment.wait(Duration::ZERO, &quiet), Came::Due);
        assert!(!moment.fail(), "what fails after the moment fails for it");
        assert_eq!(moment.came(), Some(Came::Due));
        let moment = Moment::default();
        assert!(moment.fail() && !moment.fail());
        assert_eq!(moment.wait(Duration::ZERO, &asked), Came::Failed);
        assert_eq!(Moment::default().wait(NEVER, &asked), Came::Interrupted);
    }

    #[test]
    fn the_time_runs_from_the_first_acknowledgement() {
        let (quiet, moment) = (AtomicBool::new(false), Moment::default());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| moment.wait(Duration::ZERO, &quiet));
            std::thread::sleep(4 * SLICE);
            assert_eq!(moment.came(), None, "nothing was acknowledged yet");
            moment.begin();
            moment.begin();
            assert_eq!(waiting.join().expect("no panic"), Came::Due);
        });
    }

    #[test]
    fn a_failure_and_a_signal_end_the_wait() {
        let quiet = AtomicBool::new(false);
        let moment = Moment::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| moment.wait(NEVER, &quiet));
            assert!(moment.fail());
            assert_eq!(waiting.join().expect("no panic"), Came::Failed);
            let waiting = scope.spawn(|| Moment::default().wait(NEVER, &quiet));
            quiet.store(true, Ordering::Relaxed);
            assert_eq!(waiting.join().expect("no panic"), Came::Interrupted);
        });
    }
}
