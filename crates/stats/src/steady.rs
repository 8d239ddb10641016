//! Steady state: takes the figures of a phase's rounds, says from which round on they hold still.
//!
//! The rule is that of the SNIA Solid State Storage Performance Test Specification (definition of steady state): over a
//! window of five rounds the range of the figures is within 20 % of their mean, and the line of least squares through
//! them rises or falls by no more than 10 % of the mean. That specification takes the figures of the window; here they
//! are taken of the whole phase, so the rounds after the window must keep its level, and how far the whole lies from it
//! is told.
//!
//! Prevents: a warm-up averaged into the result, two levels of which each by itself is steady, and steadiness assumed
//! from an arbitrary waiting time.

use crate::summary::mean;

/// Rounds in a window.
pub const WINDOW: usize = 5;

/// Largest range, as a share of the window's mean.
const RANGE_MAX: f64 = 0.20;

/// Largest rise or fall of the fitted line over the window, as a share of its mean.
const SLOPE_MAX: f64 = 0.10;

/// How far the mean of the rounds from the window on may lie from the window's: as far as its line may rise.
const REST_MAX: f64 = SLOPE_MAX;

/// What the rule finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// First round of the first window that passes and whose level the rounds after it keep; `None` when none does or
    /// there are fewer than five rounds.
    pub from: Option<usize>,
    /// (largest - smallest) / mean, of that window, or of the last one when none passes; NaN without a window.
    pub range_share: f64,
    /// Rise of the fitted line from the window's first round to its last / mean, of the same window.
    pub slope_share: f64,
    /// Mean of the same window.
    pub mean: f64,
    /// Mean of all rounds over the mean of those from `from` on, less 1: what a figure of the whole phase is beside the
    /// steady level. NaN where `from` is `None`.
    pub whole_share: f64,
}

/// Applies the rule to the figures of successive rounds of equal length.
pub fn steady(rounds: &[f64]) -> Steady {
    let mut last = Steady {
        from: None,
        range_share: f64::NAN,
        slope_share: f64::NAN,
        mean: f64::NAN,
        whole_share: f64::NAN,
    };
    for (index, window) in rounds.windows(WINDOW).enumerate() {
        last = measure(window);
        let level = mean(&rounds[index..]);
        let is_kept = (level / last.mean - 1.0).abs() <= REST_MAX;
        if last.range_share <= RANGE_MAX && last.slope_share.abs() <= SLOPE_MAX && is_kept {
            return Steady {
                from: Some(index),
                whole_share: mean(rounds) / level - 1.0,
                ..last
            };
        }
    }
    last
}

fn measure(window: &[f64]) -> Steady {
    let middle = mean(window);
    let highest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = window.iter().copied().fold(f64::INFINITY, f64::min);
    let centre = (window.len() - 1) as f64 / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, figure) in window.iter().enumerate() {
        let x = index as f64 - centre;
        products += x * figure;
        squares += x * x;
    }
    let rise = products / squares * (window.len() - 1) as f64;
    Steady {
        from: None,
        range_share: (highest - lowest) / middle,
        slope_share: rise / middle,
        mean: middle,
        whole_share: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn a_warm_up_is_cut_off() {
        let found = steady(&[20.0, 60.0, 90.0, 100.0, 101.0, 99.0, 100.0, 102.0, 100.0]);
        assert_eq!(found.from, Some(2));
        assert!(
            (found.whole_share + 0.132).abs() < 0.001,
            "and the whole lies below: {found:?}"
        );
        let flat = steady(&[100.0; 5]);
        assert_eq!((flat.from, flat.whole_share), (Some(0), 0.0));
    }

    #[test]
    fn of_two_levels_the_one_that_lasts_is_the_steady_one() {
        let two = |before: f64, after: f64| [[before; 5], [after; 5]].concat();
        // A resync that ends half-way, and a credit that does: the mean of the phase is neither level.
        for (before, after, whole) in [(100.0, 1000.0, -0.45), (1000.0, 500.0, 0.5)] {
            let found = steady(&two(before, after));
            assert_eq!((found.from, found.mean), (Some(5), after));
            assert!((found.whole_share - whole).abs() < 1e-12, "{found:?}");
        }
        // A level that the phase ends too early to keep for a window.
        let found = steady(&[100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 900.0, 900.0]);
        assert_eq!(found.from, None);
        assert!(found.whole_share.is_nan());
    }

    /// Of honest phases of ten rounds the wish for a level that lasts refuses next to none.
    #[test]
    fn noise_is_steady_as_often_as_by_the_window_alone() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(20);
        let mut unit = move || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        // Box and Muller.
        let mut normal = move || (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        for (spread, refused_max) in [(0.05, 0), (0.08, 20), (0.15, 200)] {
            let (mut by_window, mut by_all) = (0, 0);
            for _ in 0..10_000 {
                let rounds: Vec<f64> = (0..10).map(|_| 1000.0 * (1.0 + spread * normal())).collect();
                let is_flat = |window: &[f64]| {
                    let found = measure(window);
                    found.range_share <= RANGE_MAX && found.slope_share.abs() <= SLOPE_MAX
                };
                by_window += usize::from(rounds.windows(WINDOW).any(is_flat));
                let found = steady(&rounds);
                by_all += usize::from(found.from.is_some() && found.whole_share.abs() <= REST_MAX);
            }
            assert!(
                by_window - by_all <= refused_max,
                "spread {spread}: {by_window} by the window, {by_all} by all"
            );
        }
    }

    #[test]
    fn a_slow_slide_within_the_range_is_not_steady() {
        // Range 16 %, so only the slope can refuse it.
        let slide: Vec<f64> = (0..20).map(|round| 100.0 * (1.0f64 + 0.04).powi(round)).collect();
        let found = steady(&slide);
        assert_eq!(found.from, None);
        assert!(found.range_share < 0.2 && found.slope_share > 0.1, "{found:?}");
    }

    #[test]
    fn one_spike_is_refused_by_the_range() {
        let found = steady(&[100.0, 100.0, 125.0, 100.0, 100.0]);
        assert_eq!(found.from, None);
        assert!(found.slope_share.abs() < 1e-12 && found.range_share > 0.2, "{found:?}");
    }

    #[test]
    fn the_limits_themselves_pass() {
        // A line that rises by 10 % of its mean, to the last bit.
        let found = steady(&[9.5, 9.75, 10.0, 10.25, 10.5]);
        assert_eq!(found.from, Some(0));
        assert_eq!(found.slope_share, 0.1);
    }

    #[test]
    fn too_few_rounds_say_nothing() {
        let found = steady(&[100.0; 4]);
        assert!(found.from.is_none() && found.mean.is_nan());
    }
}
