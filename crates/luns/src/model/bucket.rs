//! A token bucket, exact to the request.
//!
//! Takes requests in order with what they cost, gives when each may go. The generic cell rate algorithm in its virtual
//! scheduling form (ITU-T I.371, annex A): one time stands for the level. Prevents: a rate that drifts because a level
//! is rounded at each look.

use targets::Nanos;

/// Parts of a nanosecond that times are kept in, so that a third of a second stays one.
const PARTS: u128 = 1 << 40;
const SECOND: u128 = 1_000_000_000 * PARTS;

/// Tokens that come at a rate and are kept up to a capacity; full at time 0.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Parts of a nanosecond that one token takes to come.
    each: u128,
    /// Parts of a nanosecond that the whole capacity takes to come.
    all: u128,
    /// When the bucket is full again, if nothing more is taken.
    full_at: u128,
}

impl Bucket {
    /// `per_second` tokens a second, above 0, and room for `capacity`.
    pub fn new(per_second: f64, capacity: f64) -> Bucket {
        assert!(per_second > 0.0, "a bucket that is never filled");
        let each = (SECOND as f64 / per_second).round() as u128;
        // Whole tokens exactly: a bucket of five lets five through.
        let part = (each as f64 * capacity.fract()).round() as u128;
        Bucket {
            each,
            all: each * capacity as u128 + part,
            full_at: 0,
        }
    }

    /// When a request that comes at `now`, after all those before, and costs `tokens` may go. More tokens than the
    /// bucket holds are given when it is full, and then owed.
    pub fn take(&mut self, now: Nanos, tokens: u64) -> Nanos {
        let now = u128::from(now) * PARTS;
        let cost = self.each * u128::from(tokens);
        // It holds enough when it will be full no later than what is left over takes to come.
        let spare = self.all.saturating_sub(cost);
        let at = now.max(self.full_at.saturating_sub(spare));
        self.full_at = self.full_at.max(at) + cost;
        at.div_ceil(PARTS) as Nanos
    }

    /// Tokens at `now`; below 0 while some are owed.
    pub fn level(&self, now: Nanos) -> f64 {
        let now = u128::from(now) * PARTS;
        let missing = self.full_at.saturating_sub(now);
        (self.all as f64 - missing as f64) / self.each as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let mut bucket = Bucket::new(3.0, 5.0);
        let times: Vec<Nanos> = (0..8).map(|_| bucket.take(0, 1)).collect();
        assert_eq!(times[..5], [0; 5]);
        assert_eq!(times[5..], [333_333_334, 666_666_667, 1_000_000_000]);
    }

    #[test]
    fn a_million_requests_take_exactly_their_time() {
        let mut bucket = Bucket::new(3000.0, 1.0);
        let last = (0..=3_000_000).map(|_| bucket.take(0, 1)).max();
        let seconds = last.unwrap_or(0) as f64 / 1e9;
        assert!((seconds - 1000.0).abs() < 1e-6, "{seconds}");
    }

    #[test]
    fn it_fills_up_again_and_no_further() {
        let mut bucket = Bucket::new(10.0, 20.0);
        for _ in 0..20 {
            assert_eq!(bucket.take(0, 1), 0);
        }
        assert!((bucket.level(500_000_000) - 5.0).abs() < 1e-9);
        assert!((bucket.level(60_000_000_000) - 20.0).abs() < 1e-9);
        let day = 86_400_000_000_000;
        let again: Vec<Nanos> = (0..21).map(|_| bucket.take(day, 1)).collect();
        assert_eq!(again[19], day);
        assert_eq!(again[20], day + 100_000_000);
    }

    #[test]
    fn a_request_larger_than_the_bucket_waits_until_it_is_full_and_is_paid_for_later() {
        let mut bucket = Bucket::new(1000.0, 100.0);
        assert_eq!(bucket.take(0, 50), 0);
        assert_eq!(bucket.take(0, 500), 50_000_000);
        assert_eq!(bucket.take(0, 1), 50_000_000 + 401_000_000);
    }
}
