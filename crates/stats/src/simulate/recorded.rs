//! The procedure on a machine's own noise: studies of twins made from blocks that were recorded, judged by
//! [`decide`](crate::decide)'s own code.
//!
//! Takes, for each recorded block, ln(twin / base) in every phase; gives how often a study of such blocks errs, and
//! the smallest difference it finds. A study is a run of neighbouring blocks from a random begin (so that a time of
//! much scatter stays one), and in each block it is drawn anew which of the two is called the base: whatever made one
//! of them faster is then as often the other's, and any verdict but *equivalent* is false. Drawn signs know nothing
//! of ratios that stay off to one side for several blocks: that is asked of the blocks in their order
//! ([`TwinBlocks::neighbours`]). Prevents: an error rate that holds on a computer's random numbers and not on this
//! machine.

use super::scenario::Random;
use super::{SimulationResult, Tally};
use crate::decide::History;
use crate::design::Design;
use crate::normal::normal_quantile;
use crate::summary::{mean, sd};
use rand_core::{Rng, SeedableRng};

/// Share of studies that must find a difference.
const POWER: f64 = 0.9;

/// Studies that say whether a difference is found.
const STUDIES_OF_POWER: u64 = 2_000;

/// Chance that blocks which have nothing to do with one another are said to hang together, in any phase of a file.
const CHANCE_OF_WANDER: f64 = 0.01;

/// Fewer pairs of neighbouring blocks say nothing of their correlation.
const PAIRS_MIN: usize = 20;

/// Mean square of ratios that are all the same, but for their last bits.
const ROUNDING: f64 = 1e-24;

/// How the ratios of neighbouring blocks hang together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// Correlation of a block's ratio with the next one's, within a recording; what the twins differ by throughout is
    /// taken out.
    pub correlation: f64,
    /// The most that chance gives it, and that of all other phases, in 99 of 100 such files if blocks have nothing to
    /// do with one another (Bartlett 1946: 1 / root of the pairs is its standard error).
    pub by_chance: f64,
}

impl Neighbours {
    /// Ratios wander: the t interval of a verdict takes them for independent, and errs more often than it says.
    pub fn wander(&self) -> bool {
        self.correlation > self.by_chance
    }
}

/// Largest ratio that is looked for.
const RATIO_MAX: f64 = 10.0;

/// Blocks of two stacks that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinBlocks {
    /// ln(twin / base): a row for each block in the order of running, in it one figure for each phase.
    ys: Vec<Vec<f64>>,
    /// Where each recording begins: no study of blocks as they were run goes over its end.
    begins: Vec<usize>,
}

impl TwinBlocks {
    /// `None` of no block, of blocks of no phase, of blocks with different numbers of phases, and of figures that are
    /// no numbers.
    pub fn new(ys: Vec<Vec<f64>>) -> Option<Self> {
        let phases = ys.first()?.len();
        let fits = |block: &Vec<f64>| block.len() == phases && block.iter().all(|y| y.is_finite());
        (phases > 0 && ys.iter().all(fits)).then_some(TwinBlocks { ys, begins: vec![0] })
    }

    /// With the blocks of another recording after them; `None` when those have another number of phases.
    pub fn followed_by(mut self, other: TwinBlocks) -> Option<Self> {
        if other.phases() != self.phases() {
            return None;
        }
        self.begins
            .extend(other.begins.iter().map(|begin| begin + self.ys.len()));
        self.ys.extend(other.ys);
        Some(self)
    }

    /// The blocks of each recording, in the order of running.
    pub fn recordings(&self) -> impl Iterator<Item = &[Vec<f64>]> {
        let ends = self.begins.iter().copied().skip(1).chain([self.ys.len()]);
        self.begins.iter().zip(ends).map(|(begin, end)| &self.ys[*begin..end])
    }

    /// Blocks recorded.
    pub fn blocks(&self) -> usize {
        self.ys.len()
    }

    /// Phases in each.
    pub fn phases(&self) -> usize {
        self.ys[0].len()
    }

    /// Spread of a phase's block ratios with the names drawn anew in each: the root of the mean square of ln(twin /
    /// base).
    pub fn spread(&self, phase: usize) -> f64 {
        let sum: f64 = self.ys.iter().map(|block| block[phase] * block[phase]).sum();
        (sum / self.ys.len() as f64).sqrt()
    }

    /// What the twins differ by throughout, as the mean of ln(twin / base) in a phase, and its standard error.
    pub fn offset(&self, phase: usize) -> (f64, f64) {
        let ys: Vec<f64> = self.ys.iter().map(|block| block[phase]).collect();
        (mean(&ys), sd(&ys) / (ys.len() as f64).sqrt())
    }

    /// Whether a phase's ratios wander from block to block; `None` of fewer than 20 pairs of neighbours, and without
    /// any scatter.
    pub fn neighbours(&self, phase: usize) -> Option<Neighbours> {
        let (middle, _) = self.offset(phase);
        let off = |block: &Vec<f64>| block[phase] - middle;
        let of_pairs: Vec<f64> = (self.recordings())
            .flat_map(|blocks| blocks.windows(2).map(|pair| off(&pair[0]) * off(&pair[1])))
            .collect();
        let squares: Vec<f64> = self.ys.iter().map(|block| off(block).powi(2)).collect();
        let is_told = of_pairs.len() >= PAIRS_MIN && mean(&squares) > ROUNDING;
        let errors = normal_quantile(1.0 - CHANCE_OF_WANDER / self.phases() as f64);
        is_told.then(|| Neighbours {
            correlation: mean(&of_pairs) / mean(&squares),
            by_chance: errors / (of_pairs.len() as f64).sqrt(),
        })
    }

    /// Draws `studies` studies in which the twin is better by `true_ratio` in every phase, and judges them.
    /// *Detected* counts for the phase of that number. One seed gives one result.
    pub fn simulate(
        &self,
        design: &Design,
        true_ratio: f64,
        phase: usize,
        studies: u64,
        seed: u64,
    ) -> SimulationResult {
        let truth = true_ratio.ln();
        // All phases, the one that is asked for first: that is the one that is tallied.
        let order: Vec<usize> = (0..self.phases()).map(|nth| (phase + nth) % self.phases()).collect();
        let mut histories: Vec<History> = order
            .iter()
            .map(|_| History {
                stack: String::new(),
                phase: String::new(),
                ys: vec![None; design.blocks as usize],
            })
            .collect();
        let mut random = Random::seed_from_u64(seed);
        let mut tally = Tally::new(design);
        for _ in 0..studies {
            let begin = (random.next_u64() % self.ys.len() as u64) as usize;
            for nth in 0..design.blocks as usize {
                let block = &self.ys[(begin + nth) % self.ys.len()];
                let sign = if random.next_u64() >> 63 == 0 { 1.0 } else { -1.0 };
                for (history, phase) in histories.iter_mut().zip(&order) {
                    history.ys[nth] = Some(sign * block[*phase] + truth);
                }
            }
            tally.judge(&histories, truth);
        }
        tally.result()
    }

    /// The smallest ratio above 1 that nine of ten studies call *better* in that phase, at least 1 + margin; `None`
    /// when even tenfold is not found so often.
    pub fn smallest_found(&self, design: &Design, phase: usize, seed: u64) -> Option<f64> {
        let found = |ratio: f64| {
            let result = self.simulate(design, ratio, phase, STUDIES_OF_POWER, seed);
            result.detected.share() >= POWER
        };
        if !found(RATIO_MAX) {
            return None;
        }
        // Halved until it is known to a thousandth of its logarithm.
        let (mut low, mut high) = (0.0, RATIO_MAX.ln());
        while high - low > 1e-3 * high.max(0.05) {
            let middle = f64::midpoint(low, high);
            if found(middle.exp()) {
                high = middle;
            } else {
                low = middle;
            }
        }
        // Smaller differences count as equal, however sure a study is of them.
        Some(high.exp().max(1.0 + design.margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detectable::detectable;

    /// Normal figures, of a twin that is better by `offset` in truth.
    fn normal(blocks: usize, phases: usize, sd: f64, offset: f64) -> TwinBlocks {
        let mut random = Random::seed_from_u64(7);
        let mut draw = || {
            let open = ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            offset + sd * normal_quantile(open)
        };
        let ys = (0..blocks).map(|_| (0..phases).map(|_| draw()).collect()).collect();
        TwinBlocks::new(ys).expect("blocks")
    }

    #[test]
    fn twins_are_seldom_told_apart_whatever_else_sets_them_apart() {
        let design = Design::new(12, 2, 0.0);
        for offset in [0.0, 0.02] {
            let result = normal(200, 2, 0.03, offset).simulate(&design, 1.0, 0, 20_000, 1);
            assert!(result.false_verdicts.high < 0.055, "{offset}: {result:?}");
            assert!(result.false_verdicts.low > 0.001, "{offset}: {result:?}");
        }
    }

    /// Ratios of which each holds on to so much of the one before.
    fn wandering(blocks: usize, rho: f64, seed: u64) -> TwinBlocks {
        let mut draw = crate::simulate::normals(seed);
        let mut y = draw();
        let mut next = || {
            y = rho * y + (1.0 - rho * rho).sqrt() * draw();
            vec![0.02 + 0.03 * y]
        };
        TwinBlocks::new((0..blocks).map(|_| next()).collect()).expect("blocks")
    }

    #[test]
    fn ratios_that_wander_are_told_by_their_order_and_by_no_drawn_sign() {
        let flagged = |rho: f64| {
            let all = (0..400).map(|seed| wandering(60, rho, seed).neighbours(0).expect("pairs"));
            all.filter(Neighbours::wander).count()
        };
        assert!(flagged(0.0) <= 12, "one in 100 by chance: {}", flagged(0.0));
        assert!(flagged(0.5) >= 340, "{}", flagged(0.5));
        let design = Design::new(12, 1, 0.0);
        let wanders = wandering(4_800, 0.5, 1);
        let drawn = wanders.simulate(&design, 1.0, 0, 20_000, 1).false_verdicts.share();
        assert!(drawn < 0.055, "drawn signs see nothing of it: {drawn}");
        let (mean, error) = wanders.offset(0);
        assert!((mean - 0.02).abs() < 4.0 * error.max(0.0008), "{mean} {error}");
        // Two recordings: the last block of one is no neighbour of the first of the next.
        let apart = |sign: f64| {
            let ys = (0..30).map(|n| vec![sign * 0.01 + if n % 2 == 0 { 0.03 } else { -0.03 }]);
            TwinBlocks::new(ys.collect()).expect("blocks")
        };
        let both = apart(1.0).followed_by(apart(-1.0)).expect("alike");
        let found = both.neighbours(0).expect("pairs");
        assert!((found.correlation + 0.8).abs() < 0.02, "{found:?}");
        assert!((found.by_chance - 2.326 / 58f64.sqrt()).abs() < 1e-3, "{found:?}");
        assert_eq!(wandering(20, 0.5, 1).neighbours(0), None);
        let limit = |phases: usize| normal(60, phases, 0.03, 0.0).neighbours(0).expect("pairs").by_chance;
        assert!(limit(3) > limit(1), "one chance in 100 is shared");
        assert_eq!(
            TwinBlocks::new(vec![vec![0.1]; 60]).expect("blocks").neighbours(0),
            None
        );
    }

    #[test]
    fn what_is_found_is_what_theory_says_of_normal_noise() {
        let design = Design::new(12, 1, 0.0);
        let twins = normal(400, 1, 0.03, 0.0);
        let theory = detectable(&design, twins.spread(0)).ln();
        let found = twins.smallest_found(&design, 0, 3).expect("found").ln();
        assert!((found / theory - 1.0).abs() < 0.08, "{found} {theory}");
    }

    #[test]
    fn noise_without_bound_finds_nothing_and_bad_blocks_are_refused() {
        let wild = TwinBlocks::new((0..50).map(|n| vec![if n % 2 == 0 { 9.0 } else { -8.0 }]).collect());
        assert_eq!(
            wild.expect("blocks").smallest_found(&Design::new(4, 1, 0.0), 0, 1),
            None
        );
        assert_eq!(TwinBlocks::new(Vec::new()), None);
        assert_eq!(TwinBlocks::new(vec![vec![0.1], vec![]]), None);
        assert_eq!(TwinBlocks::new(vec![vec![f64::NAN]]), None);
    }
}
