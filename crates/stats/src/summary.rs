//! Means, spreads, plain intervals of a mean and of one more value; ratios as logarithms.
//!
//! Prevents: an arithmetic mean of ratios (a ratio and its inverse would not agree), an elapsed time compared as if
//! more were better, and the doubt of a mean taken for that of one more value.

use crate::student::t_upper_quantile;

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The middle: mean, or ratio.
    pub middle: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Which direction of a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// Rates.
    HigherIsBetter,
    /// Latencies and elapsed times.
    LowerIsBetter,
}

/// ln(x / base), oriented so that positive means better than the base. `None` unless both are positive and finite.
pub fn log_ratio(x: f64, base: f64, orientation: Orientation) -> Option<f64> {
    let usable = |value: f64| value > 0.0 && value.is_finite();
    if !usable(x) || !usable(base) {
        return None;
    }
    let y = x.ln() - base.ln();
    Some(match orientation {
        Orientation::HigherIsBetter => y,
        Orientation::LowerIsBetter => -y,
    })
}

/// Arithmetic mean; NaN of nothing.
pub fn mean(xs: &[f64]) -> f64 {
    xs.iter().sum::<f64>() / xs.len() as f64
}

/// Standard deviation of a sample (n - 1); NaN below two values.
pub fn sd(xs: &[f64]) -> f64 {
    if xs.len() < 2 {
        return f64::NAN;
    }
    let middle = mean(xs);
    let squares: f64 = xs.iter().map(|x| (x - middle) * (x - middle)).sum();
    (squares / (xs.len() - 1) as f64).sqrt()
}

/// Median; NaN of nothing.
pub fn median(xs: &[f64]) -> f64 {
    let mut sorted = xs.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Geometric mean of positive values; NaN of nothing or of what has no logarithm.
pub fn geometric_mean(xs: &[f64]) -> f64 {
    (xs.iter().map(|x| x.ln()).sum::<f64>() / xs.len() as f64).exp()
}

/// The t interval of a mean at one look chosen beforehand, e.g. `confidence` 0.95: for metrics that are shown but not
/// tested. `None` below two values or when one is not finite.
pub fn interval(ys: &[f64], confidence: f64) -> Option<Interval> {
    let half = half_width(ys, confidence)?;
    Some(Interval::around(mean(ys), half))
}

/// The interval in which one more value lies, drawn as these were, e.g. with a `confidence` of 0.95; in the unit of the
/// values. `None` below two values or when one is not finite.
///
/// mean ± t(n - 1) s sqrt(1 + 1/n), of independent normal values: Hahn, "Factors for calculating two-sided prediction
/// intervals for samples from a normal distribution", JASA 64 (1969). It is sqrt(n + 1) times as wide as [`interval`].
pub fn prediction_interval(ys: &[f64], confidence: f64) -> Option<Interval> {
    let half = half_width(ys, confidence)? * (ys.len() as f64 + 1.0).sqrt();
    Some(Interval::around(mean(ys), half))
}

/// Half the width of the t interval of a mean.
fn half_width(ys: &[f64], confidence: f64) -> Option<f64> {
    if ys.len() < 2 || ys.iter().any(|y| !y.is_finite()) {
        return None;
    }
    let n = ys.len() as f64;
    Some(t_upper_quantile((1.0 - confidence) / 2.0, n - 1.0) * sd(ys) / n.sqrt())
}

/// The interval of how far the mean of one sample lies above that of another, drawn apart from it and with a spread of
/// its own. `None` below two values in either or when one is not finite.
///
/// Welch, "The generalization of 'Student's' problem when several different population variances are involved",
/// Biometrika 34 (1947), with the degrees of freedom of Satterthwaite (1946).
pub fn difference(later: &[f64], earlier: &[f64], confidence: f64) -> Option<Interval> {
    let usable = |ys: &[f64]| ys.len() >= 2 && ys.iter().all(|y| y.is_finite());
    if !usable(later) || !usable(earlier) {
        return None;
    }
    let of = |ys: &[f64]| (sd(ys).powi(2) / ys.len() as f64, (ys.len() - 1) as f64);
    let ((one, df_one), (other, df_other)) = (of(later), of(earlier));
    let variance = one + other;
    let half = match variance > 0.0 {
        // Shares of the whole, because squares of tiny variances would be lost.
        true => {
            let df = 1.0 / ((one / variance).powi(2) / df_one + (other / variance).powi(2) / df_other);
            t_upper_quantile((1.0 - confidence) / 2.0, df) * variance.sqrt()
        }
        false => 0.0,
    };
    Some(Interval::around(mean(later) - mean(earlier), half))
}

/// [`interval`] of log ratios, given back as ratios.
pub fn ratio_interval(ys: &[f64], confidence: f64) -> Option<Interval> {
    interval(ys, confidence).map(Interval::exp)
}

/// [`prediction_interval`] of log ratios, given back as ratios.
pub fn ratio_prediction_interval(ys: &[f64], confidence: f64) -> Option<Interval> {
    prediction_interval(ys, confidence).map(Interval::exp)
}

/// [`difference`] of log ratios, given back as a ratio of ratios.
pub fn ratio_of_ratios(later: &[f64], earlier: &[f64], confidence: f64) -> Option<Interval> {
    difference(later, earlier, confidence).map(Interval::exp)
}

impl Interval {
    fn around(middle: f64, half: f64) -> Interval {
        Interval {
            middle,
            low: middle - half,
            high: middle + half,
        }
    }

    fn exp(self) -> Interval {
        Interval {
            middle: self.middle.exp(),
            low: self.low.exp(),
            high: self.high.exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_interval() {
        // Student's sleep data, differences of the two drugs (Biometrika 6, 1908, p. 20): 95 % interval 0.7001 to
        // 2.4599.
        let ys = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let found = interval(&ys, 0.95).expect("ten values have an interval");
        assert!((found.middle - 1.58).abs() < 1e-12);
        assert!((found.low - 0.700_114).abs() < 1e-5, "{found:?}");
        assert!((found.high - 2.459_886).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn a_known_interval_of_one_more_value() {
        // By hand: mean 2, spread 1, t 4.302653 with 2 degrees of freedom, sqrt(1 + 1/3) 1.154701.
        let found = prediction_interval(&[1.0, 2.0, 3.0], 0.95).expect("three values");
        assert_eq!(found.middle, 2.0);
        assert!((found.high - 6.968_275_4).abs() < 1e-6, "{found:?}");
        assert!((found.low + 2.968_275_4).abs() < 1e-6, "{found:?}");
        // Student's sleep data again: spread 1.229995, t 2.262157 with 9 degrees of freedom, sqrt(1.1) 1.048809.
        let ys = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let found = prediction_interval(&ys, 0.95).expect("ten values have one");
        assert!((found.low + 1.338_251).abs() < 1e-5, "{found:?}");
        assert!((found.high - 4.498_251).abs() < 1e-5, "{found:?}");
        let ratio = ratio_prediction_interval(&ys, 0.95).expect("ten values have one");
        assert_eq!((ratio.low, ratio.high), (found.low.exp(), found.high.exp()));
        assert!(prediction_interval(&[1.0], 0.95).is_none() && prediction_interval(&[], 0.95).is_none());
        assert!(ratio_prediction_interval(&[0.0, f64::NAN], 0.95).is_none());
    }

    /// The interval of the mean would hold 91 % of the values after two, and 75 % of those after four.
    #[test]
    fn one_more_value_lies_inside_as_often_as_promised() {
        let mut draw = crate::normals(17);
        for n in [2, 4, 6] {
            let samples = 4_000;
            let inside = (0..samples)
                .filter(|_| {
                    let ys: Vec<f64> = (0..n).map(|_| 3.0 + 0.5 * draw()).collect();
                    let next = 3.0 + 0.5 * draw();
                    let found = prediction_interval(&ys, 0.95).expect("finite values");
                    (found.low..=found.high).contains(&next)
                })
                .count();
            // Five standard errors of 95 % are 1.7 points.
            let share = inside as f64 / f64::from(samples);
            assert!((share - 0.95).abs() < 0.0173, "{n} values: {share}");
        }
    }

    #[test]
    fn a_known_difference() {
        // The same sleep data as two samples: 0.2055 to -3.3655 on 17.776 degrees of freedom, by R's t.test.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = difference(&first, &second, 0.95).expect("ten values each");
        assert!((found.low + 3.365_483_2).abs() < 1e-5, "{found:?}");
        assert!((found.high - 0.205_483_2).abs() < 1e-5, "{found:?}");
        let equal = difference(&[1.0, 1.0], &[0.5, 0.5], 0.95).expect("no spread at all");
        assert_eq!((equal.low, equal.middle, equal.high), (0.5, 0.5, 0.5));
        assert!(difference(&[1.0], &first, 0.95).is_none() && difference(&first, &[f64::NAN, 1.0], 0.95).is_none());
        let tiny = difference(&[1e-200, 2e-200], &[0.0, 1e-200], 0.95).expect("finite");
        assert!(tiny.low.is_finite() && tiny.high.is_finite(), "{tiny:?}");
    }

    #[test]
    fn means() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-15);
        assert!((sd(&[1.0, 2.0, 3.0, 4.0]) - (5.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!(sd(&[1.0]).is_nan() && median(&[]).is_nan());
        assert!(interval(&[1.0], 0.95).is_none());
    }

    #[test]
    fn orientation_turns_the_sign() {
        let rate = log_ratio(2.0, 1.0, Orientation::HigherIsBetter).expect("positive");
        let time = log_ratio(2.0, 1.0, Orientation::LowerIsBetter).expect("positive");
        assert_eq!(rate, -time);
        assert_eq!(log_ratio(0.0, 1.0, Orientation::HigherIsBetter), None);
        assert_eq!(log_ratio(1.0, f64::NAN, Orientation::HigherIsBetter), None);
    }
}
