//! Student's t distribution: tails and quantiles, by the incomplete beta function.
//!
//! Prevents: half-widths from a table that stops at df 30, and tails lost in 1 - p: the upper tail is computed as such,
//! and quantiles can be asked for by it ([`t_upper_quantile`]), because alpha spent at a look is small.

use crate::normal::solve;
use std::f64::consts::PI;

/// P(T > t), T with `df` degrees of freedom (not necessarily whole). Relative error below 1e-12 for df 1 to 1e4, and
/// below 1e-10 up to 1e6 (1 - x is then small, and the fraction feels the rounding of x).
///
/// P(T > t) = I_x(df/2, 1/2) / 2 with x = df / (df + t^2) for t > 0 (Abramowitz and Stegun 26.5.27).
pub fn t_upper_tail(t: f64, df: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - t_upper_tail(-t, df);
    }
    if use_tail(t) { tail(t, df) } else { 0.5 - middle(t, df) }
}

/// P(T <= t).
pub fn t_cdf(t: f64, df: f64) -> f64 {
    t_upper_tail(-t, df)
}

/// The t with P(T <= t) = p, 0 < p < 1. Panics outside, or when `df` is not above 0.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile needs 0 < p < 1, got {p}");
    // 1 - p is exact for p in [0.5, 1].
    if p > 0.5 {
        t_upper_quantile(1.0 - p, df)
    } else {
        -t_upper_quantile(p, df)
    }
}

/// The t with P(T > t) = q, 0 < q < 1. Panics outside, or when `df` is not above 0.
pub fn t_upper_quantile(q: f64, df: f64) -> f64 {
    assert!(q > 0.0 && q < 1.0, "a quantile needs 0 < q < 1, got {q}");
    assert!(df > 0.0, "the t distribution needs df > 0, got {df}");
    if q > 0.5 {
        return -t_upper_quantile(1.0 - q, df);
    }
    if q == 0.5 {
        0.0
    } else if q > 0.25 {
        // 0.5 - q is exact here; one minus a tail would not be.
        solve(|t| t_middle(t, df) >= 0.5 - q)
    } else {
        solve(|t| t_upper_tail(t, df) <= q)
    }
}

/// P(0 < T < t), t >= 0.
fn t_middle(t: f64, df: f64) -> f64 {
    if use_tail(t) { 0.5 - tail(t, df) } else { middle(t, df) }
}

/// The continued fraction for the tail converges fast from here on (x < (a + 1) / (a + b + 2), Numerical Recipes 6.4).
fn use_tail(t: f64) -> bool {
    t * t > 3.0
}

fn tail(t: f64, df: f64) -> f64 {
    let a = df / 2.0;
    let x = 1.0 / (1.0 + t * t / df);
    0.5 * front(t, df) / a * fraction(x, a, 0.5)
}

fn middle(t: f64, df: f64) -> f64 {
    if t == 0.0 {
        return 0.0;
    }
    let a = df / 2.0;
    let x = t * t / df / (1.0 + t * t / df);
    0.5 * front(t, df) / 0.5 * fraction(x, 0.5, a)
}

/// x^a (1-x)^b / B(a, b) for a = df/2, b = 1/2, x = df / (df + t^2), without a difference of large logarithms.
fn front(t: f64, df: f64) -> f64 {
    let square = t * t / df;
    if square.is_infinite() {
        return 0.0;
    }
    let power = (-df / 2.0 * square.ln_1p()).exp();
    let root = t / df.sqrt() / (1.0 + square).sqrt();
    power * root * gamma_half_step(df / 2.0) / PI.sqrt()
}

/// Gamma(a + 1/2) / Gamma(a): shifted up to a >= 30 by the recurrence, there by the asymptotic series
/// ln = ln(a)/2 - 1/(8a) + 1/(192a^3) - 1/(640a^5) + 17/(14336a^7) (Tricomi and Erdelyi 1951, differences of Stirling's
/// series; the next term is below 1e-16).
fn gamma_half_step(mut a: f64) -> f64 {
    let mut factor = 1.0;
    while a < 30.0 {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    let inverse = 1.0 / a;
    let square = inverse * inverse;
    let series = inverse * (-1.0 / 8.0 + square * (1.0 / 192.0 + square * (-1.0 / 640.0 + square * 17.0 / 14336.0)));
    factor * a.sqrt() * series.exp()
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method as modified
/// by Thompson and Barnett (1986).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..100_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            last = c * d;
            value *= last;
        }
        if (last - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_hold() {
        for t in [1e-9f64, 0.3, 1.0, 1.8, 5.0, 1e6] {
            // df 1 is Cauchy's distribution, df 2 has a closed form.
            let cauchy = (1.0 / t).atan() / PI;
            assert!((t_upper_tail(t, 1.0) / cauchy - 1.0).abs() < 1e-12, "{t}");
            let root = (2.0 + t * t).sqrt();
            let two = 1.0 / (root * (root + t));
            assert!((t_upper_tail(t, 2.0) / two - 1.0).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn middle_and_tail_meet() {
        for df in [1.0, 3.0, 11.0, 1e3, 1e6] {
            for t in [1.5, 1.75, 2.0] {
                assert!(((0.5 - middle(t, df)) / tail(t, df) - 1.0).abs() < 1e-10, "{df} {t}");
            }
        }
    }

    #[test]
    fn symmetry() {
        assert_eq!(t_quantile(0.5, 4.0), 0.0);
        assert_eq!(t_quantile(0.25, 4.0), -t_quantile(0.75, 4.0));
        assert_eq!(t_cdf(0.0, 4.0), 0.5);
        assert!((t_cdf(1.3, 4.0) + t_cdf(-1.3, 4.0) - 1.0).abs() < 1e-15);
    }
}
