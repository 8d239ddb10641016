//! Latencies counted as they come: a shift and one addition each, made a histogram when the phase is over.
//!
//! The buckets are those of the histogram at three digits (2,048 steps, then 1,024 for each further power of two), so
//! the histogram that is made is the one that would have come of recording each value. Prevents: a loop that spends
//! more on its notes than on some of the reads.

use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU64, Ordering};

/// Values below it have a bucket each.
const EXACT: u64 = 2048;
const HALF: usize = 1024;

/// Counts of latencies of 1 ns to a largest value.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    counts: Vec<u64>,
    value_max: u64,
}

impl Tally {
    pub(crate) fn new(value_max: u64) -> Tally {
        Tally {
            counts: vec![0; bucket(value_max) + 1],
            value_max,
        }
    }

    /// Larger values count as the largest, 0 as 1.
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.counts[bucket(value.clamp(1, self.value_max))] += 1;
    }

    /// Adds all to a histogram of three digits from 1 that holds the largest value.
    pub(crate) fn pour_into(&self, histogram: &mut Histogram<u64>) {
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(lowest(bucket), count);
        }
    }
}

/// The same counts, of many threads at once: one of them instead of one for each thread.
pub(crate) struct SharedTally {
    counts: Box<[AtomicU64]>,
    value_max: u64,
}

impl SharedTally {
    /// All its memory is taken here: who counts meets no page for the first time.
    pub(crate) fn new(value_max: u64) -> SharedTally {
        SharedTally {
            counts: (0..=bucket(value_max)).map(|_| AtomicU64::new(0)).collect(),
            value_max,
        }
    }

    /// As [`Tally::record`]. Counts say nothing of each other, so their order is free.
    #[inline]
    pub(crate) fn record(&self, value: u64) {
        self.counts[bucket(value.clamp(1, self.value_max))].fetch_add(1, Ordering::Relaxed);
    }

    /// As [`Tally::pour_into`]; it begins at zero again.
    pub(crate) fn pour_out(&mut self, histogram: &mut Histogram<u64>) {
        for (bucket, count) in self.counts.iter_mut().enumerate() {
            match std::mem::take(count.get_mut()) {
                0 => {}
                count => histogram.saturating_record_n(lowest(bucket), count),
            }
        }
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    let shift = (value | (EXACT - 1)).ilog2() - HALF.ilog2();
    shift as usize * HALF + (value >> shift) as usize
}

fn lowest(bucket: usize) -> u64 {
    let shift = (bucket / HALF).saturating_sub(1);
    ((bucket - shift * HALF) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: u64 = crate::LATENCY_NS_MAX;

    fn of(values: &[u64]) -> (Histogram<u64>, Histogram<u64>) {
        let new = || Histogram::new_with_bounds(1, MAX, 3).unwrap();
        let (mut poured, mut each, mut tally) = (new(), new(), Tally::new(MAX));
        for &value in values {
            each.saturating_record(value.clamp(1, MAX));
            tally.record(value);
        }
        tally.pour_into(&mut poured);
        (poured, each)
    }

    /// Of the tally that threads share: twice, so that the second time shows whether it began at zero.
    fn of_shared(values: &[u64]) -> [Histogram<u64>; 2] {
        let mut tally = SharedTally::new(MAX);
        [(), ()].map(|()| {
            values.iter().for_each(|value| tally.record(*value));
            let mut poured = Histogram::new_with_bounds(1, MAX, 3).unwrap();
            tally.pour_out(&mut poured);
            poured
        })
    }

    proptest! {
        #[test]
        fn it_is_the_histogram_of_the_values(values in prop::collection::vec((any::<u64>(), 0u32..64), 0..200)) {
            // Of all sizes alike.
            let values: Vec<u64> = values.iter().map(|(value, shift)| value >> shift).collect();
            let (poured, each) = of(&values);
            prop_assert_eq!(&poured, &each);
            for share in [0.0, 0.5, 0.99, 1.0] {
                prop_assert_eq!(poured.value_at_quantile(share), each.value_at_quantile(share));
            }
            prop_assert_eq!((poured.min(), poured.max(), poured.len()), (each.min(), each.max(), each.len()));
            for shared in of_shared(&values) {
                prop_assert_eq!(&shared, &each);
            }
        }
    }

    #[test]
    fn edges_are_those_of_the_histogram() {
        let edges = (0..42).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + 1]);
        let values: Vec<u64> = edges.chain([MAX - 1, MAX, MAX + 1, u64::MAX]).collect();
        let (poured, each) = of(&values);
        assert_eq!(poured, each);
        assert_eq!(of_shared(&values), [each.clone(), each]);
    }
}
