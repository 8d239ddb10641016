//! Worlds that studies are drawn from: how the figures of stacks, phases and blocks come about, and what is true in
//! them.
//!
//! The first group keeps the conditions of the claim (block ratios independent and roughly normal), the second breaks
//! them. Prevents: a procedure tried only on the noise it was derived for.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::{BlockRatios, Hidden, History};

/// Size of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) stacks: usize,
    pub(crate) phases: usize,
    pub(crate) blocks: usize,
}

impl Shape {
    /// Verdicts of such a study.
    pub(crate) fn comparisons(self) -> usize {
        (self.stacks - 1) * self.phases
    }
}

/// What is true of the stacks that are not the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Truth {
    Equal,
    /// Exactly the margin, better and worse by turns.
    AtMargin,
    /// By turns: equal, better by the margin, worse by 10 %.
    Mixed,
}

/// How a run's log figure comes about, in units of the spread of ratios where it says nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scatter {
    Normal,
    /// Each further stack scatters more, up to fourfold.
    StacksDiffer,
    /// Fourfold from the first block to the last.
    Grows,
    /// The machine's state wanders from run to run (autoregressive), and it slows by so much with each run.
    Machine {
        wander: f64,
        slows: f64,
    },
    /// Phases of one run share this part of their variance.
    PhasesShare(f64),
    /// One block in ten is slow by ten spreads for all stacks.
    SlowBlocks,
    /// One block in ten is dropped.
    DroppedBlocks,
    /// Runs of a phase are invalid, which drops their block in that phase. Phases of one run share a part of their
    /// variance.
    Drops {
        shared: f64,
        which: Invalid,
    },
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// One run in twenty of any stack is slow by ten spreads.
    HitRuns,
    /// Exponential to both sides.
    Laplace,
    Uniform,
    /// Exponential to the slow side, for all stacks alike.
    Skewed,
    /// Each stack's own state wanders from block to block (autoregressive).
    Ratios(f64),
    /// A share of the runs of the other stacks loses a share of its rate.
    Loses {
        share: f64,
        loss: f64,
    },
    /// The other stacks are this much better in the first half of the blocks than in the second.
    Shift(f64),
    /// The other stacks age steadily from the first block to the last, by so much in all.
    Ages(f64),
}

/// Which runs of a phase are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Invalid {
    /// One in ten, of any stack.
    OneInTen,
    /// Those slower by a standard deviation, one in six, of any stack.
    Slow,
    /// The same, of the other stacks alone.
    SlowOthers,
}

/// A world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct World {
    pub(crate) name: &'static str,
    /// The claim's conditions hold in it.
    pub(crate) covered: bool,
    /// Standard deviation of the block ratios' logarithms.
    pub(crate) spread: f64,
    pub(crate) margin: f64,
    pub(crate) truth: Truth,
    pub(crate) scatter: Scatter,
}

const fn covered(name: &'static str, spread: f64, truth: Truth, scatter: Scatter) -> World {
    World {
        name,
        covered: true,
        spread,
        margin: 0.05,
        truth,
        scatter,
    }
}

const fn other(name: &'static str, margin: f64, scatter: Scatter) -> World {
    World {
        name,
        covered: false,
        spread: 0.03,
        margin,
        truth: Truth::Equal,
        scatter,
    }
}

const fn drops(shared: f64, which: Invalid) -> Scatter {
    Scatter::Drops { shared, which }
}

/// All of them.
pub(crate) const WORLDS: [World; 33] = [
    covered("normal, spread 5 %", 0.05, Truth::Equal, Scatter::Normal),
    covered("normal, spread 15 %", 0.15, Truth::Equal, Scatter::Normal),
    World {
        margin: 0.0,
        ..covered("normal, no margin", 0.03, Truth::Equal, Scatter::Normal)
    },
    covered(
        "normal, true difference is the margin",
        0.03,
        Truth::AtMargin,
        Scatter::Normal,
    ),
    covered(
        "normal, spread 10 %, true difference is the margin",
        0.1,
        Truth::AtMargin,
        Scatter::Normal,
    ),
    covered("normal, differences of all kinds", 0.05, Truth::Mixed, Scatter::Normal),
    covered("stacks scatter differently", 0.05, Truth::Equal, Scatter::StacksDiffer),
    covered("spread grows fourfold", 0.05, Truth::Equal, Scatter::Grows),
    covered(
        "machine slows by half a spread a run",
        0.05,
        Truth::Equal,
        Scatter::Machine {
            wander: 0.0,
            slows: 0.5,
        },
    ),
    covered(
        "machine slows by two spreads a run",
        0.05,
        Truth::Equal,
        Scatter::Machine {
            wander: 0.0,
            slows: 2.0,
        },
    ),
    covered(
        "machine wanders, correlation 0.5",
        0.05,
        Truth::Equal,
        Scatter::Machine {
            wander: 0.5,
            slows: 0.0,
        },
    ),
    covered(
        "machine wanders, correlation 0.9",
        0.05,
        Truth::Equal,
        Scatter::Machine {
            wander: 0.9,
            slows: 0.0,
        },
    ),
    covered(
        "machine wanders 0.5 and slows by half",
        0.05,
        Truth::Equal,
        Scatter::Machine {
            wander: 0.5,
            slows: 0.5,
        },
    ),
    covered(
        "phases share nine tenths",
        0.05,
        Truth::Equal,
        Scatter::PhasesShare(0.9),
    ),
    covered("blocks slow for all", 0.05, Truth::Equal, Scatter::SlowBlocks),
    covered("blocks dropped", 0.05, Truth::Equal, Scatter::DroppedBlocks),
    covered(
        "phases dropped, one run in ten",
        0.05,
        Truth::Equal,
        drops(0.0, Invalid::OneInTen),
    ),
    covered(
        "phases dropped where slow",
        0.05,
        Truth::Equal,
        drops(0.0, Invalid::Slow),
    ),
    covered(
        "phases dropped where slow, true difference is the margin",
        0.03,
        Truth::AtMargin,
        drops(0.0, Invalid::Slow),
    ),
    covered(
        "phases dropped where slow, and they share nine tenths",
        0.05,
        Truth::Equal,
        drops(0.9, Invalid::Slow),
    ),
    covered("heavy tails", 0.05, Truth::Equal, Scatter::HeavyTails),
    covered("runs hit, of any stack", 0.03, Truth::Equal, Scatter::HitRuns),
    covered("exponential to both sides", 0.05, Truth::Equal, Scatter::Laplace),
    covered("skewed, all stacks alike", 0.05, Truth::Equal, Scatter::Skewed),
    World {
        covered: false,
        ..covered("figures without tails (uniform)", 0.05, Truth::Equal, Scatter::Uniform)
    },
    other("ratios wander, correlation 0.2", 0.0, Scatter::Ratios(0.2)),
    other("ratios wander, correlation 0.5", 0.0, Scatter::Ratios(0.5)),
    other("ratios wander, correlation 0.8", 0.0, Scatter::Ratios(0.8)),
    other(
        "one run in 3 of the others loses 10 %",
        0.02,
        Scatter::Loses {
            share: 1.0 / 3.0,
            loss: 0.1,
        },
    ),
    other(
        "one run in 3 of the others loses 30 %",
        0.05,
        Scatter::Loses {
            share: 1.0 / 3.0,
            loss: 0.3,
        },
    ),
    other(
        "phases dropped where slow, of the others alone",
        0.0,
        drops(0.0, Invalid::SlowOthers),
    ),
    other("the others lose 20 % in the second half", 0.05, Scatter::Shift(0.2)),
    other("the others age by 20 %", 0.05, Scatter::Ages(0.2)),
];

/// A study that was drawn.
#[derive(Debug)]
pub(crate) struct Study {
    /// Ratios of each comparison, stack after stack, in each phase after phase.
    pub(crate) histories: Vec<History>,
    /// True log ratio of each, before what the scatter adds to it.
    truths: Vec<f64>,
    scatter: Scatter,
    /// For each block and stack, runs after the base's.
    after_base: Vec<Vec<f64>>,
}

impl Study {
    pub(crate) fn new(world: &World, shape: Shape) -> Study {
        let mut truths = Vec::new();
        for comparison in 0..shape.comparisons() {
            let edge = world.margin.ln_1p();
            let said = match (world.truth, comparison % 3) {
                (Truth::Equal, _) | (Truth::Mixed, 0) => 0.0,
                (Truth::AtMargin, _) if comparison % 2 == 1 => -edge,
                (Truth::AtMargin, _) | (Truth::Mixed, 1) => edge,
                (Truth::Mixed, _) => 0.9f64.ln(),
            };
            truths.push(said);
        }
        let empty = || History {
            stack: String::new(),
            phase: String::new(),
            ys: vec![None; shape.blocks],
        };
        Study {
            histories: (0..shape.comparisons()).map(|_| empty()).collect(),
            truths,
            scatter: world.scatter,
            after_base: vec![vec![0.0; shape.stacks]; shape.blocks],
        }
    }

    /// True log ratios of the first `run` blocks: a verdict speaks of the blocks that the study had.
    pub(crate) fn truths(&self, run: usize) -> impl Iterator<Item = f64> {
        let blocks = self.after_base.len();
        let changed: f64 = (0..run).map(|block| self.scatter.of_others(block, blocks)).sum();
        let shift = changed / run.max(1) as f64 + self.scatter.mean_of_others();
        self.truths.iter().map(move |truth| truth + shift)
    }

    /// The blocks among the first `run` that are valid in all phases, as the sheet looks at them.
    pub(crate) fn ratios(&self, phases: usize, run: usize) -> Vec<BlockRatios> {
        let whole = |block: &usize| self.histories.iter().all(|history| history.ys[*block].is_some());
        let blocks: Vec<usize> = (0..run).filter(whole).collect();
        let one = |(nth, history): (usize, &History)| {
            let stack = nth / phases;
            let valid = blocks.iter().map(|block| (*block, history.ys[*block]));
            let (ys, runs_after_base) = valid
                .filter_map(|(block, y)| Some((y?, self.after_base[block][stack + 1])))
                .unzip();
            BlockRatios {
                stack,
                ys,
                runs_after_base,
            }
        };
        self.histories.iter().enumerate().map(one).collect()
    }
}

impl Scatter {
    /// Blocks that a study may run for each that it plans: dropped ones are repeated.
    pub(crate) fn repeats(self) -> usize {
        match self {
            Scatter::Drops { .. } => 2,
            _ => 1,
        }
    }

    /// What the other stacks have in a block, as ln.
    fn of_others(self, block: usize, blocks: usize) -> f64 {
        match self {
            Scatter::Shift(by) if block < blocks / 2 => by / 2.0,
            Scatter::Shift(by) => -by / 2.0,
            Scatter::Ages(by) => by * (0.5 - block as f64 / (blocks.max(2) - 1) as f64),
            _ => 0.0,
        }
    }

    /// By which share the others' ratio changes from the first half of `run` blocks to the second.
    fn change_of_others(self, run: usize, blocks: usize) -> f64 {
        let middle = |part: std::ops::Range<usize>| {
            let length = part.len().max(1) as f64;
            part.map(|block| self.of_others(block, blocks)).sum::<f64>() / length
        };
        -(middle(run / 2..run) - middle(0..run / 2)).exp_m1()
    }

    /// Whether the sheet of `run` blocks says that they hide as much as there is in them.
    pub(crate) fn is_hidden(self, hidden: &Hidden, phases: usize, run: usize, blocks: usize) -> bool {
        match self {
            Scatter::Shift(_) | Scatter::Ages(_) => {
                *hidden == Hidden::EVERYTHING || self.change_of_others(run, blocks) < hidden.change
            }
            Scatter::Ratios(correlation) => correlation < hidden.correlation,
            Scatter::Loses { share, .. } => 1.0 - (1.0 - share).powi(phases as i32) <= hidden.slow_blocks,
            _ => *hidden == Hidden::EVERYTHING,
        }
    }

    /// What it adds to the true log ratio of the other stacks.
    fn mean_of_others(self) -> f64 {
        match self {
            Scatter::Loses { share, loss } => share * (1.0 - loss).ln(),
            _ => 0.0,
        }
    }
}

/// Draws studies of one world.
pub(crate) struct Draw {
    world: World,
    shape: Shape,
    random: Xoshiro256PlusPlus,
    normal: Box<dyn FnMut() -> f64>,
    order: Vec<usize>,
    /// The machine's state, or each stack's in each phase.
    state: Vec<f64>,
    /// Log figures of one block: phases of one stack after the other.
    figures: Vec<f64>,
    /// Which of them are invalid.
    invalid: Vec<bool>,
}

impl Draw {
    pub(crate) fn new(world: World, shape: Shape, seed: u64) -> Draw {
        Draw {
            world,
            shape,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xC1A1),
            normal: Box::new(stats::normals(seed)),
            order: (0..shape.stacks).collect(),
            state: vec![0.0; shape.stacks * shape.phases],
            figures: vec![0.0; shape.stacks * shape.phases],
            invalid: vec![false; shape.stacks * shape.phases],
        }
    }

    /// Fills all blocks.
    pub(crate) fn study(&mut self, study: &mut Study) {
        for state in &mut self.state {
            *state = (self.normal)();
        }
        let mut runs = 0;
        for block in 0..self.shape.blocks {
            self.arrange(block);
            let all = self.of_block();
            for place in 0..self.shape.stacks {
                self.run(self.order[place], block, runs, all);
                runs += 1;
            }
            let base_at = self.order.iter().position(|&stack| stack == 0).unwrap_or(0);
            for (place, &stack) in self.order.iter().enumerate() {
                study.after_base[block][stack] = place as f64 - base_at as f64;
            }
            let dropped = self.world.scatter == Scatter::DroppedBlocks && self.uniform() < 0.1;
            let phases = self.shape.phases;
            let (base, others) = self.figures.split_at(phases);
            for (nth, history) in study.histories.iter_mut().enumerate() {
                let y = others[nth] - base[nth % phases];
                let invalid = self.invalid.iter().skip(nth % phases).step_by(phases).any(|one| *one);
                history.ys[block] = (!dropped && !invalid).then_some(y + study.truths[nth]);
            }
        }
    }

    /// Of four blocks, two in a new order and two in its reverse: as the product runs them.
    fn arrange(&mut self, block: usize) {
        match block % 4 {
            0 => {
                for last in (1..self.order.len()).rev() {
                    let other = (self.uniform() * (last + 1) as f64) as usize;
                    self.order.swap(last, other.min(last));
                }
            }
            2 => self.order.reverse(),
            _ => {}
        }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// 1 with this probability, else 0.
    fn happens(&mut self, share: f64) -> f64 {
        f64::from(u8::from(self.uniform() < share))
    }

    /// What all stacks of a block have.
    fn of_block(&mut self) -> f64 {
        match self.world.scatter {
            Scatter::SlowBlocks => -10.0 * self.happens(0.1),
            _ => 0.0,
        }
    }

    /// The log figures of one stack's run in all phases.
    fn run(&mut self, stack: usize, block: usize, run: usize, all: f64) {
        let phases = self.shape.phases;
        let spread = self.world.spread;
        let each = spread / 2.0f64.sqrt();
        let done = block as f64 / (self.shape.blocks.max(2) - 1) as f64;
        let of_run = match self.world.scatter {
            Scatter::Machine { wander, slows } => {
                self.state[0] = wander * self.state[0] + (1.0 - wander * wander).sqrt() * (self.normal)();
                each * self.state[0] - slows * spread * run as f64
            }
            Scatter::PhasesShare(shared) | Scatter::Drops { shared, .. } => each * shared.sqrt() * (self.normal)(),
            Scatter::HitRuns => -10.0 * spread * self.happens(0.05),
            scatter if stack > 0 => scatter.of_others(block, self.shape.blocks),
            _ => 0.0,
        };
        for phase in 0..phases {
            let at = stack * phases + phase;
            let own = match self.world.scatter {
                Scatter::StacksDiffer => {
                    let more = 3.0 * stack as f64 / (self.shape.stacks - 1) as f64;
                    each * (1.0 + more) * (self.normal)()
                }
                Scatter::Grows => each * (1.0 + 3.0 * done) * (self.normal)(),
                // All of a run's scatter is the machine's, and phases follow at once.
                Scatter::Machine { wander, .. } if wander > 0.0 => 0.0,
                Scatter::PhasesShare(shared) | Scatter::Drops { shared, .. } => {
                    each * (1.0 - shared).sqrt() * (self.normal)()
                }
                Scatter::HeavyTails => each * self.student3(),
                Scatter::Laplace => each / 2.0f64.sqrt() * (self.exponential() - self.exponential()),
                Scatter::Uniform => each * 12.0f64.sqrt() * (self.uniform() - 0.5),
                Scatter::Skewed => -each * self.exponential(),
                Scatter::Ratios(rho) => {
                    self.state[at] = rho * self.state[at] + (1.0 - rho * rho).sqrt() * (self.normal)();
                    each * self.state[at]
                }
                Scatter::Loses { share, loss } => {
                    let share = if stack > 0 { share } else { 0.0 };
                    each * (self.normal)() + self.happens(share) * (1.0 - loss).ln()
                }
                _ => each * (self.normal)(),
            };
            self.figures[at] = all * spread + of_run + own;
            let slow = self.figures[at] < -each;
            self.invalid[at] = match self.world.scatter {
                Scatter::Drops {
                    which: Invalid::OneInTen,
                    ..
                } => self.uniform() < 0.1,
                Scatter::Drops {
                    which: Invalid::Slow, ..
                } => slow,
                Scatter::Drops {
                    which: Invalid::SlowOthers,
                    ..
                } => slow && stack > 0,
                _ => false,
            };
        }
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// Student's t with 3 degrees of freedom, scaled to standard deviation 1.
    fn student3(&mut self) -> f64 {
        let over = (self.normal)();
        let under: f64 = (0..3).map(|_| (self.normal)().powi(2)).sum();
        over / under.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_world_has_the_mean_that_it_calls_true() {
        let shape = Shape {
            stacks: 3,
            phases: 2,
            blocks: 12,
        };
        // Where only the others' slow runs are dropped, what is left is not what is true: that is its flaw.
        let honest = |world: &World| {
            !matches!(
                world.scatter,
                Scatter::Drops {
                    which: Invalid::SlowOthers,
                    ..
                }
            )
        };
        for world in WORLDS.into_iter().filter(honest) {
            let mut study = Study::new(&world, shape);
            let mut draw = Draw::new(world, shape, 5);
            let (mut sums, mut counts) = (vec![0.0; 4], vec![0.0; 4]);
            for _ in 0..2_000 {
                draw.study(&mut study);
                for (sum, history) in sums.iter_mut().zip(&study.histories) {
                    *sum += history.ys.iter().flatten().sum::<f64>();
                }
                for (count, history) in counts.iter_mut().zip(&study.histories) {
                    *count += history.ys.iter().flatten().count() as f64;
                }
            }
            for ((sum, count), truth) in sums.iter().zip(&counts).zip(study.truths(12)) {
                // Two spreads a run in twelve blocks of three leave a wide mean; the others a narrow one.
                assert!(
                    (sum / count - truth).abs() < 0.01,
                    "{}: {} {truth}",
                    world.name,
                    sum / count
                );
            }
        }
    }
}
