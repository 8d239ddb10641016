//! Series over time: the rate of a phase from its slices, and any series put into equal parts of time.
//!
//! Takes slices and samples (each stands for the time since the one before it), gives means over equal parts.
//! Prevents: a series thinned by leaving values out, so that a stall between two of them is never seen.

use crate::history::Seen;
use crate::phase_kind::kind_row;
use ledger::{PhaseKind, Sample, Slice};

/// A value that held from one moment to another, in nanoseconds since the phase began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    pub from_ns: u64,
    pub to_ns: u64,
    pub value: f64,
}

/// Parts of a phase in [`crate::Cell::rate_over_time`].
const PARTS: usize = 24;

/// Work per second in equal parts of the phase, median over blocks: bytes of a scan, operations else.
pub(crate) fn rate_over_time(kind: PhaseKind, runs: &[&Seen]) -> Vec<f64> {
    let parts = runs.iter().map(|run| run.slices.len()).min().unwrap_or(0).min(PARTS);
    if parts < 2 {
        return Vec::new();
    }
    let blocks: Vec<Vec<Option<f64>>> = runs
        .iter()
        .map(|run| resampled(&rates(kind, &run.slices), run.run.elapsed_ns, parts))
        .collect();
    (0..parts)
        .map(|part| {
            let values: Vec<f64> = blocks.iter().map(|block| block[part].unwrap_or(0.0)).collect();
            stats::median(&values)
        })
        .collect()
}

/// True when the work of a phase is counted in bytes.
pub(crate) fn is_in_bytes(kind: PhaseKind, slices: &[Slice]) -> bool {
    kind_row(kind).is_in_bytes && slices.iter().any(|slice| slice.units > 0)
}

/// Slices as work per second; a slice that was not written had nothing in it.
pub(crate) fn rates(kind: PhaseKind, slices: &[Slice]) -> Vec<Piece> {
    pieces(slices, is_in_bytes(kind, slices))
}

/// The same, of operations.
pub(crate) fn operation_rates(slices: &[Slice]) -> Vec<Piece> {
    pieces(slices, false)
}

fn pieces(slices: &[Slice], in_bytes: bool) -> Vec<Piece> {
    let usual_ns = slices.first().map_or(0, |slice| slice.at_ns);
    let mut pieces = Vec::with_capacity(slices.len());
    let mut before_ns = 0;
    for slice in slices.iter().filter(|slice| slice.at_ns > 0) {
        let mut from_ns = before_ns;
        if slice.at_ns.saturating_sub(from_ns) >= usual_ns.saturating_mul(2) && usual_ns > 0 {
            let gap_end_ns = slice.at_ns - usual_ns;
            pieces.push(Piece {
                from_ns,
                to_ns: gap_end_ns,
                value: 0.0,
            });
            from_ns = gap_end_ns;
        }
        if slice.at_ns > from_ns {
            let work = if in_bytes { slice.units } else { slice.count };
            pieces.push(Piece {
                from_ns,
                to_ns: slice.at_ns,
                value: work as f64 * 1e9 / (slice.at_ns - from_ns) as f64,
            });
        }
        before_ns = slice.at_ns;
    }
    pieces
}

/// Samples of one name, each as what held since the one before it.
pub(crate) fn held<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Vec<Piece> {
    let mut before_ns = 0;
    let mut pieces = Vec::new();
    for sample in samples {
        if sample.at_ns > before_ns && sample.value.is_finite() {
            pieces.push(Piece {
                from_ns: before_ns,
                to_ns: sample.at_ns,
                value: sample.value,
            });
        }
        before_ns = sample.at_ns;
    }
    pieces
}

/// Means over `parts` equal parts of `length_ns`, weighted by time; `None` where nothing is known.
pub(crate) fn resampled(pieces: &[Piece], length_ns: u64, parts: usize) -> Vec<Option<f64>> {
    let part_ns = length_ns as f64 / parts as f64;
    let mut sums = vec![(0.0, 0.0); parts];
    if part_ns <= 0.0 {
        return vec![None; parts];
    }
    for piece in pieces {
        let (from, to) = (piece.from_ns as f64, (piece.to_ns as f64).min(length_ns as f64));
        let mut part = (from / part_ns) as usize;
        while part < parts && part as f64 * part_ns < to {
            let begin = from.max(part as f64 * part_ns);
            let end = to.min((part + 1) as f64 * part_ns);
            if end > begin {
                sums[part].0 += piece.value * (end - begin);
                sums[part].1 += end - begin;
            }
            part += 1;
        }
    }
    let known = |(sum, weight): (f64, f64)| (weight > part_ns * 0.01).then(|| sum / weight);
    sums.into_iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_keep_the_work() {
        let slices: Vec<Slice> = [10, 20, 0, 40]
            .iter()
            .enumerate()
            .map(|(place, count)| Slice {
                at_ns: (place as u64 + 1) * 500_000_000,
                count: *count,
                units: 0,
            })
            .collect();
        let pieces = rates(PhaseKind::Random, &slices);
        assert_eq!(resampled(&pieces, 2_000_000_000, 4), [20.0, 40.0, 0.0, 80.0].map(Some));
        assert_eq!(resampled(&pieces, 2_000_000_000, 2), [30.0, 40.0].map(Some));
        let thirds = resampled(&pieces, 2_000_000_000, 3);
        let sum: f64 = thirds.iter().flatten().sum::<f64>() * 2.0 / 3.0;
        assert!((sum - 70.0).abs() < 1e-9, "{sum}");
        assert_eq!(
            resampled(&pieces, 4_000_000_000, 4),
            [Some(30.0), Some(40.0), None, None]
        );
        assert_eq!(resampled(&pieces, 0, 2), [None, None]);
    }

    #[test]
    fn a_missing_slice_is_a_standstill() {
        let slices = [1, 2, 5].map(|end| Slice {
            at_ns: end * 1_000_000_000,
            count: 6,
            units: 0,
        });
        let pieces = rates(PhaseKind::Random, &slices);
        let found = resampled(&pieces, 5_000_000_000, 5);
        assert_eq!(found, [6.0, 6.0, 0.0, 0.0, 6.0].map(Some));
    }

    #[test]
    fn a_sample_holds_since_the_one_before() {
        let samples = [(1, 5.0), (3, 7.0)].map(|(at, value)| Sample {
            at_ns: at * 1_000_000_000,
            name: "x".into(),
            value,
        });
        let found = resampled(&held(&samples), 4_000_000_000, 4);
        assert_eq!(found, [Some(5.0), Some(7.0), Some(7.0), None]);
    }
}
