//! One outcome of stints: pieces of a phase that followed each other on one stack, with others' work between them.
//!
//! Takes their outcomes in order, gives one on the stack's own clock, which stands still while others work. Prevents: a
//! rate over a time in which somebody else had the machine, and a slice of a few milliseconds at the end of each stint
//! that looks like a stall.

use crate::outcome::{Outcome, Slice};

/// Counts and histograms are added, class by class; [`Outcome::elapsed_ns`] is the sum of the stints, and slices lie
/// one after the other on it. [`Outcome::began`] and [`Outcome::ended`] are the first stint's begin and the last one's
/// end, with the work of others between them. A slice that is shorter than half its width, because its stint ended, is
/// counted with the one before it. The fairest that can be told of sessions over all stints: the slowest did at least,
/// and the fastest at most, so much.
///
/// Panics on an empty list.
pub fn in_stints(outcomes: Vec<Outcome>) -> Outcome {
    let mut rest = outcomes.into_iter();
    let mut whole = rest.next().expect("a phase has at least one stint");
    whole.slices = without_rest(std::mem::take(&mut whole.slices), whole.elapsed_ns);
    for one in rest {
        let after = whole.elapsed_ns;
        for class in one.classes {
            match whole.classes.iter_mut().find(|own| own.name == class.name) {
                Some(own) => own.add(&class),
                None => whole.classes.push(class),
            }
        }
        let slices = without_rest(one.slices, one.elapsed_ns);
        whole.slices.extend(slices.into_iter().map(|slice| Slice {
            at_ns: after + slice.at_ns,
            ..slice
        }));
        let shares = whole.busy_share.zip(one.busy_share);
        let times = (whole.elapsed_ns as f64, one.elapsed_ns as f64);
        whole.busy_share =
            shares.map(|(before, now)| (before * times.0 + now * times.1) / (times.0 + times.1).max(1.0));
        whole.ended = one.ended;
        whole.elapsed_ns += one.elapsed_ns;
        whole.in_time_count += one.in_time_count;
        whole.in_time_units += one.in_time_units;
        whole.unsent += one.unsent;
        whole.fairness.0 += one.fairness.0;
        whole.fairness.1 += one.fairness.1;
        whole.cancelled |= one.cancelled;
    }
    whole
}

/// The last slice ends with its stint.
fn without_rest(mut slices: Vec<Slice>, elapsed_ns: u64) -> Vec<Slice> {
    let width_ns = slices.get(1).map_or(u64::MAX, |second| second.at_ns);
    let last_ns = slices.last().map_or(0, |last| elapsed_ns.saturating_sub(last.at_ns));
    if slices.len() > 1
        && last_ns < width_ns / 2
        && let (Some(rest), Some(before)) = (slices.pop(), slices.last_mut())
    {
        before.count += rest.count;
        before.units += rest.units;
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ClassOutcome;
    use hdrhistogram::Histogram;

    fn outcome(began: u64, elapsed_ns: u64, counts: &[u64]) -> Outcome {
        let count = counts.iter().sum();
        let mut service = Histogram::new_with_bounds(1, crate::LATENCY_NS_MAX, 3).unwrap();
        service.record_n(1000, count).unwrap();
        Outcome {
            began,
            ended: began + elapsed_ns,
            elapsed_ns,
            classes: vec![ClassOutcome {
                name: "select".into(),
                count,
                units: 2 * count,
                response: service.clone(),
                service,
                clamped: 0,
            }],
            slices: counts
                .iter()
                .enumerate()
                .map(|(nth, &count)| Slice {
                    at_ns: nth as u64 * 100,
                    count,
                    units: 2 * count,
                })
                .collect(),
            in_time_count: count,
            in_time_units: 2 * count,
            unsent: 0,
            fairness: (1, 3),
            sessions: 4,
            cancelled: false,
            busy_share: Some(counts.len() as f64 / 10.0),
        }
    }

    #[test]
    fn the_clock_stands_still_while_others_work() {
        let whole = in_stints(vec![outcome(50, 210, &[5, 6, 1]), outcome(1000, 270, &[7, 8, 4])]);
        assert_eq!((whole.began, whole.ended, whole.elapsed_ns), (50, 1270, 480));
        assert_eq!((whole.count(), whole.units()), (31, 62));
        assert_eq!(whole.classes[0].service.len(), 31);
        let slices: Vec<_> = whole.slices.iter().map(|slice| (slice.at_ns, slice.count)).collect();
        // What ended in the 10 ns after the first stint's time is counted with its last slice.
        assert_eq!(slices, [(0, 5), (100, 7), (210, 7), (310, 8), (410, 4)]);
        assert_eq!(whole.fairness, (2, 6));
        assert_eq!(whole.in_time_count, 31);
        // Three tenths in both, of their own times.
        assert!(whole.busy_share.is_some_and(|share| (share - 0.3).abs() < 1e-9));
        let unlike = in_stints(vec![outcome(0, 100, &[1]), outcome(500, 300, &[1, 2])]);
        assert!(unlike.busy_share.is_some_and(|share| (share - 0.175).abs() < 1e-9));
    }

    #[test]
    fn one_stint_is_itself() {
        assert_eq!(
            in_stints(vec![outcome(5, 300, &[5, 6, 7])]),
            outcome(5, 300, &[5, 6, 7])
        );
    }
}
