//! How long the modelled device takes: servers that work side by side, service times from a lognormal distribution.
//!
//! Takes requests with their time of arrival, gives the time each is done. Prevents a queue that is faster than its
//! device: a request waits until a server is free.

use super::Model;
use crate::port::{Nanos, Op, Request};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time of a read served by the cache above the device.
const CACHED_NS: u64 = 2_000;
/// What a service time covers without extra time for the transfer.
const FIRST_BYTES: u64 = 8192;

/// Nanoseconds of a minute.
const MINUTE_NS: f64 = 60e9;

pub(super) struct Device {
    free_at: BinaryHeap<Reverse<Nanos>>,
    rng: Xoshiro256PlusPlus,
    /// By which share service gets longer with each minute on the clock.
    pub(super) drift_per_minute: f64,
}

pub(super) struct Served {
    pub(super) done_at: Nanos,
    pub(super) cached: bool,
}

impl Device {
    pub(super) fn new(model: &Model) -> Device {
        let free_at = (0..model.parallel.max(1)).map(|_| Reverse(0)).collect();
        Device {
            free_at,
            rng: Xoshiro256PlusPlus::seed_from_u64(model.seed),
            drift_per_minute: 0.0,
        }
    }

    pub(super) fn serve(&mut self, model: &Model, request: &Request, now: Nanos) -> Served {
        if request.op == Op::Read && model.cached_share > 0.0 && uniform(&mut self.rng) < model.cached_share {
            return Served {
                done_at: now + CACHED_NS,
                cached: true,
            };
        }
        let mean = if request.op == Op::Flush {
            model.flush_ns
        } else {
            model.service_ns
        };
        let moved = if request.op == Op::Flush {
            0
        } else {
            u64::from(request.len).saturating_sub(FIRST_BYTES)
        };
        let transfer = (moved * 1_000_000_000)
            .checked_div(model.transfer_bytes_per_second)
            .unwrap_or(0);
        let longer = 1.0 + self.drift_per_minute * now as f64 / MINUTE_NS;
        let service = (lognormal(&mut self.rng, mean as f64, model.spread) * longer) as u64 + transfer;
        let mut server = self.free_at.peek_mut().expect("a device has at least one server");
        let done_at = server.0.max(now) + service;
        *server = Reverse(done_at);
        Served { done_at, cached: false }
    }
}

/// Uniform in [0, 1) with 53 bits.
pub(crate) fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Lognormal of this mean and coefficient of variation: with s^2 = ln(1 + cv^2), exp(ln(mean) - s^2/2 + s z) has both
/// (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, 1994, ch. 14). z by Box and Muller 1958.
fn lognormal(rng: &mut Xoshiro256PlusPlus, mean: f64, cv: f64) -> f64 {
    if cv <= 0.0 || mean <= 0.0 {
        return mean;
    }
    let variance = (cv * cv).ln_1p();
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    let z = radius * (std::f64::consts::TAU * uniform(rng)).cos();
    (mean.ln() - variance / 2.0 + variance.sqrt() * z).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lognormal_has_the_mean_and_the_spread_asked() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| lognormal(&mut rng, 80_000.0, 0.5)).collect();
        let mean = drawn.iter().sum::<f64>() / n as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean / 80_000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!(
            (variance.sqrt() / mean - 0.5).abs() < 0.01,
            "{}",
            variance.sqrt() / mean
        );
    }
}
