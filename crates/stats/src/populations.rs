//! Two populations in one sample: takes values of one phase (times of scans, say), says whether they fall into two
//! groups.
//!
//! The statistic is the share of the sum of squares that lies between two groups, at the cut that makes it largest:
//! Otsu's criterion (IEEE Trans. SMC 9, 1979, 62-66), whose distribution in normal samples was first tabled by
//! Engelman and Hartigan (J. Am. Stat. Assoc. 64, 1969, 1647-1648) as the likelihood ratio for two clusters. The
//! thresholds here were simulated for our smallest group size.
//!
//! Prevents: an average of half the scans at 50 s and half at 77 s, which no scan ever took.

use crate::summary::mean;

/// (size of the sample, share exceeded by 0.5 % of normal samples), each from 400,000 simulated samples (100,000 from
/// 70 on). Between sizes the line between the neighbours is used.
const THRESHOLDS: [(f64, f64); 12] = [
    (6.0, 0.9771),
    (7.0, 0.9636),
    (8.0, 0.9489),
    (9.0, 0.9349),
    (10.0, 0.9226),
    (12.0, 0.9003),
    (14.0, 0.8823),
    (16.0, 0.8673),
    (20.0, 0.8431),
    (25.0, 0.8227),
    (30.0, 0.8057),
    (40.0, 0.7831),
];

/// Never below this: an even spread without any gap reaches 0.75 (and more in small samples), and is one population.
const THRESHOLD_MIN: f64 = 0.84;

/// Means of groups closer than this share of the lower one are not worth a flag (ticks of a clock form groups too).
const APART_MIN: f64 = 0.05;

/// Fewest values that can show two populations.
const SAMPLE_MIN: usize = 6;

/// One of the two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Values in it.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
}

/// A sample that falls into two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The lower group.
    pub low: Group,
    /// The higher group.
    pub high: Group,
    /// Halfway between the two values at the gap.
    pub cut: f64,
    /// Share of the sum of squares that lies between the groups, 0 to 1.
    pub between: f64,
    /// What `between` had to exceed.
    pub threshold: f64,
}

/// Two populations, or `None`. At most 1 % of normal samples are flagged. A group must hold at least two values and a
/// fifth of the sample (one slow value is an outlier, not a population); fewer than six values, or one that is not
/// finite, are never flagged.
pub fn two_populations(xs: &[f64]) -> Option<Split> {
    if xs.len() < SAMPLE_MIN || xs.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut sorted = xs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (size, between) = best_cut(&sorted)?;
    let threshold = threshold(xs.len());
    let (below, above) = sorted.split_at(size);
    let low = Group {
        count: below.len(),
        mean: mean(below),
    };
    let high = Group {
        count: above.len(),
        mean: mean(above),
    };
    let apart = high.mean - low.mean >= APART_MIN * low.mean.abs();
    let cut = (sorted[size - 1] + sorted[size]) / 2.0;
    (between > threshold && apart).then_some(Split {
        low,
        high,
        cut,
        between,
        threshold,
    })
}

/// Size of the lower group at the best cut of a sorted sample, with its share between; `None` when all values are
/// equal.
fn best_cut(sorted: &[f64]) -> Option<(usize, f64)> {
    let n = sorted.len();
    let least = n.div_ceil(5).max(2);
    let middle = mean(sorted);
    let total: f64 = sorted.iter().map(|x| (x - middle) * (x - middle)).sum();
    if total == 0.0 {
        return None;
    }
    let mut best = (0, -1.0);
    let mut sum = 0.0;
    for (index, x) in sorted.iter().enumerate() {
        sum += x - middle;
        let size = index + 1;
        if size < least || n - size < least {
            continue;
        }
        let between = sum * sum * (1.0 / size as f64 + 1.0 / (n - size) as f64) / total;
        if between > best.1 {
            best = (size, between);
        }
    }
    Some(best)
}

fn threshold(n: usize) -> f64 {
    let n = n as f64;
    let after = THRESHOLDS.partition_point(|&(size, _)| size < n);
    let value = match (
        after.checked_sub(1).map(|index| THRESHOLDS[index]),
        THRESHOLDS.get(after),
    ) {
        (Some((lower, from)), Some(&(upper, to))) => from + (to - from) * (n - lower) / (upper - lower),
        (None, Some(&(_, first))) => first,
        (_, None) => THRESHOLD_MIN,
    };
    value.max(THRESHOLD_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::normals;

    #[test]
    fn the_seeds_scans_are_two_populations() {
        let scans = [50.2, 77.1, 49.8, 76.0, 51.0, 78.3, 50.5, 77.7, 49.1, 76.5];
        let split = two_populations(&scans).expect("two populations");
        assert_eq!((split.low.count, split.high.count), (5, 5));
        assert!((split.low.mean - 50.12).abs() < 1e-9 && split.cut > 51.0 && split.cut < 76.0);
    }

    #[test]
    fn normal_samples_are_rarely_flagged() {
        let mut draw = normals(11);
        for n in [6, 10, 11, 18, 60] {
            let samples = 20_000;
            // Relative spread 30 %, so that the rule on distance does not decide.
            let flagged = (0..samples)
                .filter(|_| {
                    let xs: Vec<f64> = (0..n).map(|_| 10.0 + 3.0 * draw()).collect();
                    two_populations(&xs).is_some()
                })
                .count();
            // 1 % is promised, 0.5 % aimed at; five standard errors above the aim are 0.75 %.
            assert!(flagged * 10_000 / samples < 75, "{n}: {flagged} of {samples}");
        }
    }

    #[test]
    fn what_is_not_two_populations() {
        assert!(two_populations(&[7.0; 20]).is_none());
        assert!(two_populations(&[1.0, 1.0, 1.0, 9.0, 9.0]).is_none(), "too few");
        let even: Vec<f64> = (0..40).map(|index| 100.0 + f64::from(index)).collect();
        assert!(two_populations(&even).is_none(), "an even spread");
        let mut one_slow = vec![10.0, 10.1, 9.9, 10.2, 9.8, 10.0, 10.1, 9.9, 10.0];
        one_slow.push(30.0);
        assert!(two_populations(&one_slow).is_none(), "one slow value");
        let ticks: Vec<f64> = (0..20).map(|index| 100.0 + f64::from(index % 2)).collect();
        assert!(two_populations(&ticks).is_none(), "groups one percent apart");
        assert!(two_populations(&[1.0, 1.0, 1.0, f64::NAN, 9.0, 9.0, 9.0]).is_none());
    }
}
