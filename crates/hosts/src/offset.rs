//! Clocks of two hosts: how far apart they are, and how well that is known.
//!
//! Takes moments of both clocks that a message passed; gives an offset with a bound, and times of one clock on the
//! other. Prevents: an offset without its doubt, and times of a hostile or broken clock that overflow.

use serde::Serialize;

/// A time beyond this is none: 146 years.
const TIME_MAX: u64 = 1 << 62;

/// A question to another host and its answer, stamped by `CLOCK_MONOTONIC` of both, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Rank 0 is about to ask.
    pub asked: u64,
    /// The other has the question (its clock).
    pub received: u64,
    /// The other is about to answer (its clock).
    pub answered: u64,
    /// Rank 0 has the answer.
    pub heard: u64,
}

impl Exchange {
    /// What it says of the offset. `None`: no two clocks can give such times.
    ///
    /// A message arrives after it was sent. So the offset (their clock less ours) lies between `answered - heard` and
    /// `received - asked` (F. Cristian, Probabilistic clock synchronization, Distributed Computing 3, 1989).
    pub fn reading(&self) -> Option<Reading> {
        let all = [self.asked, self.received, self.answered, self.heard];
        if all.iter().any(|time| *time > TIME_MAX) || self.received > self.answered {
            return None;
        }
        let difference = |theirs: u64, ours: u64| theirs as i64 - ours as i64;
        let (least, most) = (
            difference(self.answered, self.heard),
            difference(self.received, self.asked),
        );
        (self.asked <= self.heard && least <= most).then(|| Reading {
            at: self.asked.midpoint(self.heard),
            offset: Offset::between(least, most),
            round_trip_ns: most.abs_diff(least),
        })
    }
}

/// An offset of a clock to that of rank 0, with its bound, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offset {
    /// Their clock less that of rank 0.
    pub offset_ns: i64,
    /// The true offset is no farther from it.
    pub bound_ns: u64,
}

impl Offset {
    /// Rank 0 to itself.
    pub const NONE: Offset = Offset {
        offset_ns: 0,
        bound_ns: 0,
    };

    /// The middle of `least..=most`, and half of its width, rounded up.
    fn between(least: i64, most: i64) -> Offset {
        let offset_ns = least.midpoint(most);
        Offset {
            offset_ns,
            bound_ns: most.abs_diff(offset_ns).max(offset_ns.abs_diff(least)),
        }
    }

    fn least(&self) -> i64 {
        self.offset_ns.saturating_sub_unsigned(self.bound_ns)
    }

    fn most(&self) -> i64 {
        self.offset_ns.saturating_add_unsigned(self.bound_ns)
    }

    /// Whether a known offset is inside the bound.
    pub fn holds(&self, true_ns: i64) -> bool {
        (self.least()..=self.most()).contains(&true_ns)
    }

    /// A moment of rank 0's clock on theirs. `None`: their clock does not reach it.
    pub fn theirs(&self, ours: u64) -> Option<u64> {
        ours.checked_add_signed(self.offset_ns)
    }

    /// A moment of their clock on that of rank 0. `None`: that clock does not reach it.
    pub fn ours(&self, theirs: u64) -> Option<u64> {
        theirs.checked_add_signed(self.offset_ns.checked_neg()?)
    }
}

/// An offset as one exchange shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// When it was read, on rank 0's clock.
    pub at: u64,
    /// The offset then; its bound is half of the round trip.
    pub offset: Offset,
    /// Time on the way, both ways; the other's own time is not in it.
    pub round_trip_ns: u64,
}

impl Reading {
    /// The one with the shortest round trip: it says most.
    pub fn best(readings: impl IntoIterator<Item = Reading>) -> Option<Reading> {
        readings.into_iter().min_by_key(|reading| reading.round_trip_ns)
    }

    /// The offset in a phase, from the readings before and after it.
    ///
    /// Clocks drift one way within a phase: a true offset in it lies between the true ones at its ends, and each of
    /// those inside its own bound. So the bound is half of a round trip and half of the drift that was seen.
    pub fn over_phase(before: &Reading, after: &Reading) -> OverPhase {
        let least = before.offset.least().min(after.offset.least());
        let most = before.offset.most().max(after.offset.most());
        OverPhase {
            offset: Offset::between(least, most),
            drift_ns: after.offset.offset_ns.saturating_sub(before.offset.offset_ns),
        }
    }
}

/// The offset of a host's clock in a phase: a figure for the validity sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OverPhase {
    /// The offset with its bound, from the beginning to the end.
    pub offset: Offset,
    /// How far the offset moved meanwhile, as far as readings tell.
    pub drift_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exchange(asked: u64, received: u64, answered: u64, heard: u64) -> Exchange {
        Exchange {
            asked,
            received,
            answered,
            heard,
        }
    }

    #[test]
    fn the_bound_is_half_of_the_way_there_and_back() {
        // Their clock is 1,000 ahead; 30 there, 50 on their side, 10 back.
        let reading = exchange(100, 1130, 1180, 190).reading().unwrap();
        assert_eq!(reading.round_trip_ns, 40);
        let offset = Offset {
            offset_ns: 1010,
            bound_ns: 20,
        };
        assert_eq!((reading.offset, reading.at), (offset, 145));
        assert!(reading.offset.holds(1000) && !reading.offset.holds(989));
    }

    #[test]
    fn times_that_no_clocks_give_are_refused() {
        for (asked, received, answered, heard) in [
            (100, 50, 40, 200),
            (200, 50, 60, 100),
            (100, 0, 500, 200),
            (100, u64::MAX, u64::MAX, 200),
            (0, 0, 0, u64::MAX),
        ] {
            assert_eq!(exchange(asked, received, answered, heard).reading(), None);
        }
    }

    #[test]
    fn drift_widens_the_bound_by_half_of_it() {
        let reading = |offset_ns, bound_ns| Reading {
            at: 0,
            offset: Offset { offset_ns, bound_ns },
            round_trip_ns: 2 * bound_ns,
        };
        let over = Reading::over_phase(&reading(1000, 20), &reading(1100, 20));
        let offset = Offset {
            offset_ns: 1050,
            bound_ns: 70,
        };
        assert_eq!((over.offset, over.drift_ns), (offset, 100));
        assert_eq!(
            Reading::best([reading(5, 9), reading(7, 3), reading(6, 4)]),
            Some(reading(7, 3))
        );
        assert_eq!(Reading::best([]), None);
    }

    #[test]
    fn a_time_that_a_clock_does_not_reach_is_none() {
        let offset = Offset {
            offset_ns: -1000,
            bound_ns: 0,
        };
        assert_eq!((offset.theirs(999), offset.theirs(1001)), (None, Some(1)));
        assert_eq!((offset.ours(1), offset.ours(u64::MAX)), (Some(1001), None));
    }

    proptest! {
        #[test]
        fn the_true_offset_is_inside_whatever_the_ways_take(
            ours in 0u64..1 << 50, truth in -(1i64 << 49)..1i64 << 50,
            there in 0u64..1 << 30, work in 0u64..1 << 30, back in 0u64..1 << 30,
        ) {
            let asked = ours + (1 << 50);
            let received = (asked + there).checked_add_signed(truth).unwrap();
            let reading = exchange(asked, received, received + work, asked + there + work + back).reading().unwrap();
            prop_assert!(reading.offset.holds(truth));
            prop_assert_eq!(reading.round_trip_ns, there + back);
            prop_assert!(reading.offset.bound_ns <= (there + back).div_ceil(2));
        }

        #[test]
        fn no_times_panic(asked: u64, received: u64, answered: u64, heard: u64) {
            if let Some(reading) = exchange(asked, received, answered, heard).reading() {
                let over = Reading::over_phase(&reading, &reading);
                prop_assert_eq!(over.offset, reading.offset);
                let _ = (over.offset.theirs(asked), over.offset.ours(received));
            }
        }
    }
}
