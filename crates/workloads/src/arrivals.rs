//! One open schedule for several workers: each takes the next due time when a session of it is free.
//!
//! Made for operations that block their thread, one session a worker. Prevents: an operation that waits for its own
//! worker while another one is idle, which is what a schedule for each worker gives ([`crate::Pacing::split`]).

use crate::pacing::{Arrival, Pacing};
use crate::schedule::DueTimes;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::{Mutex, PoisonError};
use targets::Nanos;

/// Due times that workers take in turn.
pub struct Arrivals {
    /// When the phase begins, for all workers.
    began: Nanos,
    inner: Mutex<(DueTimes, Xoshiro256PlusPlus)>,
}

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
            inner: Mutex::new((due, random)),
        })
    }

    /// When the phase begins, whenever a worker does.
    pub(crate) fn began(&self) -> Nanos {
        self.began
    }

    /// The next due time, which is the caller's from then on.
    pub(crate) fn take(&self) -> Nanos {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, random) = &mut *inner;
        due.take(random)
    }

    /// How many are due before `end` and were taken by nobody; whoever asks first is told.
    pub(crate) fn untaken_before(&self, end: Nanos) -> u64 {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, random) = &mut *inner;
        due.drain_before(end, random)
    }
}
