//! The due times of an open arrival: a generator that is its own queue.
//!
//! Takes a rate, a kind of gap and the worker's random numbers; gives due times in order. An operation that waits for a
//! session is simply a due time not yet taken, so a backlog of any length costs no memory.
//!
//! Prevents: coordinated omission (Tene 2013): due times never depend on what the storage did.

use crate::pacing::{Schedule, Think};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use targets::Nanos;

/// Above this many untaken due times a Poisson backlog is counted by its mean: drawing them would take seconds.
const COUNTED_ONE_BY_ONE: f64 = 1e7;

/// Due times of one worker, the next one always known.
pub(crate) struct DueTimes {
    began: Nanos,
    gap_ns: f64,
    schedule: Schedule,
    index: u64,
    offset_ns: f64,
}

impl DueTimes {
    pub(crate) fn new(began: Nanos, rate_per_s: f64, schedule: Schedule, random: &mut Xoshiro256PlusPlus) -> Self {
        let gap_ns = 1e9 / rate_per_s;
        let offset_ns = match schedule {
            Schedule::Poisson => exponential(random) * gap_ns,
            Schedule::Fixed { first_ns } => first_ns as f64,
        };
        DueTimes {
            began,
            gap_ns,
            schedule,
            index: 0,
            offset_ns,
        }
    }

    /// The first due time that was not taken.
    pub(crate) fn next(&self) -> Nanos {
        // Offsets stay exact to the nanosecond for 104 days (2^53 ns).
        self.began + self.offset_ns as u64
    }

    /// Takes it.
    pub(crate) fn take(&mut self, random: &mut Xoshiro256PlusPlus) -> Nanos {
        let due = self.next();
        self.index += 1;
        self.offset_ns = match self.schedule {
            Schedule::Poisson => self.offset_ns + exponential(random) * self.gap_ns,
            // From the index, not by summing: no drift.
            Schedule::Fixed { first_ns } => first_ns as f64 + self.index as f64 * self.gap_ns,
        };
        due
    }

    /// How many are due before `end` and were not taken; they are taken by this.
    pub(crate) fn drain_before(&mut self, end: Nanos, random: &mut Xoshiro256PlusPlus) -> u64 {
        if self.next() >= end {
            return 0;
        }
        let mean = (end - self.next()) as f64 / self.gap_ns;
        match self.schedule {
            Schedule::Poisson if mean > COUNTED_ONE_BY_ONE => {
                self.offset_ns = (end - self.began) as f64;
                mean.round() as u64 + 1
            }
            _ => {
                let mut count = 0;
                while self.next() < end {
                    self.take(random);
                    count += 1;
                }
                count
            }
        }
    }
}

/// A pause.
pub(crate) fn pause_ns(think: Think, random: &mut Xoshiro256PlusPlus) -> u64 {
    let choices = u128::from(think.max_ns - think.min_ns) + 1;
    think.min_ns + ((u128::from(random.next_u64()) * choices) >> 64) as u64
}

/// Exponential with mean 1, by inversion; the draw is in (0, 1].
fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    let draw = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -draw.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn fixed_gaps_do_not_drift() {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
        let mut due = DueTimes::new(5, 3.0, Schedule::Fixed { first_ns: 0 }, random);
        for _ in 0..3_000_000 {
            due.take(random);
        }
        assert_eq!(due.next(), 5 + 1_000_000 * 1_000_000_000);
    }

    #[test]
    fn poisson_gaps_have_mean_and_spread_of_an_exponential() {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(2);
        let mut due = DueTimes::new(0, 1000.0, Schedule::Poisson, random);
        let (mut last, mut sum, mut squares) = (0, 0.0, 0.0);
        let draws = 100_000;
        for _ in 0..draws {
            let at = due.take(random);
            let gap = (at - last) as f64;
            sum += gap;
            squares += gap * gap;
            last = at;
        }
        let mean = sum / f64::from(draws);
        let variance = squares / f64::from(draws) - mean * mean;
        // Standard errors: mean 0.3 %, sd 0.7 %; four of each.
        assert!((mean / 1e6 - 1.0).abs() < 0.013, "{mean}");
        assert!((variance.sqrt() / 1e6 - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn untaken_is_what_a_taker_would_have_got() {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(3);
        for schedule in [Schedule::Poisson, Schedule::Fixed { first_ns: 700 }] {
            let mut due = DueTimes::new(10, 1e6, schedule, random);
            let mut same = random.clone();
            let mut taker = DueTimes {
                began: 10,
                index: 0,
                ..due
            };
            let mut count = 0;
            while taker.next() < 5_000_010 {
                taker.take(&mut same);
                count += 1;
            }
            assert_eq!(due.drain_before(5_000_010, random), count);
            assert!((4_000..6_000).contains(&count), "{count}");
        }
    }

    #[test]
    fn pauses_reach_both_ends() {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(4);
        let think = Think {
            frequency: 1,
            min_ns: 3,
            max_ns: 5,
        };
        let mut seen = [0; 3];
        for _ in 0..300 {
            seen[(pause_ns(think, random) - 3) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 60), "{seen:?}");
    }
}
