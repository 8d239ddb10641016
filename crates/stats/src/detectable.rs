//! The smallest difference a design finds: takes the design and the spread of the block ratios, gives a ratio.
//!
//! Prevents: a study of an hour that could never have told what it was asked.

use crate::design::{Design, LookRule};
use crate::normal::normal_upper_tail;

/// Share of studies that must find the difference.
const POWER: f64 = 0.9;

/// Points of the integral over the sample's spread.
const POINTS: u32 = 400;

/// The smallest ratio from 1 + margin on such that a stack better by it (or, inverted, worse) is called
/// [`Verdict::Better`](crate::Verdict::Better) at the last look in 9 of 10 studies, given normal block ratios with
/// standard deviation `sd` (of the logarithms; measured, or assumed). Infinity when the design has no look.
///
/// Exact for the last look: the mean is normal, the sample's spread has a chi distribution independent of it, and the
/// verdict needs the mean to exceed both h (the interval excludes 1) and ln(1 + margin) less the one-sided half-width
/// (it is not *equivalent*; without this a tiny spread would promise differences that are called so). The probability
/// is integrated over the spread. Earlier looks can only be passed with larger differences or smaller luck, so the
/// figure is slightly pessimistic for a difference beyond the margin.
///
/// Differences within the margin count as equal, so none is promised. Without that bound the figure falls below the
/// margin as noise grows: a wide interval is not *equivalent*, so more of these differences are called better. With the
/// bound the figure never falls as noise grows: in units of the mean's error, the difference found grows no faster than
/// the margin. At the bound more than 9 of 10 studies find it.
pub fn detectable(design: &Design, sd: f64) -> f64 {
    let looks = design.looks();
    looks
        .last()
        .map_or(f64::INFINITY, |last| detectable_at(last, design.margin, sd))
}

/// The same at one look of a design with this margin, for studies that end with it.
pub fn detectable_at(look: &LookRule, margin: f64, sd: f64) -> f64 {
    let least = 1.0 + margin;
    if sd <= 0.0 {
        return least;
    }
    let edge = margin.ln_1p();
    let spreads = spreads(look.n - 1);
    let found = |difference: f64| power(look, edge, sd, difference, &spreads) >= POWER;
    crate::normal::solve(found).exp().max(least)
}

/// Probability of [`Verdict::Better`](crate::Verdict::Better) at one look for a true log ratio of `difference`.
fn power(rule: &LookRule, edge: f64, sd: f64, difference: f64, spreads: &[(f64, f64)]) -> f64 {
    let error = sd / f64::from(rule.n).sqrt();
    spreads
        .iter()
        .map(|&(spread, weight)| {
            let (half, one_sided) = (rule.t * spread * error, rule.t_one_sided * spread * error);
            weight * normal_upper_tail((half.max(edge - one_sided) - difference) / error)
        })
        .sum()
}

/// The distribution of s / sigma with `df` degrees of freedom as points and weights that sum to 1: density proportional
/// to u^(df-1) exp(-df u^2 / 2), normalised by its own sum (the midpoint rule, as the density is smooth and dies out).
fn spreads(df: u32) -> Vec<(f64, f64)> {
    let df = f64::from(df);
    let highest = 1.0 + 8.0 / df.sqrt();
    let mut points: Vec<(f64, f64)> = (0..POINTS)
        .map(|index| {
            let u = (f64::from(index) + 0.5) / f64::from(POINTS) * highest;
            (u, ((df - 1.0) * u.ln() - df * u * u / 2.0).exp())
        })
        .collect();
    let sum: f64 = points.iter().map(|&(_, density)| density).sum();
    for (_, density) in &mut points {
        *density /= sum;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_noncentral_t() {
        // Noncentralities with power 0.9, one look: tests/data/detectable_one_look.csv.
        for (n, noncentrality) in [(4, 5.013_790_638_877_427), (12, 3.566_194_313_492_101)] {
            let rule = LookRule::new(1, n, 0.05, 0.05);
            let difference = noncentrality * 0.01 / f64::from(n).sqrt();
            let found = power(&rule, 0.0, 0.01, difference, &spreads(n - 1));
            assert!((found - 0.9).abs() < 1e-5, "{n}: {found}");
        }
    }

    #[test]
    fn a_study_that_ends_with_an_earlier_look_finds_less() {
        let design = Design::new(12, 4, 0.1);
        let looks = design.looks();
        let at: Vec<f64> = looks.iter().map(|look| detectable_at(look, 0.1, 0.05)).collect();
        assert!(at.is_sorted_by(|early, late| early > late), "{at:?}");
        assert_eq!(at.last().copied(), Some(detectable(&design, 0.05)));
    }

    #[test]
    fn a_tiny_spread_finds_what_lies_beyond_the_margin() {
        let found = detectable(&Design::new(12, 1, 0.05), 1e-6);
        assert!((found - 1.05).abs() < 1e-4, "{found}");
        assert_eq!(detectable(&Design::new(12, 1, 0.05), 0.0), 1.05);
    }

    #[test]
    fn noise_never_makes_the_figure_smaller_and_none_lies_within_the_margin() {
        for (blocks, comparisons) in [(12, 3), (4, 1)] {
            let design = Design::new(blocks, comparisons, 0.2);
            let found: Vec<f64> = (0..=10)
                .map(|step| detectable(&design, 0.03 * f64::from(step)))
                .collect();
            assert!(found.is_sorted() && found[0] == 1.2, "{found:?}");
            assert!(found[10] > found[9] && found[9] > 1.2, "{found:?}");
        }
        // Without the bound these are 1.191, 1.177 and 1.164.
        let design = Design::new(12, 3, 0.2);
        assert_eq!([0.02, 0.05, 0.10].map(|sd| detectable(&design, sd)), [1.2; 3]);
    }

    #[test]
    fn at_the_bound_more_than_nine_of_ten_find_it() {
        let (design, sd) = (Design::new(12, 3, 0.2), 0.10);
        let last = design.looks().last().copied().unwrap();
        let edge = 0.2_f64.ln_1p();
        let found = power(&last, edge, sd, detectable(&design, sd).ln(), &spreads(last.n - 1));
        assert!(found > POWER, "{found}");
    }

    #[test]
    fn more_blocks_find_more_and_more_comparisons_find_less() {
        let at = |blocks, comparisons| detectable(&Design::new(blocks, comparisons, 0.0), 0.03);
        assert!(at(12, 1) < at(8, 1) && at(8, 1) < at(4, 1));
        assert!(at(12, 1) < at(12, 6));
    }
}
