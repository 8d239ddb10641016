//! One open schedule for several workers: whoever is free takes what is due.
//!
//! Made for operations that block their thread, one session a worker. One worker without work leads: it waits for the
//! next due time and takes it, then another one leads. A worker that ends an operation takes what is overdue at once.
//! Prevents: an operation that waits for its own worker while another one is idle. A schedule for each worker
//! ([`crate::Pacing::split`]) does that, and so do due times that workers take beforehand and then sleep over.

use crate::pacing::{Arrival, Pacing};
use crate::schedule::DueTimes;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use targets::Nanos;

/// Due times that workers take in turn.
pub struct Arrivals {
    /// When the phase begins, for all workers.
    began: Nanos,
    inner: Mutex<Inner>,
    /// Nobody leads any more.
    free: Condvar,
}

struct Inner {
    due: DueTimes,
    random: Xoshiro256PlusPlus,
    /// A worker waits for the next due time.
    led: bool,
}

/// The lead of one worker, until it takes a due time or ends.
pub(crate) struct Lead<'a>(&'a Arrivals);

impl Arrivals {
    /// The open arrival of a whole phase, which begins at `began` of the operations' clock; `None`: it is closed.
    pub fn new(pacing: &Pacing, began: Nanos, seed: u64) -> Option<Arrivals> {
        let Arrival::Open { rate_per_s, schedule } = pacing.arrival else {
            return None;
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let due = DueTimes::new(began, rate_per_s, schedule, &mut random);
        Some(Arrivals {
            began,
            inner: Mutex::new(Inner {
                due,
                random,
                led: false,
            }),
            free: Condvar::new(),
        })
    }

    /// When the phase begins, whenever a worker does.
    pub(crate) fn began(&self) -> Nanos {
        self.began
    }

    /// The next due time where it has come by `now`; it is the caller's from then on.
    pub(crate) fn take_by(&self, now: Nanos) -> Option<Nanos> {
        let inner = &mut *self.lock();
        if inner.due.next() > now {
            return None;
        }
        Some(inner.due.take(&mut inner.random))
    }

    /// The next due time, which stays anybody's.
    pub(crate) fn next(&self) -> Nanos {
        self.lock().due.next()
    }

    /// Waits until nobody leads, and leads. A worker that leads comes back to its loop at least as often as it looks
    /// for a cancel, and gives the lead up where it ends, so that nobody waits here for ever.
    pub(crate) fn lead(&self) -> Lead<'_> {
        let inner = self.lock();
        let free = self.free.wait_while(inner, |inner| inner.led);
        free.unwrap_or_else(PoisonError::into_inner).led = true;
        Lead(self)
    }

    /// How many are due before `end` and were taken by nobody; whoever asks first is told.
    pub(crate) fn untaken_before(&self, end: Nanos) -> u64 {
        let inner = &mut *self.lock();
        inner.due.drain_before(end, &mut inner.random)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.0.lock().led = false;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::Schedule;

    fn arrivals() -> Arrivals {
        let pacing = Pacing {
            arrival: Arrival::Open {
                rate_per_s: 1_000.0,
                schedule: Schedule::Fixed { first_ns: 0 },
            },
            ..Pacing::closed(1, 1_000_000_000)
        };
        Arrivals::new(&pacing, 5, 1).expect("open")
    }

    #[test]
    fn what_is_not_due_stays() {
        let arrivals = arrivals();
        assert_eq!((arrivals.take_by(4), arrivals.next()), (None, 5));
        assert_eq!(arrivals.take_by(2_000_000), Some(5));
        assert_eq!(arrivals.take_by(2_000_000), Some(1_000_005));
        assert_eq!(arrivals.take_by(2_000_000), None);
    }

    /// Also where the worker that leads ends by a panic.
    #[test]
    fn one_worker_leads_at_a_time_and_each_gets_its_turn() {
        let (arrivals, leading) = (arrivals(), std::sync::atomic::AtomicU32::new(0));
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|nth| {
                    let (arrivals, leading) = (&arrivals, &leading);
                    scope.spawn(move || {
                        let _lead = arrivals.lead();
                        assert_eq!(leading.fetch_add(1, order), 0, "two of them lead");
                        std::thread::yield_now();
                        leading.fetch_sub(1, order);
                        assert!(nth != 3, "one ends so");
                    })
                })
                .collect();
            let failed = workers.into_iter().filter_map(|worker| worker.join().err()).count();
            assert_eq!(failed, 1);
        });
    }
}
