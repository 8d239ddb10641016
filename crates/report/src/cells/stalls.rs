//! Stalls: stretches of a phase in which next to nothing was done.
//!
//! Takes the slices of one run, gives how many of them fell far below the usual one and the longest run of such.
//! Prevents: a mean rate that hides a second of standstill, which the intervals of the verdict cannot see either.

use ledger::Slice;

/// Less than this share of the median slice is a stall.
const STALL_SHARE: f64 = 0.10;
/// With less work than this in the median slice, an empty one is chance and no stall: it happens once in e^20.
const USUAL_MIN: f64 = 20.0;
/// Fewer slices do not tell what is usual.
const SLICES_MIN: usize = 10;

/// Stalls of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stalls {
    /// Slices in a stall.
    pub slices: usize,
    /// Length of a slice in nanoseconds.
    pub slice_ns: u64,
    /// The longest stall in nanoseconds.
    pub longest_ns: u64,
}

/// `None` when the slices are too few, or hold too little work, to tell.
pub(crate) fn stalls(slices: &[Slice]) -> Option<Stalls> {
    let slice_ns = slices.first()?.at_ns;
    // The last slice ends with the phase, not with its own length.
    let whole = &slices[..slices.len() - 1];
    if whole.len() < SLICES_MIN || slice_ns == 0 {
        return None;
    }
    let counts: Vec<f64> = whole.iter().map(|slice| slice.count as f64).collect();
    let usual = stats::median(&counts);
    if usual < USUAL_MIN {
        return None;
    }
    let mut found = Stalls {
        slices: 0,
        slice_ns,
        longest_ns: 0,
    };
    let mut run_ns = 0;
    let mut before_ns = 0;
    for slice in whole {
        // A slice that was not written had nothing in it.
        let missing_ns = slice.at_ns.saturating_sub(before_ns).saturating_sub(slice_ns) / slice_ns * slice_ns;
        found.slices += (missing_ns / slice_ns) as usize;
        run_ns += missing_ns;
        found.longest_ns = found.longest_ns.max(run_ns);
        if (slice.count as f64) < usual * STALL_SHARE {
            found.slices += 1;
            run_ns += slice_ns;
            found.longest_ns = found.longest_ns.max(run_ns);
        } else {
            run_ns = 0;
        }
        before_ns = slice.at_ns;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(counts: &[u64]) -> Vec<Slice> {
        let one = |(index, count): (usize, &u64)| Slice {
            at_ns: (index as u64 + 1) * 50_000_000,
            count: *count,
            units: 0,
        };
        counts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_standstill_is_found_and_measured() {
        let mut counts = vec![100; 30];
        counts[3] = 5;
        counts[10] = 0;
        counts[11] = 9;
        counts[12] = 0;
        counts[13] = 10;
        let found = stalls(&slices(&counts)).unwrap();
        assert_eq!(
            (found.slices, found.longest_ns, found.slice_ns),
            (4, 150_000_000, 50_000_000)
        );
        let mut gap = slices(&[100; 30]);
        gap.drain(10..14);
        let found = stalls(&gap).unwrap();
        assert_eq!((found.slices, found.longest_ns), (4, 200_000_000));
    }

    #[test]
    fn chance_is_no_stall() {
        assert_eq!(stalls(&slices(&[100; 30])).unwrap().slices, 0);
        let mut last = vec![100; 30];
        last[29] = 0;
        assert_eq!(stalls(&slices(&last)).unwrap().slices, 0, "the last slice is cut short");
        assert_eq!(stalls(&slices(&[3, 0, 2, 1, 0, 3, 4, 2, 1, 0, 2, 3])), None);
        assert_eq!(stalls(&slices(&[100; 5])), None);
        assert_eq!(stalls(&[]), None);
    }
}
