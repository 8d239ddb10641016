//! Times with a tail: lognormal, by their median and 99th percentile, not below a floor.
//!
//! Takes a random source, gives nanoseconds. Prevents: a device whose every request takes the mean.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The 99th percentile of the standard normal distribution.
const Z_99: f64 = 2.326_347_874_040_841;

/// A distribution of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Latency {
    /// Half of all are shorter, in nanoseconds.
    pub median_ns: u64,
    /// One in a hundred is longer, in nanoseconds; not below the median.
    pub p99_ns: u64,
    /// None is shorter, in nanoseconds.
    pub floor_ns: u64,
}

impl Latency {
    /// Always the same.
    pub fn constant(ns: u64) -> Latency {
        Latency {
            median_ns: ns,
            p99_ns: ns,
            floor_ns: ns,
        }
    }

    /// Median and 99th percentile in nanoseconds, no floor.
    pub fn lognormal(median_ns: u64, p99_ns: u64) -> Latency {
        Latency {
            median_ns,
            p99_ns,
            floor_ns: 0,
        }
    }

    /// Standard deviation of the logarithm.
    fn sigma(&self) -> f64 {
        if self.p99_ns <= self.median_ns || self.median_ns == 0 {
            return 0.0;
        }
        (self.p99_ns as f64 / self.median_ns as f64).ln() / Z_99
    }

    /// Mean in nanoseconds, where the floor cuts nothing off: median times exp(sigma^2 / 2).
    pub fn mean_ns(&self) -> f64 {
        self.median_ns as f64 * (self.sigma().powi(2) / 2.0).exp()
    }

    pub(super) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let sigma = self.sigma();
        if sigma == 0.0 {
            return self.median_ns.max(self.floor_ns);
        }
        let drawn = self.median_ns as f64 * (sigma * normal(rng)).exp();
        (drawn.round() as u64).max(self.floor_ns)
    }
}

/// Uniform in [0, 1) with 53 bits.
pub(super) fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Standard normal, by Box and Muller 1958.
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn median_p99_and_mean_are_those_asked_for() {
        let shape = Latency::lognormal(500_000, 3_000_000);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut drawn: Vec<u64> = (0..200_000).map(|_| shape.draw(&mut rng)).collect();
        drawn.sort_unstable();
        let near = |seen: f64, wanted: f64| assert!((seen / wanted - 1.0).abs() < 0.03, "{seen} {wanted}");
        near(drawn[100_000] as f64, 500_000.0);
        near(drawn[198_000] as f64, 3_000_000.0);
        near(drawn.iter().sum::<u64>() as f64 / 200_000.0, shape.mean_ns());
    }

    #[test]
    fn nothing_is_below_the_floor() {
        let shape = Latency {
            floor_ns: 400_000,
            ..Latency::lognormal(500_000, 3_000_000)
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        assert!((0..10_000).all(|_| shape.draw(&mut rng) >= 400_000));
    }
}
