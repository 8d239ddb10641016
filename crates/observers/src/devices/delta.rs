//! What one device did between two readings of its counters.
//!
//! Takes two [`DeviceCounters`], gives a [`DeviceDelta`] or nothing.
//! Prevents: a counter that went back (a device made anew) giving a huge or a zero difference.

use crate::{DeviceCounters, Discards, Flushes};

/// What one device did. Times are sums over requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceDelta {
    /// Read requests completed, after merging.
    pub reads: u64,
    /// Reads merged into others.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent by all reads.
    pub read_ms: u64,
    /// Write requests completed, after merging.
    pub writes: u64,
    /// Writes merged into others.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds spent by all writes.
    pub write_ms: u64,
    /// Milliseconds with at least one request in flight, sampled at clock ticks.
    pub busy_ms: u64,
    /// Milliseconds weighted by requests in flight: over the elapsed time, the mean queue.
    pub weighted_ms: u64,
    /// Discards; `None` where the kernel does not count them.
    pub discards: Option<Discards>,
    /// Cache flushes; `None` where the kernel does not count them.
    pub flushes: Option<Flushes>,
    /// Requests in flight at the earlier moment.
    pub in_flight_begin: u64,
    /// Requests in flight at the later moment: not in the figures above.
    pub in_flight_end: u64,
}

impl DeviceDelta {
    /// The difference; `None` if a counter went back.
    pub fn between(earlier: &DeviceCounters, later: &DeviceCounters) -> Option<Self> {
        let (a, b) = (earlier, later);
        Some(DeviceDelta {
            reads: b.reads.checked_sub(a.reads)?,
            reads_merged: b.reads_merged.checked_sub(a.reads_merged)?,
            read_bytes: b.read_bytes.checked_sub(a.read_bytes)?,
            read_ms: wrapped_ms(a.read_ms, b.read_ms)?,
            writes: b.writes.checked_sub(a.writes)?,
            writes_merged: b.writes_merged.checked_sub(a.writes_merged)?,
            write_bytes: b.write_bytes.checked_sub(a.write_bytes)?,
            write_ms: wrapped_ms(a.write_ms, b.write_ms)?,
            busy_ms: wrapped_ms(a.busy_ms, b.busy_ms)?,
            weighted_ms: wrapped_ms(a.weighted_ms, b.weighted_ms)?,
            discards: match (a.discards, b.discards) {
                (Some(a), Some(b)) => Some(Discards {
                    discards: b.discards.checked_sub(a.discards)?,
                    discards_merged: b.discards_merged.checked_sub(a.discards_merged)?,
                    discard_bytes: b.discard_bytes.checked_sub(a.discard_bytes)?,
                    discard_ms: wrapped_ms(a.discard_ms, b.discard_ms)?,
                }),
                _ => None,
            },
            flushes: match (a.flushes, b.flushes) {
                (Some(a), Some(b)) => Some(Flushes {
                    flushes: b.flushes.checked_sub(a.flushes)?,
                    flush_ms: wrapped_ms(a.flush_ms, b.flush_ms)?,
                }),
                _ => None,
            },
            in_flight_begin: a.in_flight,
            in_flight_end: b.in_flight,
        })
    }
}

/// The kernel prints times as 32-bit numbers, so at great depth they wrap within a day.
fn wrapped_ms(earlier: u64, later: u64) -> Option<u64> {
    match later.checked_sub(earlier) {
        Some(ms) => Some(ms),
        None if earlier <= u64::from(u32::MAX) => Some(later + (1 << 32) - earlier),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_wrap_and_counts_do_not() {
        let early = DeviceCounters {
            reads: 10,
            read_ms: u64::from(u32::MAX) - 4,
            ..Default::default()
        };
        let late = DeviceCounters {
            reads: 12,
            read_ms: 5,
            ..Default::default()
        };
        let delta = DeviceDelta::between(&early, &late).expect("only a time wrapped");
        assert_eq!((delta.reads, delta.read_ms), (2, 10));
        assert_eq!(
            DeviceDelta::between(&late, &early),
            None,
            "reads went back: the device was made anew"
        );
    }

    #[test]
    fn what_one_side_does_not_count_stays_unknown() {
        let flushes = Some(Flushes {
            flushes: 3,
            flush_ms: 9,
        });
        let old = DeviceCounters::default();
        let new = DeviceCounters {
            flushes,
            ..Default::default()
        };
        assert_eq!(DeviceDelta::between(&old, &new).map(|delta| delta.flushes), Some(None));
        let same = DeviceDelta::between(&new, &new).and_then(|delta| delta.flushes);
        assert_eq!(same, Some(Flushes::default()));
    }

    proptest! {
        #[test]
        fn a_difference_added_to_the_earlier_gives_the_later(
            a in proptest::array::uniform11(0u64..1 << 54),
            step in proptest::array::uniform11(0u64..1 << 32),
        ) {
            let text = |n: [u64; 11]| n.map(|n| n.to_string()).join(" ");
            let mut sum = a;
            sum.iter_mut().zip(step).for_each(|(n, step)| *n += step);
            let early = DeviceCounters::parse(&text(a)).expect("11 numbers");
            let late = DeviceCounters::parse(&text(sum)).expect("11 numbers");
            let delta = DeviceDelta::between(&early, &late).expect("nothing went back");
            prop_assert_eq!(delta.reads, step[0]);
            prop_assert_eq!(delta.write_bytes, step[6] * 512);
            prop_assert_eq!(delta.weighted_ms, step[10]);
        }
    }
}
