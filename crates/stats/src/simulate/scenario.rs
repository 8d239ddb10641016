//! A world to draw studies from, and how they are judged.
//!
//! Prevents: a simulation of something that its result does not name.

use crate::decide::Memory;
use crate::design::{Design, LookRule};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A world to draw studies from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    /// How block figures scatter.
    pub noise: Noise,
    /// Standard deviation of the block ratios' logarithms (each stack's figure has this over the root of two).
    pub sd: f64,
    /// True ratio of every stack to the base, before what the noise does to the mean.
    pub true_ratio: f64,
    /// How the figures are judged.
    pub rule: Rule,
    /// What a verdict is held against.
    pub about: About,
}

/// What a verdict is taken to speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The mean of all runs, those that stall among them.
    AllRuns,
    /// Runs as they usually are. What happens in a few of them is told apart, by what share of them may have hidden
    /// ([`unseen_share`]).
    UsualRuns,
}

/// How simulated figures are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// As the product does.
    Procedure,
    /// As hands do it: a plain 95 % interval after every block from the third, stopping when it excludes 1.
    EveryBlock,
}

impl Rule {
    pub(super) fn memory(self) -> Memory {
        match self {
            Rule::Procedure => Memory::AllLooks,
            Rule::EveryBlock => Memory::OneLook,
        }
    }

    pub(super) fn looks(self, design: &Design) -> Vec<LookRule> {
        match self {
            Rule::Procedure => design.looks(),
            Rule::EveryBlock => (3..=design.blocks)
                .enumerate()
                .map(|(index, n)| {
                    let rule = LookRule::new(index as u32 + 1, n, design.alpha, design.alpha);
                    LookRule {
                        t_one_sided: rule.t,
                        ..rule
                    }
                })
                .collect(),
        }
    }
}

/// How block figures scatter around their truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Independent and normal.
    Normal,
    /// Normal, with a standard deviation that grows fourfold from the first block to the last.
    UnequalVariance,
    /// Normal, and the machine gets slower by `per_run` standard deviations with each run.
    Drift {
        /// Slowing from one run to the next, in units of the ratio's standard deviation.
        per_run: f64,
    },
    /// The machine's state wanders from run to run (autoregressive, coefficient `rho`).
    SlowState {
        /// Correlation of one run's state with the next's.
        rho: f64,
    },
    /// Student's t with 3 degrees of freedom.
    HeavyTails,
    /// Normal; a `share` of all runs, of any stack, is slower by `size` standard deviations.
    Outliers {
        /// Share of the runs.
        share: f64,
        /// In units of the ratio's standard deviation.
        size: f64,
    },
    /// Breaks the procedure: the ratios themselves wander from block to block, which no order of runs can undo.
    WanderingRatios {
        /// Correlation of one block's ratio with the next's.
        rho: f64,
    },
    /// Breaks the procedure: a `share` of the runs of every stack but the base stalls, so that most studies never see
    /// what moves the mean.
    RareStalls {
        /// Share of the runs.
        share: f64,
        /// In units of the ratio's standard deviation.
        size: f64,
    },
}

impl Noise {
    /// What the noise adds to the mean log ratio.
    pub(super) fn shift(&self, sd: f64) -> f64 {
        match self {
            Noise::RareStalls { share, size } => -share * size * sd,
            _ => 0.0,
        }
    }
}

/// The generator of every simulation.
pub(crate) type Random = Xoshiro256PlusPlus;
