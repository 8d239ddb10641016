//! Steady state: takes the figures of a phase's rounds, says from which round on they hold still.
//!
//! The rule is that of the SNIA Solid State Storage Performance Test Specification (definition of steady state): over a
//! window of five rounds the range of the figures is within 20 % of their mean, and the line of least squares through them
//! rises or falls by no more than 10 % of the mean.
//!
//! Prevents: a warm-up averaged into the result, and steadiness assumed from an arbitrary waiting time.

use crate::summary::mean;

/// Rounds in a window.
pub const WINDOW: usize = 5;

/// Largest range, as a share of the window's mean.
const RANGE_MAX: f64 = 0.20;

/// Largest rise or fall of the fitted line over the window, as a share of its mean.
const SLOPE_MAX: f64 = 0.10;

/// What the rule finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// First round of the first window that passes; `None` when none does or there are fewer than five rounds.
    pub from: Option<usize>,
    /// (largest - smallest) / mean, of that window, or of the last one when none passes; NaN without a window.
    pub range_share: f64,
    /// Rise of the fitted line from the window's first round to its last / mean, of the same window.
    pub slope_share: f64,
    /// Mean of the same window.
    pub mean: f64,
}

/// Applies the rule to the figures of successive rounds of equal length.
pub fn steady(rounds: &[f64]) -> Steady {
    let mut last = Steady {
        from: None,
        range_share: f64::NAN,
        slope_share: f64::NAN,
        mean: f64::NAN,
    };
    for (index, window) in rounds.windows(WINDOW).enumerate() {
        last = Steady {
            from: None,
            ..measure(window)
        };
        if last.range_share <= RANGE_MAX && last.slope_share.abs() <= SLOPE_MAX {
            return Steady {
                from: Some(index),
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_cut_off() {
        let found = steady(&[20.0, 60.0, 90.0, 100.0, 101.0, 99.0, 100.0, 102.0, 100.0]);
        assert_eq!(found.from, Some(2));
        assert_eq!(steady(&[100.0; 5]).from, Some(0));
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
