//! Worlds in which trials slow down as they go on, and stacks age.
//!
//! Each trial has pairs of a fresh and an aged phase. Takes a world, a size and a seed, gives the histories that are
//! judged and what is true of them. Prevents: a slowdown that the simulation and the table mean differently.

use stats::{History, Orientation, Phases, contrast, log_ratio};

/// Size of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) stacks: usize,
    /// Pairs of a fresh and an aged phase.
    pub(super) pairs: usize,
    pub(super) blocks: usize,
}

impl Shape {
    /// Comparisons of stacks, each in both phases of a pair.
    pub(super) fn between(self) -> usize {
        (self.stacks - 1) * self.pairs * 2
    }

    /// Contrasts of their changes.
    pub(super) fn contrasts(self) -> usize {
        (self.stacks - 1) * self.pairs
    }

    /// Changes of the stacks themselves.
    pub(super) fn changes(self) -> usize {
        self.stacks * self.pairs
    }
}

/// A world. Shares are of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct World {
    pub(super) name: &'static str,
    /// The claim's conditions hold in it.
    pub(super) covered: bool,
    /// Standard deviation of the logarithm of the ratio of two stacks in a phase.
    pub(super) spread: f64,
    pub(super) margin: f64,
    /// Loss of the later phase on all stacks: a slowdown within the trial.
    slows: f64,
    /// Standard deviation of that loss from trial to trial, as a logarithm.
    varies: f64,
    /// The loss grows from nothing in the first block to twice its mean in the last.
    grows: bool,
    /// Loss of the later phase on the last stack, by ageing.
    ages: f64,
    /// The slowdown meets the last stack alone.
    alone: bool,
}

const STEADY: World = World {
    name: "no slowdown",
    covered: true,
    spread: 0.03,
    margin: 0.05,
    slows: 0.0,
    varies: 0.0,
    grows: false,
    ages: 0.0,
    alone: false,
};

const fn slows(name: &'static str, slows: f64) -> World {
    World { name, slows, ..STEADY }
}

/// All of them.
pub(super) const WORLDS: [World; 15] = [
    STEADY,
    slows("each trial slows by 2 %", 0.02),
    slows("each trial slows by 5 %", 0.05),
    slows("each trial slows by 10 %", 0.1),
    slows("each trial slows by 30 %", 0.3),
    World {
        margin: 0.0,
        ..slows("each trial slows by 10 %, no margin", 0.1)
    },
    World {
        spread: 0.1,
        ..slows("each trial slows by 10 %, spread 10 %", 0.1)
    },
    World {
        varies: 0.05,
        ..slows("trials slow by 10 %, scattering by 5 %", 0.1)
    },
    World {
        grows: true,
        ..slows("trials slow by 0 to 20 %, more in each block", 0.1)
    },
    World {
        ages: 1.0 - 1.0 / 1.05,
        ..slows("slows by 10 %, one stack ages by the margin", 0.1)
    },
    World {
        name: "one stack ages by 10 %",
        ages: 0.1,
        ..STEADY
    },
    World {
        ages: 0.1,
        ..slows("slows by 10 %, one stack ages by 10 %", 0.1)
    },
    World {
        ages: 0.2,
        ..slows("slows by 10 %, one stack ages by 20 %", 0.1)
    },
    World {
        ages: 0.2,
        spread: 0.1,
        ..slows("spread 10 %, slows by 10 %, one stack ages by 20 %", 0.1)
    },
    World {
        covered: false,
        alone: true,
        ..slows("one stack alone slows by 10 %, none ages", 0.1)
    },
];

impl World {
    /// True log ratios in the order of [`Study::judged`].
    pub(super) fn truths(&self, shape: Shape) -> Vec<f64> {
        let aged = (1.0 - self.ages).ln();
        // What one stack alone is slower by in a phase is true of the phase, whatever its cause.
        let slower = if self.alone { (1.0 - self.slows).ln() } else { 0.0 };
        let mut truths = Vec::new();
        for stack in 1..shape.stacks {
            let is_last = f64::from(u8::from(stack == shape.stacks - 1));
            truths.extend([0.0, is_last * (aged + slower)].repeat(shape.pairs));
        }
        for stack in 1..shape.stacks {
            let is_last = f64::from(u8::from(stack == shape.stacks - 1));
            truths.extend(vec![is_last * aged; shape.pairs]);
        }
        truths
    }

    /// True ageing of each stack, as ln, in the order of the changes of [`Study::judged_alone`].
    pub(super) fn own_truths(&self, shape: Shape) -> Vec<f64> {
        let of = |stack: usize| if stack == shape.stacks - 1 { self.ages } else { 0.0 };
        let stacks = (0..shape.stacks).flat_map(|stack| vec![(1.0 - of(stack)).ln(); shape.pairs]);
        stacks.collect()
    }
}

/// A study that was drawn.
#[derive(Debug)]
pub(super) struct Study {
    /// Stacks in fresh and aged phases, then contrasts of their changes.
    pub(super) judged: Vec<History>,
    /// The same phases, then each stack's own change.
    pub(super) judged_alone: Vec<History>,
}

impl Study {
    pub(super) fn new(shape: Shape) -> Study {
        let empty = || History {
            stack: String::new(),
            phase: String::new(),
            ys: vec![None; shape.blocks],
        };
        let many = |count: usize| (0..count).map(|_| empty()).collect();
        Study {
            judged: many(shape.between() + shape.contrasts()),
            judged_alone: many(shape.between() + shape.changes()),
        }
    }
}

/// Draws studies of one world.
pub(super) struct Draw {
    world: World,
    shape: Shape,
    normal: Box<dyn FnMut() -> f64>,
    /// Rates of one block, pair after pair of one stack after the other.
    rates: Vec<Phases>,
}

impl Draw {
    pub(super) fn new(world: World, shape: Shape, seed: u64) -> Draw {
        let nothing = Phases {
            earlier: 0.0,
            later: 0.0,
        };
        Draw {
            world,
            shape,
            normal: Box::new(stats::normals(seed)),
            rates: vec![nothing; shape.stacks * shape.pairs],
        }
    }

    /// Fills all blocks.
    pub(super) fn study(&mut self, study: &mut Study) {
        let (pairs, between) = (self.shape.pairs, self.shape.between());
        let better = Orientation::HigherIsBetter;
        for block in 0..self.shape.blocks {
            self.block(block);
            let (base, others) = self.rates.split_at(pairs);
            for (nth, one) in others.iter().enumerate() {
                let base = base[nth % pairs];
                for (phase, [x, of]) in [[one.earlier, base.earlier], [one.later, base.later]]
                    .into_iter()
                    .enumerate()
                {
                    let y = log_ratio(x, of, better);
                    study.judged[nth * 2 + phase].ys[block] = y;
                    study.judged_alone[nth * 2 + phase].ys[block] = y;
                }
                study.judged[between + nth].ys[block] = contrast(*one, base, better);
            }
            for (nth, one) in self.rates.iter().enumerate() {
                study.judged_alone[between + nth].ys[block] = one.change(better);
            }
        }
    }

    fn block(&mut self, block: usize) {
        let World { spread, varies, .. } = self.world;
        let each = spread / 2.0f64.sqrt();
        let done = block as f64 / (self.shape.blocks - 1) as f64;
        let share = if self.world.grows { 2.0 * done } else { 1.0 };
        for stack in 0..self.shape.stacks {
            let is_last = stack == self.shape.stacks - 1;
            let slows = if self.world.alone && !is_last {
                0.0
            } else {
                self.world.slows
            };
            let ages = if is_last { self.world.ages } else { 0.0 };
            // Of one trial, so its pairs have it alike.
            let slowed = (1.0 - share * slows).ln() + varies * (self.normal)();
            for pair in 0..self.shape.pairs {
                let (earlier, later) = (each * (self.normal)(), each * (self.normal)());
                self.rates[stack * self.shape.pairs + pair] = Phases {
                    earlier: earlier.exp(),
                    later: (later + slowed + (1.0 - ages).ln()).exp(),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_world_has_the_mean_that_it_calls_true() {
        let shape = Shape {
            stacks: 3,
            pairs: 2,
            blocks: 12,
        };
        for world in WORLDS.into_iter().filter(|world| world.covered) {
            let mut study = Study::new(shape);
            let mut draw = Draw::new(world, shape, 5);
            let mut sums = vec![0.0; shape.between() + shape.contrasts()];
            for _ in 0..2_000 {
                draw.study(&mut study);
                for (sum, history) in sums.iter_mut().zip(&study.judged) {
                    *sum += history.ys.iter().flatten().sum::<f64>();
                }
            }
            for (sum, truth) in sums.iter().zip(world.truths(shape)) {
                assert!((sum / 24_000.0 - truth).abs() < 0.005, "{}: {truth}", world.name);
            }
        }
    }
}
