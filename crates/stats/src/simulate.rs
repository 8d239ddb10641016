//! How often the procedure is wrong: whole studies drawn from a scenario and judged by [`decide`](crate::decide)'s
//! own code.
//!
//! Takes a scenario, a design, a number of studies and a seed; gives rates with their intervals. Each study draws the
//! logarithm of every stack's figure in every block, the base included, so that comparisons share their base as they
//! do in a real study.
//!
//! Prevents: an error rate that is believed because a formula says so.

use crate::decide::{Ends, Estimate, History, Memory, Verdict, decide_by};
use crate::design::{Design, LookRule};
use crate::normal::normal_quantile;
use noise::Draw;

mod calibrate;
mod noise;
mod recorded;
mod scenario;

pub use calibrate::{Calibration, calibrate_procedure};
pub use noise::normals;
pub use recorded::{Neighbours, TwinBlocks};
pub use scenario::{About, Noise, Rule, Scenario};

/// With which a rate is called higher than what was promised.
const BROKEN_CONFIDENCE: f64 = 0.999;

/// Of something that was seen in none of `runs` runs: the largest share of all runs in which it can happen, with 95 %
/// confidence (Clopper and Pearson 1934; 3 / n for many). 1 of no runs.
pub fn unseen_share(runs: u32) -> f64 {
    match runs {
        0 => 1.0,
        runs => 1.0 - 0.05f64.powf(1.0 / f64::from(runs)),
    }
}

/// A share of the studies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Studies that were so.
    pub count: u64,
    /// Studies.
    pub of: u64,
    /// Lower end of the 95 % interval (Wilson 1927).
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What a simulation found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulationResult {
    /// Studies with at least one false verdict: *better* for a ratio that is not above 1, *worse* for one that is not
    /// below 1, *equivalent* for one that is not inside the margin.
    pub false_verdicts: Rate,
    /// Studies in which an interval of some look that was taken did not hold the true ratio.
    pub missed: Rate,
    /// Studies whose first comparison was rightly called *better* or *worse*.
    pub detected: Rate,
    /// Studies whose first comparison was called *equivalent*.
    pub equivalent: Rate,
    /// Studies whose first comparison ended without a verdict.
    pub undecided: Rate,
    /// Blocks a study took, on average.
    pub blocks_mean: f64,
}

impl Rate {
    /// `count` of `of`, with the interval of Wilson's score.
    pub fn new(count: u64, of: u64) -> Self {
        let z = normal_quantile(0.975);
        let n = of.max(1) as f64;
        let share = count as f64 / n;
        let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        Rate {
            count,
            of,
            low: (middle - half).max(0.0),
            high: (middle + half).min(1.0),
        }
    }

    /// The smallest true share that so many make plausible, with a one-sided `confidence` (Wilson's score); 0 of none.
    pub fn lower(&self, confidence: f64) -> f64 {
        let z = normal_quantile(confidence);
        let n = self.of.max(1) as f64;
        let share = self.count as f64 / n;
        let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        ((share + z * z / (2.0 * n) - half) / (1.0 + z * z / n)).max(0.0)
    }

    /// Whether the true share is above `promise`: one that is not is called so once in a thousand times.
    pub fn is_surely_above(&self, promise: f64) -> bool {
        self.lower(BROKEN_CONFIDENCE) > promise
    }

    /// The share itself; NaN of no studies.
    pub fn share(&self) -> f64 {
        self.count as f64 / self.of as f64
    }

    /// The largest true share at which so few are still seen with a probability of 1 - `confidence`: a bound on one
    /// side (Clopper and Pearson 1934). 1 where all were so, and of no studies.
    pub fn upper(&self, confidence: f64) -> f64 {
        if self.count >= self.of {
            return 1.0;
        }
        let (mut low, mut high) = (self.share(), 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if at_most(self.count, self.of, middle) > 1.0 - confidence {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// P(X <= count) of a binomial X: `of` trials, each so with `share`, 0 < share < 1.
fn at_most(count: u64, of: u64, share: f64) -> f64 {
    let odds = share.ln() - (-share).ln_1p();
    let mut ln_term = of as f64 * (-share).ln_1p();
    let mut sum = ln_term.exp();
    for nth in 0..count {
        ln_term += ((of - nth) as f64 / (nth + 1) as f64).ln() + odds;
        sum += ln_term.exp();
    }
    sum
}

/// Draws `studies` studies and judges them. One seed gives one result, everywhere.
pub fn simulate(scenario: &Scenario, design: &Design, studies: u64, seed: u64) -> SimulationResult {
    let rules = scenario.rule.looks(design);
    let shift = match scenario.about {
        About::AllRuns => scenario.noise.shift(scenario.sd),
        About::UsualRuns => 0.0,
    };
    let truth = scenario.true_ratio.ln() + shift;
    let stacks = design.comparisons as usize;
    let mut histories: Vec<History> = (0..stacks)
        .map(|_| History {
            stack: String::new(),
            phase: String::new(),
            ys: vec![None; design.blocks_in_all() as usize],
        })
        .collect();
    let mut draw = Draw::new(scenario, design, rand_core::SeedableRng::seed_from_u64(seed));
    let mut tally = Tally::by(design, rules, scenario.rule.memory());
    for _ in 0..studies {
        draw.study(&mut histories);
        tally.judge(&histories, truth);
    }
    tally.result()
}

/// Studies that are judged by the procedure's own code, one after the other, and what came of them.
#[derive(Debug)]
pub struct Tally<'a> {
    design: &'a Design,
    rules: Vec<LookRule>,
    memory: Memory,
    studies: u64,
    false_verdicts: u64,
    missed: u64,
    detected: u64,
    equivalent: u64,
    undecided: u64,
    blocks: u64,
}

impl<'a> Tally<'a> {
    /// No study yet; all of them will have this design.
    pub fn new(design: &'a Design) -> Self {
        Tally::by(design, design.looks(), Memory::AllLooks)
    }

    fn by(design: &'a Design, rules: Vec<LookRule>, memory: Memory) -> Self {
        Tally {
            design,
            rules,
            memory,
            studies: 0,
            false_verdicts: 0,
            missed: 0,
            detected: 0,
            equivalent: 0,
            undecided: 0,
            blocks: 0,
        }
    }

    /// Judges a study of stacks whose true log ratio is `truth`. *Detected* counts for the first comparison.
    pub fn judge(&mut self, histories: &[History], truth: f64) {
        let decision = decide_by((self.design, &self.rules), self.memory, Ends::Decided, histories);
        self.studies += 1;
        self.blocks += u64::from(decision.blocks_valid);
        let results = || decision.looks.iter().flat_map(|look| &look.results);
        let misses = |estimate: &Estimate| truth < estimate.low.ln() || truth > estimate.high.ln();
        self.missed += u64::from(results().any(|(_, estimate)| misses(estimate)));
        let is_false = |verdict: Verdict| verdict.is_false(truth, self.design.margin);
        self.false_verdicts += u64::from(decision.comparisons.iter().any(|judged| is_false(judged.verdict)));
        match decision.comparisons[0].verdict {
            Verdict::NotEnoughData => self.undecided += 1,
            Verdict::Equivalent => self.equivalent += 1,
            verdict => self.detected += u64::from(!is_false(verdict)),
        }
    }

    /// The shares of the studies so far.
    pub fn result(&self) -> SimulationResult {
        let rate = |count| Rate::new(count, self.studies);
        SimulationResult {
            false_verdicts: rate(self.false_verdicts),
            missed: rate(self.missed),
            detected: rate(self.detected),
            equivalent: rate(self.equivalent),
            undecided: rate(self.undecided),
            blocks_mean: self.blocks as f64 / self.studies as f64,
        }
    }
}
