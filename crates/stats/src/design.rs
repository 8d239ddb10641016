//! What is fixed before the first block: how many blocks, how many comparisons, the margin, and with them the looks.
//!
//! Takes a few numbers, gives the looks with the error each may spend. A part of the error is kept for extensions: each
//! adds as many blocks as the study had and has one look, at its end. Prevents: a number of blocks chosen after the
//! ratios were seen, and an error rate that every further comparison, look or extension adds to.

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
    /// Probability that any verdict of the study is false, at most, with all its extensions. 0.05.
    pub alpha: f64,
    /// The part of it that the first run leaves to extensions. 0.01.
    pub reserved: f64,
    /// Extensions so far, each of N blocks; at most [`EXTENSIONS_MAX`].
    pub extensions: u32,
}

/// Extensions that share what is reserved.
pub const EXTENSIONS_MAX: u32 = 4;

/// The part of the reserve that extension `number` (from 1) spends: a half, a quarter, an eighth, and the last eighth.
fn share_of_reserve(number: u32) -> f64 {
    0.5f64.powi(number.min(EXTENSIONS_MAX - 1) as i32)
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
    /// Error it has spent with this look: (alpha - reserved) / m (n_k / N)^2, then what extensions add.
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
    /// A design at the usual alpha of 0.05, of which 0.01 is kept for extensions.
    pub fn new(blocks: u32, comparisons: u32, margin: f64) -> Self {
        Design {
            blocks,
            comparisons,
            margin,
            alpha: 0.05,
            reserved: 0.01,
            extensions: 0,
        }
    }

    /// The same with so many extensions, at most [`EXTENSIONS_MAX`].
    pub fn extended(self, extensions: u32) -> Self {
        Design {
            extensions: extensions.min(EXTENSIONS_MAX),
            ..self
        }
    }

    /// Valid blocks after which the study ends, those of its extensions among them.
    pub fn blocks_in_all(&self) -> u32 {
        self.blocks.saturating_mul(1 + self.extensions)
    }

    /// The looks: at 4, 6, 8, 12 and 20 blocks as far as they lie below N, at N, and at the end of each extension.
    /// Empty when N is below 2.
    ///
    /// The error is spent as a power of the share of blocks (Kim and DeMets 1987, their family with exponent 2). Where
    /// an extension ends is fixed by N, so nobody can choose it by the ratios.
    pub fn looks(&self) -> Vec<LookRule> {
        let mut looks = self.looks_of_first_run();
        let kept = self.reserved / f64::from(self.comparisons.max(1));
        for extension in 1..=self.extensions.min(EXTENSIONS_MAX) {
            let Some(last) = looks.last().filter(|_| kept > 0.0) else {
                break;
            };
            let alpha = kept * share_of_reserve(extension);
            let n = self.blocks.saturating_mul(1 + extension);
            looks.push(LookRule::new(last.number + 1, n, alpha, last.alpha_total + alpha));
        }
        looks
    }

    fn looks_of_first_run(&self) -> Vec<LookRule> {
        if self.blocks < 2 {
            return Vec::new();
        }
        let each = (self.alpha - self.reserved) / f64::from(self.comparisons.max(1));
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
        let whole = Design {
            reserved: 0.0,
            ..Design::new(4, 1, 0.0)
        };
        let look = whole.looks()[0];
        assert_eq!(look.alpha, 0.05);
        assert!((look.t - 3.182_446_305_284_263).abs() < 1e-12, "{}", look.t);
    }
    #[test]
    fn extensions_spend_what_is_reserved_and_no_more() {
        let design = Design::new(12, 3, 0.05);
        let all = design.extended(EXTENSIONS_MAX + 3).looks();
        assert_eq!(
            all.iter().map(|look| look.n).collect::<Vec<_>>(),
            [4, 6, 8, 12, 24, 36, 48, 60]
        );
        for extensions in 0..=EXTENSIONS_MAX {
            let some = design.extended(extensions).looks();
            // What is looked at, and with which error, never depends on extensions that come later.
            assert_eq!(some[..], all[..some.len()]);
            let spent: f64 = some.iter().map(|look| look.alpha).sum();
            assert!((spent - some[some.len() - 1].alpha_total).abs() < 1e-15);
            assert!(spent <= 0.05 / 3.0 + 1e-15, "{extensions}: {spent}");
        }
        assert!((all[3].alpha_total - 0.04 / 3.0).abs() < 1e-15);
        assert!((all[7].alpha_total - 0.05 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn without_a_reserve_there_is_nothing_to_extend_with() {
        let none = Design {
            reserved: 0.0,
            ..Design::new(8, 1, 0.05)
        };
        assert_eq!(none.extended(2).looks(), none.looks());
    }
}
