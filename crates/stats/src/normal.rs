//! The normal distribution: tails and quantiles.
//!
//! Prevents: tails computed as one minus something near one. Upper tails are computed as such.

/// Below this the series for the middle is used, above it the continued fraction for the tail.
const MIDDLE: f64 = 2.0;

/// P(Z > z) for a standard normal Z, relative error below 1e-13 for |z| < 37.
///
/// Middle: the series of Abramowitz and Stegun 26.2.11; tail: the continued fraction 26.2.14.
pub fn normal_upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_upper_tail(-z);
    }
    if z < MIDDLE { 0.5 - middle(z) } else { tail(z) }
}

/// The z with P(Z <= z) = p, 0 < p < 1. Panics outside. Relative error below 1e-12.
pub fn normal_quantile(p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile needs 0 < p < 1, got {p}");
    // 1 - p is exact for p in [0.5, 1], and so is 0.5 - q for q in [0.25, 0.5].
    let (q, sign) = if p > 0.5 { (1.0 - p, 1.0) } else { (p, -1.0) };
    let z = if q == 0.5 {
        0.0
    } else if q > 0.25 {
        solve(|z| middle(z) >= 0.5 - q)
    } else {
        solve(|z| normal_upper_tail(z) <= q)
    };
    sign * z
}

/// P(0 < Z < z).
fn middle(z: f64) -> f64 {
    let mut term = z;
    let mut sum = z;
    let mut odd = 1.0;
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    density(z) * sum
}

/// P(Z > z) for z that is not small.
fn tail(z: f64) -> f64 {
    // From the inside out; 200 levels are enough at z = 2 for full precision.
    let mut below = z;
    for level in (1..=200).rev() {
        below = z + f64::from(level) / below;
    }
    density(z) / below
}

fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The smallest positive x at which `reached` turns true, to the last bit: a bracket by doubling or halving, then
/// bisection.
pub(crate) fn solve(reached: impl Fn(f64) -> bool) -> f64 {
    let mut high = 1.0;
    while !reached(high) && high < 1e300 {
        high *= 2.0;
    }
    let mut low = high / 2.0;
    while low > 1e-300 && reached(low) {
        high = low;
        low /= 2.0;
    }
    loop {
        let half = low + (high - low) / 2.0;
        if half <= low || half >= high {
            return high;
        }
        if reached(half) {
            high = half;
        } else {
            low = half;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_and_tail_meet() {
        for z in [1.9, 2.0, 2.5, 3.0] {
            assert!(((0.5 - middle(z)) / tail(z) - 1.0).abs() < 1e-12, "{z}");
        }
    }

    #[test]
    fn quantile_and_tail_are_inverse() {
        for q in [1e-300, 1e-12, 0.001, 0.2, 0.25, 0.26, 0.4999999] {
            assert!((normal_upper_tail(-normal_quantile(q)) / q - 1.0).abs() < 1e-11, "{q}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(normal_quantile(0.1), -normal_upper_quantile_of(0.1));
    }

    fn normal_upper_quantile_of(q: f64) -> f64 {
        solve(|z| normal_upper_tail(z) <= q)
    }
}
