//! When a device that is made slower stands still: a fixed part of every period, by the clock alone.
//!
//! Takes the clock and the service times seen, gives whether the device is stopped and until when. The periods begin at
//! whole multiples on the clock, so that all workers of a stack stop together: if one stopped alone, the others would
//! only get its share. Prevents a planted slowness that a saturated device hides.

use crate::port::Nanos;

/// Periods are this many nanoseconds times a power of two.
const PERIOD_NS_MIN: u64 = 1 << 20;
/// A period is at least this many service times, so that filling and draining the device weigh little.
const SERVICES_PER_PERIOD: u64 = 16;

pub(crate) struct Pause {
    share: f64,
    /// Moving mean of the service time in nanoseconds: what is in flight goes on for about so long after the stop.
    service_ns: f64,
}

impl Pause {
    pub(crate) fn new(share: f64) -> Pause {
        assert!(share >= 0.0, "a device is made slower by a share of 0 or more");
        Pause { share, service_ns: 0.0 }
    }

    pub(crate) fn observe(&mut self, service_ns: u64) {
        self.service_ns += (service_ns as f64 - self.service_ns) / 64.0;
    }

    /// The end of the stop that `now` lies in.
    ///
    /// With P the period and s the share, the device may be busy for P / (1 + s); it stays busy for one service time
    /// after the last request, so requests are let through for that much less.
    pub(crate) fn closed_until(&self, now: Nanos) -> Option<Nanos> {
        let period = (self.service_ns as u64 * SERVICES_PER_PERIOD)
            .max(PERIOD_NS_MIN)
            .next_power_of_two();
        let open = period as f64 / (1.0 + self.share) - if self.share > 0.0 { self.service_ns } else { 0.0 };
        let phase = now % period;
        (phase as f64 >= open).then(|| now - phase + period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_for_its_part_of_the_time() {
        let pause = Pause::new(0.25);
        let stopped = (0..1_000_000u64)
            .filter(|i| pause.closed_until(i * 1_049).is_some())
            .count();
        assert!((stopped as f64 / 1e6 - 0.2).abs() < 0.001, "{stopped}");
        assert_eq!(pause.closed_until(PERIOD_NS_MIN - 1), Some(PERIOD_NS_MIN));
        assert_eq!(pause.closed_until(PERIOD_NS_MIN), None);
    }

    #[test]
    fn slow_devices_get_longer_periods() {
        let mut pause = Pause::new(1.0);
        (0..1_000).for_each(|_| pause.observe(1_000_000));
        let period = 1 << 24;
        assert_eq!(pause.closed_until(period - 1), Some(period));
        assert!(pause.closed_until(period / 2 - 1_100_000).is_none());
        assert!(pause.closed_until(period / 2 - 900_000).is_some());
    }
}
