//! What is fixed before the first block: how many blocks, how many comparisons, the margin, and with them the looks.
//!
//! Takes four numbers, gives the looks with the error each may spend. Prevents: a number of blocks chosen after the
//! ratios were seen, and an error rate that every further comparison or look adds to.

use crate::student::t_upper_quantile;

/// Blocks at which the data may be looked at, besides the last.
const LOOKS_AT: [u32; 5] = [4, 6, 8, 12, 20];

/// The design of a study, fixed before its first block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// N: valid blocks after which the study ends.
    pub blocks: u32,
    /// m: comparisons that get a verdict, (stacks - 1) x ranked phases.
    pub comparisons: u32,
    /// Differences inside it count as equal; 0.05: ratios in (1/1.05, 1.05).
    pub margin: f64,
    /// Probability that any verdict of the study is false, at most. 0.05.
    pub alpha: f64,
}

/// One look that the design allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookRule {
    /// From 1.
    pub number: u32,
    /// Valid blocks at which it is taken.
    pub n: u32,
    /// Error one comparison spends at this look: alpha(n_k) - alpha(n_{k-1}).
    pub alpha: f64,
    /// Error it has spent with this look: alpha(n_k) = alpha / m (n_k / N)^2.
    pub alpha_total: f64,
    /// t(1 - alpha / 2; n - 1): the interval's half-width is this times s / sqrt(n).
    pub t: f64,
    /// t(1 - alpha; n - 1): the same for each of the two one-sided tests of *equivalent*.
    pub t_one_sided: f64,
}

impl LookRule {
    /// Look `number` (from 1) at `n` blocks, at least 2, that spends `alpha` of `alpha_total` spent by then.
    pub fn new(number: u32, n: u32, alpha: f64, alpha_total: f64) -> Self {
        let freedom = f64::from(n - 1);
        LookRule {
            number,
            n,
            alpha,
            alpha_total,
            t: t_upper_quantile(alpha / 2.0, freedom),
            t_one_sided: t_upper_quantile(alpha, freedom),
        }
    }
}

impl Design {
    /// A design at the usual alpha of 0.05.
    pub fn new(blocks: u32, comparisons: u32, margin: f64) -> Self {
        Design {
            blocks,
            comparisons,
            margin,
            alpha: 0.05,
        }
    }

    /// The looks: at 4, 6, 8, 12 and 20 blocks as far as they lie below N, and at N. Empty when N is below 2.
    ///
    /// The error is spent as a power of the share of blocks (Kim and DeMets 1987, their family with exponent 2).
    pub fn looks(&self) -> Vec<LookRule> {
        if self.blocks < 2 {
            return Vec::new();
        }
        let each = self.alpha / f64::from(self.comparisons.max(1));
        let mut spent = 0.0;
        LOOKS_AT
            .into_iter()
            .filter(|&n| n < self.blocks)
            .chain([self.blocks])
            .enumerate()
            .map(|(index, n)| {
                let share = f64::from(n) / f64::from(self.blocks);
                let alpha_total = each * share * share;
                let alpha = alpha_total - spent;
                spent = alpha_total;
                LookRule::new(index as u32 + 1, n, alpha, alpha_total)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(design: &Design) -> Vec<u32> {
        design.looks().iter().map(|look| look.n).collect()
    }

    #[test]
    fn looks_are_those_of_the_design() {
        assert_eq!(ns(&Design::new(12, 1, 0.0)), [4, 6, 8, 12]);
        assert_eq!(ns(&Design::new(10, 1, 0.0)), [4, 6, 8, 10]);
        assert_eq!(ns(&Design::new(8, 1, 0.0)), [4, 6, 8]);
        assert_eq!(ns(&Design::new(6, 1, 0.0)), [4, 6]);
        assert_eq!(ns(&Design::new(4, 1, 0.0)), [4]);
        assert_eq!(ns(&Design::new(2, 1, 0.0)), [2]);
        assert_eq!(ns(&Design::new(1, 1, 0.0)), [0; 0]);
        assert_eq!(ns(&Design::new(20, 1, 0.0)), [4, 6, 8, 12, 20]);
        assert_eq!(ns(&Design::new(30, 1, 0.0)), [4, 6, 8, 12, 20, 30]);
    }

    #[test]
    fn one_look_at_four_is_the_plain_interval() {
        let look = Design::new(4, 1, 0.0).looks()[0];
        assert_eq!(look.alpha, 0.05);
        assert!((look.t - 3.182_446_305_284_263).abs() < 1e-12, "{}", look.t);
    }
}
