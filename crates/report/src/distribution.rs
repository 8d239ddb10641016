//! A distribution of latencies, with what is said of it: unpacked once, whoever asks.
//!
//! Takes a row of the file, gives a [`Distribution`]. Unpacked it is large, and what is said of it is not: that alone
//! is kept. Prevents: a histogram unpacked anew for each table (that costs more than all else of a report).

use crate::looked::{looked, unpacked};
use hdrhistogram::Histogram;
use ledger::{HistogramRow, LedgerError, decode_histogram};
use std::cell::OnceCell;
use std::num::NonZero;
use std::ops::Deref;
use std::thread::{available_parallelism, scope};

/// One distribution of one run of a phase.
#[derive(Debug)]
pub(crate) struct Distribution {
    row: HistogramRow,
    said: OnceCell<Option<Said>>,
    usual: OnceCell<Usual>,
}

/// What is said of a distribution that is not empty. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Said {
    /// Operations.
    pub count: u64,
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// What order entry asks besides: the 90th percentile, and the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usual {
    pub p90_ns: u64,
    pub sum_ns: f64,
}

impl Deref for Distribution {
    type Target = HistogramRow;

    fn deref(&self) -> &HistogramRow {
        &self.row
    }
}

impl From<HistogramRow> for Distribution {
    fn from(row: HistogramRow) -> Distribution {
        Distribution {
            row,
            said: OnceCell::new(),
            usual: OnceCell::new(),
        }
    }
}

impl Distribution {
    /// What is said of it; `None` where nothing was counted.
    pub(crate) fn said(&self) -> Result<Option<Said>, LedgerError> {
        looked(1);
        if self.said.get().is_none() {
            self.kept()?;
        }
        Ok(self.said.get().copied().flatten())
    }

    /// What order entry asks besides; taking the sum goes through all of it.
    pub(crate) fn usual(&self) -> Result<Usual, LedgerError> {
        looked(1);
        if let Some(known) = self.usual.get() {
            return Ok(*known);
        }
        let whole = self.kept()?;
        Ok(*self.usual.get_or_init(|| Usual {
            p90_ns: whole.value_at_quantile(0.90),
            sum_ns: whole.mean() * whole.len() as f64,
        }))
    }

    /// All of it; whoever asks next what is said of it need not unpack it.
    pub(crate) fn kept(&self) -> Result<Histogram<u64>, LedgerError> {
        let whole = self.whole()?;
        self.said.get_or_init(|| Said::of(&whole));
        Ok(whole)
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Result<Histogram<u64>, LedgerError> {
        unpacked();
        decode_histogram(&self.row.blob)
    }
}

/// Distributions that are worth a thread: starting one costs as much as unpacking a few.
const WORTH_A_THREAD: usize = 64;
/// More would wait for memory.
const THREADS_MAX: usize = 8;

/// Unpacks these by several processors; what is said of them is kept. One that is broken is left to whoever asks.
pub(crate) fn unpack(mut all: Vec<&mut Distribution>) {
    let processors = available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    let threads = processors.min(all.len() / WORTH_A_THREAD);
    if threads < 2 {
        return;
    }
    // Counted here, for a test counts what its own thread does.
    all.iter().for_each(|_| unpacked());
    let part = all.len().div_ceil(threads);
    scope(|scope| {
        for part in all.chunks_mut(part) {
            scope.spawn(move || part.iter_mut().for_each(|one| one.unpack()));
        }
    });
}

impl Distribution {
    fn unpack(&mut self) {
        if let Ok(whole) = decode_histogram(&self.row.blob) {
            self.said.get_or_init(|| Said::of(&whole));
        }
    }
}

impl Said {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Option<Said> {
        if histogram.is_empty() {
            return None;
        }
        // One pass for all of them: a pass each costs a fifth of a report.
        let mut rising = histogram.value_at_quantiles([0.50, 0.95, 0.99, 0.999]);
        Some(Said {
            count: histogram.len(),
            p50_ns: rising.next()?,
            p95_ns: rising.next()?,
            p99_ns: rising.next()?,
            p999_ns: rising.next()?,
            max_ns: histogram.max(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looked::count;
    use ledger::{Stamp, encode_histogram};

    fn distributions(count: u64) -> Vec<Distribution> {
        let one = |nth: u64| {
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            (1..=100).for_each(|value| histogram.record(value * (nth + 1)).unwrap());
            let row = HistogramRow {
                class: "select".into(),
                stamp: Stamp::Service,
                count: 100,
                units: 100,
                blob: encode_histogram(&histogram).unwrap(),
            };
            row.into()
        };
        (0..count).map(one).collect()
    }

    /// Each is unpacked once, and a broken one is an error of whoever asks for it.
    #[test]
    fn several_processors_find_what_one_finds() {
        let (mut all, alone) = (
            distributions(3 * WORTH_A_THREAD as u64),
            distributions(3 * WORTH_A_THREAD as u64),
        );
        all[70].row.blob.truncate(20);
        let said = |all: &[Distribution]| all.iter().map(|one| one.said().ok().flatten()).collect::<Vec<_>>();
        let (found, looked) = count::of(|| {
            unpack(all.iter_mut().collect());
            said(&all)
        });
        let mut expected = said(&alone);
        assert!(expected.iter().all(Option::is_some));
        expected[70] = None;
        assert_eq!(found, expected);
        // The broken one is tried again where it is asked for.
        let length = all.len() as u64;
        assert!((length..=length + 1).contains(&looked.unpacked), "{looked:?}");
    }
}
