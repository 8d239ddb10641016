//! Ways in which block figures scatter: takes a scenario, fills a study's histories.
//!
//! The first group is what the procedure must stand; the last two are what breaks it, kept so that the break is known.
//! Prevents: a procedure tried only on the noise it was derived for.

use super::scenario::{Noise, Random, Scenario};
use crate::decide::History;
use crate::design::Design;
use rand_core::{Rng, SeedableRng};

/// Draws studies.
pub(super) struct Draw {
    scenario: Scenario,
    stacks: usize,
    normal: Normal,
    order: Vec<usize>,
    /// Log figures of one block, the base first.
    block: Vec<f64>,
    /// What is remembered from run to run or from block to block.
    memory: Vec<f64>,
    runs: u32,
}

impl Draw {
    pub(super) fn new(scenario: &Scenario, design: &Design, random: Random) -> Self {
        let stacks = design.comparisons as usize + 1;
        Draw {
            scenario: *scenario,
            stacks,
            normal: Normal { random, spare: None },
            order: (0..stacks).collect(),
            block: vec![0.0; stacks],
            memory: vec![0.0; stacks],
            runs: 0,
        }
    }

    /// Fills all blocks of one study.
    pub(super) fn study(&mut self, histories: &mut [History]) {
        let blocks = histories.first().map_or(0, |history| history.ys.len());
        self.runs = 0;
        let each = self.scenario.sd / 2.0f64.sqrt();
        for index in 0..self.stacks {
            // Start the wandering in its stationary distribution.
            self.memory[index] = each * self.normal.next();
        }
        for block in 0..blocks {
            self.arrange(block);
            for place in 0..self.stacks {
                let stack = self.order[place];
                self.block[stack] = self.run(stack, block, blocks);
            }
            let base = self.block[0];
            for (history, figure) in histories.iter_mut().zip(&self.block[1..]) {
                history.ys[block] = Some(figure - base);
            }
        }
    }

    /// Of four blocks, two in a new order and two in its reverse.
    fn arrange(&mut self, block: usize) {
        match block % 4 {
            0 => {}
            2 => return self.order.reverse(),
            _ => return,
        }
        for last in (1..self.stacks).rev() {
            let other = (self.normal.uniform() * (last + 1) as f64) as usize;
            self.order.swap(last, other.min(last));
        }
    }

    /// Log figure of one stack in one block.
    fn run(&mut self, stack: usize, block: usize, blocks: usize) -> f64 {
        let sd = self.scenario.sd;
        let each = sd / 2.0f64.sqrt();
        let truth = if stack == 0 { 0.0 } else { self.scenario.true_ratio.ln() };
        let run = f64::from(self.runs);
        self.runs += 1;
        truth
            + match self.scenario.noise {
                Noise::Normal => each * self.normal.next(),
                Noise::UnequalVariance => {
                    let done = block as f64 / (blocks.max(2) - 1) as f64;
                    each * (1.0 + 3.0 * done) * self.normal.next()
                }
                Noise::Drift { per_run } => each * self.normal.next() - per_run * sd * run,
                Noise::SlowState { rho } => {
                    self.memory[0] = self.wander(self.memory[0], rho, each);
                    self.memory[0]
                }
                Noise::HeavyTails => each * self.normal.student3(),
                Noise::Outliers { share, size } => each * self.normal.next() - self.stall(share, size * sd),
                Noise::WanderingRatios { rho } => {
                    self.memory[stack] = self.wander(self.memory[stack], rho, each);
                    self.memory[stack]
                }
                Noise::RareStalls { share, size } => {
                    let stall = if stack == 0 { 0.0 } else { self.stall(share, size * sd) };
                    each * self.normal.next() - stall
                }
            }
    }

    fn wander(&mut self, from: f64, rho: f64, sd: f64) -> f64 {
        rho * from + (1.0 - rho * rho).sqrt() * sd * self.normal.next()
    }

    fn stall(&mut self, share: f64, size: f64) -> f64 {
        if self.normal.uniform() < share { size } else { 0.0 }
    }
}

/// Standard normal numbers by Marsaglia's polar method (Marsaglia and Bray 1964).
struct Normal {
    random: Random,
    spare: Option<f64>,
}

impl Normal {
    /// In [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Student's t with 3 degrees of freedom, scaled to standard deviation 1 (its variance is 3).
    fn student3(&mut self) -> f64 {
        let over = self.next();
        let under: f64 = (0..3).map(|_| self.next().powi(2)).sum();
        over / under.sqrt()
    }
}

/// Standard normal numbers from a seed.
pub fn normals(seed: u64) -> impl FnMut() -> f64 {
    let mut normal = Normal {
        random: Random::seed_from_u64(seed),
        spare: None,
    };
    move || normal.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let count = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        (sum / f64::from(count), squares / f64::from(count))
    }

    #[test]
    fn normals_are_standard() {
        let (mean, square) = moments(normals(5));
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.015, "{mean} {square}");
    }

    #[test]
    fn ratios_have_the_standard_deviation_asked_for() {
        let design = Design::new(12, 1, 0.0);
        for noise in [
            Noise::Normal,
            Noise::WanderingRatios { rho: 0.5 },
            Noise::Drift { per_run: 0.0 },
        ] {
            let scenario = Scenario {
                noise,
                sd: 0.1,
                true_ratio: 1.0,
                rule: super::super::Rule::Procedure,
                about: super::super::About::AllRuns,
            };
            let mut draw = Draw::new(&scenario, &design, Random::seed_from_u64(6));
            let mut study = [History {
                stack: String::new(),
                phase: String::new(),
                ys: vec![None; 12],
            }];
            let mut ys = Vec::new();
            for _ in 0..5_000 {
                draw.study(&mut study);
                ys.extend(study[0].ys.iter().flatten());
            }
            assert!((crate::summary::sd(&ys) / 0.1 - 1.0).abs() < 0.02, "{noise:?}");
            assert!(crate::summary::mean(&ys).abs() < 0.003, "{noise:?}");
        }
    }

    #[test]
    fn orders_are_forwards_twice_and_backwards_twice() {
        let scenario = Scenario {
            noise: Noise::Normal,
            sd: 0.1,
            true_ratio: 1.0,
            rule: super::super::Rule::Procedure,
            about: super::super::About::AllRuns,
        };
        let mut draw = Draw::new(&scenario, &Design::new(12, 3, 0.0), Random::seed_from_u64(7));
        let mut orders = std::collections::BTreeSet::new();
        for four in 0..200 {
            draw.arrange(4 * four);
            let forward = draw.order.clone();
            draw.arrange(4 * four + 1);
            assert_eq!(forward, draw.order);
            for backward in 2..4 {
                draw.arrange(4 * four + backward);
                assert!(forward.iter().eq(draw.order.iter().rev()));
            }
            orders.insert(forward);
        }
        assert_eq!(orders.len(), 24, "every order comes up");
    }
}
