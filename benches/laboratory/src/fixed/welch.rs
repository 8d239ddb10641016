//! Welch's test of two samples: whether their means differ, by how much, and what it would find.
//!
//! Takes figures of runs, gives a probability, an interval and a smallest difference. Source: B. L. Welch, The
//! generalization of "Student's" problem when several different population variances are involved, *Biometrika* 34
//! (1947). Prevents: a protocol of a few long runs that is held against this one by another test than its users would
//! take.

use stats::{mean, normals, sd, t_upper_quantile, t_upper_tail};

/// Share of studies that must find a difference.
const POWER: f64 = 0.9;

/// Steps of the degrees of freedom between which quantiles are interpolated: t(0.975) is wrong by less than 0.0002 from
/// 2 degrees on.
const STEPS_EACH: usize = 64;

/// What the test says of another sample against a base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Welch {
    /// Mean of the other less that of the base.
    pub(crate) difference: f64,
    /// Lower end of its interval.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
    /// Probability of a difference at least as large, either way, if there were none.
    pub(crate) p: f64,
}

/// The difference of two means, its standard error, and the degrees of freedom of their ratio.
struct Parts {
    difference: f64,
    error: f64,
    df: f64,
}

impl Parts {
    fn of(base: &[f64], other: &[f64]) -> Parts {
        let part = |x: &[f64]| sd(x).powi(2) / x.len() as f64;
        let (va, vb) = (part(base), part(other));
        let share = |v: f64, x: &[f64]| v * v / (x.len() as f64 - 1.0);
        Parts {
            difference: mean(other) - mean(base),
            error: (va + vb).sqrt(),
            df: (va + vb).powi(2) / (share(va, base) + share(vb, other)),
        }
    }

    fn p(&self) -> f64 {
        2.0 * t_upper_tail(self.difference.abs() / self.error, self.df)
    }
}

/// Probability of a difference of means at least as large, either way, if there were none: variances need not be equal.
/// NaN for samples of fewer than two.
pub(crate) fn welch(a: &[f64], b: &[f64]) -> f64 {
    Parts::of(a, b).p()
}

/// The same with the difference and its interval, e.g. `confidence` 0.95; `None` for samples of fewer than two, or with
/// a figure that is none. Samples that do not scatter at all differ by what they differ.
pub(crate) fn welch_interval(base: &[f64], other: &[f64], confidence: f64) -> Option<Welch> {
    let all_finite = |x: &[f64]| x.len() >= 2 && x.iter().all(|x| x.is_finite());
    if !all_finite(base) || !all_finite(other) {
        return None;
    }
    let parts = Parts::of(base, other);
    let difference = parts.difference;
    if parts.error == 0.0 {
        return Some(Welch {
            difference,
            low: difference,
            high: difference,
            p: if difference == 0.0 { 1.0 } else { 0.0 },
        });
    }
    let half = t_upper_quantile((1.0 - confidence) / 2.0, parts.df) * parts.error;
    Some(Welch {
        difference,
        low: difference - half,
        high: difference + half,
        p: parts.p(),
    })
}

/// The smallest difference of means that the test at 95 % finds, with its right sign, in 9 of 10 studies of normal
/// figures: standard deviation and number of figures of each side, at least two. In the unit of the standard
/// deviations.
///
/// In each of `studies` drawn studies a true difference d is found when d and the difference by chance together exceed
/// t times the standard error; so each study has a d from which on it finds it, and the answer is that which 9 of 10
/// studies have at most.
pub(crate) fn welch_finds(sides: [(f64, usize); 2], studies: u32, seed: u64) -> f64 {
    let [(_, base), (_, other)] = sides;
    let fewest = base.min(other) as f64 - 1.0;
    // Welch's degrees of freedom lie between these two.
    let most = (base + other) as f64 - 2.0;
    let steps = (((most - fewest) * STEPS_EACH as f64).ceil() as usize).max(1);
    let width = (most - fewest) / steps as f64;
    let quantiles: Vec<f64> = (0..=steps)
        .map(|step| t_upper_quantile(0.025, fewest + width * step as f64))
        .collect();
    let quantile = |df: f64| {
        let at = if width > 0.0 {
            ((df - fewest) / width).clamp(0.0, steps as f64)
        } else {
            0.0
        };
        let below = (at as usize).min(steps - 1);
        let share = at - below as f64;
        quantiles[below] * (1.0 - share) + quantiles[below + 1] * share
    };
    let mut normal = normals(seed ^ 0x3E1C4);
    let mut from: Vec<f64> = (0..studies)
        .map(|_| {
            let mut draw = |(sd, n): (f64, usize)| -> Vec<f64> { (0..n).map(|_| sd * normal()).collect() };
            let parts = Parts::of(&draw(sides[0]), &draw(sides[1]));
            match parts.error > 0.0 {
                true => quantile(parts.df) * parts.error - parts.difference,
                false => 0.0,
            }
        })
        .collect();
    from.sort_by(f64::total_cmp);
    let place = (POWER * f64::from(studies)).ceil() as usize;
    from.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values worked out by hand: means 2 and 4, variances 1 and 4; t = 2 / sqrt(5/3), df = (5/3)^2 / (1/18 + 16/18) =
    /// 50/17.
    #[test]
    fn by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]);
        let p = welch(&a, &b);
        let by_hand = 2.0 * t_upper_tail(2.0 / (5.0f64 / 3.0).sqrt(), 50.0 / 17.0);
        assert!((p - by_hand).abs() < 1e-12, "{p} {by_hand}");
        assert!((0.2..0.25).contains(&p), "{p}");
        assert!(welch(&[1.0], &[2.0, 3.0]).is_nan());
        let found = welch_interval(&a, &b, 0.95).expect("three figures each");
        assert_eq!((found.difference, found.p), (2.0, p));
        let half = t_upper_quantile(0.025, 50.0 / 17.0) * (5.0f64 / 3.0).sqrt();
        assert!((found.high - 2.0 - half).abs() < 1e-9 && (2.0 - found.low - half).abs() < 1e-9);
        // The interval that only just leaves out no difference is that of its own probability.
        let edge = welch_interval(&a, &b, 1.0 - p).expect("three figures each");
        assert!(edge.low.abs() < 1e-6, "{edge:?}");
    }

    #[test]
    fn figures_that_do_not_scatter_and_figures_that_are_none() {
        let same = welch_interval(&[2.0, 2.0], &[2.0, 2.0], 0.95).expect("two figures each");
        assert_eq!((same.difference, same.p), (0.0, 1.0));
        let other = welch_interval(&[2.0, 2.0], &[3.0, 3.0], 0.95).expect("two figures each");
        assert_eq!((other.low, other.high, other.p), (1.0, 1.0, 0.0));
        assert!(welch_interval(&[1.0], &[1.0, 2.0], 0.95).is_none());
        assert!(welch_interval(&[1.0, f64::NAN], &[1.0, 2.0], 0.95).is_none());
    }

    #[test]
    fn nine_of_ten_studies_find_what_is_said_to_be_found() {
        for (base, other) in [(1.0, 1.0), (0.5, 2.0)] {
            let difference = welch_finds([(base, 3), (other, 3)], 20_000, 1);
            let mut normal = normals(77);
            let studies = 20_000;
            let mut found = 0;
            for _ in 0..studies {
                let mut draw = |middle: f64, sd: f64| [0; 3].map(|_| middle + sd * normal());
                let (a, b) = (draw(0.0, base), draw(difference, other));
                found += u32::from(welch(&a, &b) < 0.05 && mean(&b) > mean(&a));
            }
            let share = f64::from(found) / f64::from(studies);
            assert!((share - POWER).abs() < 0.01, "{base} {other}: {share} at {difference}");
        }
        assert_eq!(welch_finds([(0.0, 3), (0.0, 3)], 100, 1), 0.0);
    }

    #[test]
    fn more_runs_and_less_scatter_find_less() {
        let at = |sd: f64, runs: usize| welch_finds([(sd, runs); 2], 10_000, 1);
        assert!(at(1.0, 12) < at(1.0, 3) / 2.0);
        assert!((at(0.1, 3) * 10.0 - at(1.0, 3)).abs() < 1e-9);
    }
}
