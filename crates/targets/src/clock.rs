//! The clock of real ports: monotonic nanoseconds, read through the vDSO.
//!
//! Takes nothing, gives [`Nanos`]. Prevents two clocks in one measurement: every stamp of a real port comes from here.

use crate::port::Nanos;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline]
pub fn monotonic_ns() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The span from now to `until` for a system call; zero when it has passed.
pub(crate) fn span_until(until: Nanos) -> Timespec {
    let left = until.saturating_sub(monotonic_ns());
    Timespec {
        tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (left % 1_000_000_000) as i64,
    }
}
