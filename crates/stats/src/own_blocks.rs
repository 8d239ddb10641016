//! What a study's own blocks say against the conditions of its verdicts: independent block ratios around one mean.
//!
//! Takes the block ratios of each comparison, gives for each condition the stack that breaks it most, with how often
//! chance alone does as much. Chance is found by drawing: blocks in another order, or a block's ratios with the other
//! sign, for all comparisons alike, so that those which share a base or a block count once. Of several stacks the
//! worst one is asked for each time, so that many stacks give no more false alarms than one.
//!
//! Prevents: an interval that is too narrow for a study whose blocks hang together, and nobody looked.

use crate::normal::normal_quantile;
use crate::simulate::Rate;
use crate::summary::{mean, median};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws that say what chance does.
const DRAWS: u32 = 499;

/// The share of studies with nothing wrong in which chance makes one of the three speak: 1.6 % each.
const CHANCE_MAX: f64 = 0.016;

/// Fewer blocks say nothing: chance can always do as much.
const BLOCKS_MIN: usize = 6;

/// The share of studies in which what is not hidden is seen, and the normal quantile of it.
const SEEN: f64 = 0.8;
const SEEN_NORMAL: f64 = 0.841_621_233_572_914_2;

/// A correlation above this is none that anybody has.
const CORRELATION_MAX: f64 = 0.95;

/// A change by more than a factor of e to this is none that anybody overlooks.
const CHANGE_LN_MAX: f64 = 3.0;

/// A run that lost this share of its stack's usual figure is counted.
const LOSS: f64 = 0.1;

/// The ratios of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRatios {
    /// The stack, as a number from 0; the base has none.
    pub stack: usize,
    /// ln(x / base) of the valid blocks in the order of running; all comparisons of a study have the same blocks.
    pub ys: Vec<f64>,
    /// For each of them how many runs after the base's the stack's run began; negative before it. All 0 where they
    /// ran in stints.
    pub runs_after_base: Vec<f64>,
}

/// One condition, and the stack that breaks it most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// The stack.
    pub stack: usize,
    /// How far: the correlation, the difference of the halves as a ratio, or the number of runs.
    pub value: f64,
    /// How often chance alone does as much, 0 to 1.
    pub chance: f64,
}

impl Doubt {
    /// Chance alone would hardly do it.
    pub fn speaks(&self) -> bool {
        self.chance <= CHANCE_MAX
    }
}

/// What the blocks say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnBlocks {
    /// Ratios of neighbouring blocks are alike: `value` is their correlation.
    pub neighbours: Doubt,
    /// The first half has another ratio than the second: `value` is second over first.
    pub halves: Doubt,
    /// Runs lose a tenth or more of the usual ratio, or gain it, and not as often the other way: `value` is the
    /// number of runs that lost less those that gained.
    pub one_sided: Doubt,
    /// What so few blocks hide.
    pub hidden: Hidden,
}

/// What would be seen in fewer than 8 of 10 studies with as many blocks as this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hidden {
    /// A correlation of one stack's neighbouring ratios below this; 1 where any is hidden.
    pub correlation: f64,
    /// Slow runs in no more than this share of the blocks, of one stack; 1 where any share is hidden.
    pub slow_blocks: f64,
    /// A change of one stack's ratios by less than this share from one half to the other; 1 where any is hidden.
    pub change: f64,
}

impl Hidden {
    /// Of too few blocks, or of ratios that do not scatter.
    pub const EVERYTHING: Hidden = Hidden {
        correlation: 1.0,
        slow_blocks: 1.0,
        change: 1.0,
    };

    /// Of `stacks` besides the base. The neighbours' own draws tell what chance does; a wandering stack has a smaller
    /// correlation in few blocks than in many (Kendall 1954; the constants are of a simulation of 4 to 30 blocks).
    fn of(comparisons: &[BlockRatios], stacks: usize, neighbours: &Worst) -> Hidden {
        let blocks = comparisons.first().map_or(0, |one| one.ys.len());
        let n = blocks as f64;
        let seen_from = neighbours.seen_from() + SEEN_NORMAL * neighbours.scatter();
        let correlation = (seen_from + 1.5 / n) / (1.0 - 4.0 / n);
        // If a stack has slow runs in k blocks and no fast ones, its count is as large with two of 2^k signs. Less than
        // the bound, for the draws hit that share with luck.
        let is_seen = |k: &i32| stacks as f64 * 0.5f64.powi(k - 1) <= CHANCE_MAX * 0.75;
        let blocks_seen = (1..i32::MAX).find(is_seen).map_or(u64::MAX, |k| k as u64);
        Hidden {
            correlation: if correlation < CORRELATION_MAX {
                correlation
            } else {
                1.0
            },
            slow_blocks: Rate::new(blocks_seen - 1, blocks as u64).upper(SEEN),
            change: (0..stacks)
                .map(|stack| change(comparisons, stack, stacks))
                .fold(0.0, f64::max),
        }
    }
}

/// The least change of a stack between its halves that is seen, as a share of its ratio: all its phases change by as
/// much, and their scatter about each half's mean comes from the machine, together.
fn change(comparisons: &[BlockRatios], stack: usize, stacks: usize) -> f64 {
    let scatters: Vec<f64> = (comparisons.iter().filter(|one| one.stack == stack))
        .map(|one| within_halves(&one.ys))
        .collect();
    let blocks = comparisons.first().map_or(0, |one| one.ys.len());
    let n = blocks as f64;
    // An order with the same first half, or the halves exchanged, counts as chance does.
    let same_halves = (0..blocks / 2).fold(2.0, |share, k| share * (k + 1) as f64 / (blocks - k) as f64);
    if scatters.is_empty() || same_halves > CHANCE_MAX {
        return 1.0;
    }
    // The square of half the sum of normalised rests is that of a normal value, times this.
    let allowed = normal_quantile(1.0 - CHANCE_MAX / (2.0 * stacks as f64)).powi(2) * n / (4.0 * (n - 1.0));
    let is_seen = |by: f64| {
        let of_one = |scatter: &f64| {
            let in_scatters = by / scatter.max(f64::MIN_POSITIVE);
            let first = (n * in_scatters / 4.0 - SEEN_NORMAL * n.sqrt() / 2.0).max(0.0);
            first.powi(2) / (n * in_scatters.powi(2) / 4.0 + n - 1.0)
        };
        mean(&scatters.iter().map(of_one).collect::<Vec<_>>()) >= allowed
    };
    let (mut hidden, mut seen) = (0.0, CHANGE_LN_MAX);
    if !is_seen(seen) {
        return 1.0;
    }
    for _ in 0..40 {
        let middle = (hidden + seen) / 2.0;
        *(if is_seen(middle) { &mut seen } else { &mut hidden }) = middle;
    }
    -(-seen).exp_m1()
}

/// Standard deviation about the means of the two halves.
fn within_halves(ys: &[f64]) -> f64 {
    let (first, second) = ys.split_at(ys.len() / 2);
    let squares = |half: &[f64]| {
        let middle = mean(half);
        half.iter().map(|y| (y - middle).powi(2)).sum::<f64>()
    };
    ((squares(first) + squares(second)) / (ys.len() - 2) as f64).sqrt()
}

impl OwnBlocks {
    /// All of them, by name.
    pub fn doubts(&self) -> impl Iterator<Item = (&'static str, Doubt)> {
        [
            ("neighbours", self.neighbours),
            ("halves", self.halves),
            ("one-sided", self.one_sided),
        ]
        .into_iter()
    }
}

/// Looks at the blocks of a study; `None` of fewer than 6 blocks, or of none that scatter.
pub fn own_blocks(comparisons: &[BlockRatios]) -> Option<OwnBlocks> {
    let blocks = comparisons.first()?.ys.len();
    let fits = |one: &BlockRatios| one.ys.len() == blocks && one.runs_after_base.len() == blocks;
    if blocks < BLOCKS_MIN || !comparisons.iter().all(fits) {
        return None;
    }
    let stacks = comparisons.iter().map(|one| one.stack).max()? + 1;
    let mut alike: Vec<Alike> = (0..stacks).map(|_| Alike::new(blocks)).collect();
    let mut tilts: Vec<Vec<f64>> = vec![vec![0.0; blocks]; stacks];
    for one in comparisons {
        alike[one.stack].add(&rest(one));
        let usual = median(&one.ys);
        for (tilt, y) in tilts[one.stack].iter_mut().zip(&one.ys) {
            *tilt += lost(y - usual);
        }
    }
    if alike.iter().all(|one| one.comparisons == 0) {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let order: Vec<usize> = (0..blocks).collect();
    let (mut neighbours, mut halves) = (Worst::new(), Worst::new());
    neighbours.of_study(alike.iter().map(|one| one.neighbours(&order)));
    halves.of_study(alike.iter().map(|one| one.halves(&order)));
    let mut one_sided = Worst::new();
    one_sided.of_study(tilts.iter().map(|tilt| tilt.iter().sum::<f64>().abs()));
    let mut drawn = order.clone();
    let mut signs = vec![1.0; blocks];
    for _ in 0..DRAWS {
        shuffle(&mut drawn, &mut random);
        neighbours.of_chance(alike.iter().map(|one| one.neighbours(&drawn)));
        halves.of_chance(alike.iter().map(|one| one.halves(&drawn)));
        for sign in &mut signs {
            *sign = if random.next_u64() >> 63 == 0 { 1.0 } else { -1.0 };
        }
        let turned = |tilt: &Vec<f64>| tilt.iter().zip(&signs).map(|(t, s)| t * s).sum::<f64>().abs();
        one_sided.of_chance(tilts.iter().map(turned));
    }
    let (first, second) = order.split_at(blocks / 2);
    let middle = |stack: usize, part: &[usize]| {
        let of_part = |one: &BlockRatios| part.iter().map(|&block| one.ys[block]).collect::<Vec<_>>();
        let own = comparisons.iter().filter(|one| one.stack == stack);
        mean(&own.flat_map(of_part).collect::<Vec<_>>())
    };
    let shift = |stack: usize| (middle(stack, second) - middle(stack, first)).exp();
    Some(OwnBlocks {
        hidden: Hidden::of(comparisons, stacks, &neighbours),
        neighbours: neighbours.doubt(|_, value| value),
        halves: halves.doubt(|stack, _| shift(stack)),
        one_sided: one_sided.doubt(|stack, _| tilts[stack].iter().sum()),
    })
}

/// 1 for a loss of a tenth or more, -1 for the gain that undoes one, else 0.
fn lost(off_usual: f64) -> f64 {
    let edge = -(1.0 - LOSS).ln();
    f64::from(i8::from(off_usual <= -edge) - i8::from(off_usual >= edge))
}

/// A comparison's ratios without their mean and without what a steady drift of the machine adds by the order of runs.
fn rest(one: &BlockRatios) -> Vec<f64> {
    let (y, place) = (mean(&one.ys), mean(&one.runs_after_base));
    let off = |values: &[f64], middle: f64| values.iter().map(|value| value - middle).collect::<Vec<_>>();
    let (ys, places) = (off(&one.ys, y), off(&one.runs_after_base, place));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let square = dot(&places, &places);
    let slope = if square > 0.0 { dot(&ys, &places) / square } else { 0.0 };
    ys.iter().zip(&places).map(|(y, place)| y - slope * place).collect()
}

/// How the blocks of one stack are alike: for each pair of blocks the sum over its comparisons of the product of
/// their rests.
struct Alike {
    blocks: usize,
    products: Vec<f64>,
    comparisons: u32,
}

impl Alike {
    fn new(blocks: usize) -> Self {
        Alike {
            blocks,
            products: vec![0.0; blocks * blocks],
            comparisons: 0,
        }
    }

    fn add(&mut self, rest: &[f64]) {
        let square: f64 = rest.iter().map(|r| r * r).sum();
        // What scatters by its last bits only has nothing to say.
        if square <= 1e-24 {
            return;
        }
        self.comparisons += 1;
        for (row, one) in self.products.chunks_mut(self.blocks).zip(rest) {
            for (product, other) in row.iter_mut().zip(rest) {
                *product += one * other / square;
            }
        }
    }

    fn mean_of(&self, sum: f64) -> f64 {
        sum / f64::from(self.comparisons.max(1))
    }

    fn product(&self, one: usize, other: usize) -> f64 {
        self.products[one * self.blocks + other]
    }

    /// Mean correlation of neighbours in this order.
    fn neighbours(&self, order: &[usize]) -> f64 {
        self.mean_of(order.windows(2).map(|pair| self.product(pair[0], pair[1])).sum())
    }

    /// Square of the first half's sum.
    fn halves(&self, order: &[usize]) -> f64 {
        let first = &order[..self.blocks / 2];
        let of_one = |&one: &usize| first.iter().map(|&other| self.product(one, other)).sum::<f64>();
        self.mean_of(first.iter().map(of_one).sum())
    }
}

/// The stack with the largest figure, and how often chance has one as large.
struct Worst {
    stack: usize,
    value: f64,
    as_large: u32,
    /// The largest figure of each draw.
    largest: Vec<f64>,
    /// Sums over the draws of each stack's figure and of its square.
    sums: Vec<(f64, f64)>,
}

impl Worst {
    fn new() -> Self {
        Worst {
            stack: 0,
            value: f64::NEG_INFINITY,
            as_large: 0,
            largest: Vec::with_capacity(DRAWS as usize),
            sums: Vec::new(),
        }
    }

    fn of_study(&mut self, values: impl Iterator<Item = f64>) {
        for (stack, value) in values.enumerate() {
            if value > self.value {
                (self.stack, self.value) = (stack, value);
            }
        }
    }

    fn of_chance(&mut self, values: impl Iterator<Item = f64>) {
        let mut largest = f64::NEG_INFINITY;
        for (stack, value) in values.enumerate() {
            largest = largest.max(value);
            if stack == self.sums.len() {
                self.sums.push((0.0, 0.0));
            }
            self.sums[stack].0 += value;
            self.sums[stack].1 += value * value;
        }
        self.largest.push(largest);
        // A draw that comes back to the study's own order must count, whatever its last bits.
        self.as_large += u32::from(largest >= self.value - 1e-9);
    }

    /// The least figure of a study that chance would hardly do.
    fn seen_from(&self) -> f64 {
        let mut largest = self.largest.clone();
        largest.sort_by(f64::total_cmp);
        let allowed = (CHANCE_MAX * f64::from(DRAWS + 1)).round() as usize - 1;
        largest[largest.len() - 1 - allowed]
    }

    /// Standard deviation of chance's figures, of the stack where it is largest.
    fn scatter(&self) -> f64 {
        let draws = f64::from(DRAWS);
        let variance = |(sum, square): &(f64, f64)| square / draws - (sum / draws).powi(2);
        self.sums.iter().map(variance).fold(0.0, f64::max).sqrt()
    }

    fn doubt(&self, value: impl Fn(usize, f64) -> f64) -> Doubt {
        Doubt {
            stack: self.stack,
            value: value(self.stack, self.value),
            chance: f64::from(self.as_large + 1) / f64::from(DRAWS + 1),
        }
    }
}

/// Fisher and Yates, from the end; that the high half of a product favours some numbers by 2^-60 does not matter here.
fn shuffle(order: &mut [usize], random: &mut Xoshiro256PlusPlus) {
    for last in (1..order.len()).rev() {
        let below = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        order.swap(last, below as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(stack: usize, ys: &[f64]) -> BlockRatios {
        BlockRatios {
            stack,
            ys: ys.to_vec(),
            runs_after_base: vec![0.0; ys.len()],
        }
    }

    #[test]
    fn a_shift_in_the_middle_is_seen_in_the_stack_that_has_it() {
        let noise = [
            0.01, -0.01, 0.005, -0.012, 0.008, -0.004, 0.011, -0.009, 0.002, -0.006, 0.007, -0.003,
        ];
        let shifted: Vec<f64> = (noise.iter().enumerate())
            .map(|(n, y)| if n < 6 { y + 0.1 } else { y - 0.1 })
            .collect();
        let found = own_blocks(&[one(0, &noise), one(1, &shifted)]).expect("twelve blocks");
        assert!(found.halves.speaks() && found.halves.stack == 1, "{found:?}");
        assert!((found.halves.value / (-0.2f64).exp() - 1.0).abs() < 0.02, "{found:?}");
        assert!(found.neighbours.speaks() && found.neighbours.value > 0.6, "{found:?}");
        let calm = own_blocks(&[one(0, &noise)]).expect("twelve blocks");
        assert!(
            !calm.halves.speaks() && !calm.neighbours.speaks() && !calm.one_sided.speaks(),
            "{calm:?}"
        );
    }

    #[test]
    fn runs_that_lose_on_one_side_only_are_counted() {
        let mut ys: Vec<f64> = (0..24).map(|n| f64::from(n % 5) * 0.002).collect();
        for hit in [1, 4, 9, 12, 15, 18, 20, 22] {
            ys[hit] -= 0.3;
        }
        let found = own_blocks(&[one(0, &ys)]).expect("enough blocks").one_sided;
        assert!(found.speaks() && found.value == 8.0, "{found:?}");
    }

    #[test]
    fn a_steady_drift_of_the_machine_is_no_correlation() {
        let order = [1.0, 1.0, -1.0, -1.0];
        let places: Vec<f64> = (0..12).map(|n| order[n % 4]).collect();
        let ys: Vec<f64> = places
            .iter()
            .enumerate()
            .map(|(n, p)| p * 0.1 + 0.001 * (n as f64 * 2.4).sin())
            .collect();
        let found = own_blocks(&[BlockRatios {
            stack: 0,
            ys,
            runs_after_base: places,
        }])
        .expect("twelve blocks");
        assert!(!found.neighbours.speaks(), "{found:?}");
    }

    /// Blocks whose figures are as normal values would be, in an order that follows nothing.
    fn drawn(blocks: usize, seed: u64) -> Vec<f64> {
        let mut normal = crate::normals(seed);
        (0..blocks).map(|_| 0.03 * normal()).collect()
    }

    #[test]
    fn what_is_hidden_shrinks_with_blocks_and_with_phases() {
        let hidden = |blocks: usize, phases: u64| {
            let phases: Vec<BlockRatios> = (0..phases).map(|phase| one(0, &drawn(blocks, phase + 1))).collect();
            own_blocks(&phases).expect("enough blocks").hidden
        };
        assert_eq!(hidden(6, 1), Hidden::EVERYTHING);
        // One phase: eight slow blocks are seen; of twelve, three quarters are needed for that in eight of ten studies.
        let twelve = hidden(12, 1);
        assert!(
            twelve.correlation == 1.0 && (0.72..0.77).contains(&twelve.slow_blocks),
            "{twelve:?}"
        );
        let thirty = hidden(30, 1);
        assert!((0.5..0.7).contains(&thirty.correlation), "{thirty:?}");
        assert!((0.28..0.36).contains(&thirty.slow_blocks), "{thirty:?}");
        assert!(
            (0.03..0.045).contains(&thirty.change) && (0.05..0.13).contains(&twelve.change),
            "{thirty:?} {twelve:?}"
        );
        assert!((0.4..0.6).contains(&hidden(12, 8).correlation), "{:?}", hidden(12, 8));
    }

    #[test]
    fn a_correlation_that_is_not_hidden_is_seen_in_eight_of_ten_studies() {
        let wanders = |seed: u64, correlation: f64| {
            let mut normal = crate::normals(seed);
            let mut state = normal();
            let ys: Vec<f64> = (0..30)
                .map(|_| {
                    state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal();
                    0.03 * state
                })
                .collect();
            one(0, &ys)
        };
        let study = |nth: u64, correlation: f64| {
            let phases: Vec<BlockRatios> = (0..3).map(|phase| wanders(nth * 3 + phase, correlation)).collect();
            own_blocks(&phases).expect("enough blocks")
        };
        let honest: Vec<f64> = (0..40).map(|nth| study(nth, 0.0).hidden.correlation).collect();
        let hidden = median(&honest);
        let seen = (0..200)
            .filter(|nth| study(1_000 + nth, hidden).neighbours.speaks())
            .count();
        assert!(
            (140..=185).contains(&seen),
            "{seen} of 200 with a correlation of {hidden}"
        );
    }

    #[test]
    fn a_change_that_is_not_hidden_is_seen_in_eight_of_ten_studies() {
        let study = |nth: u64, phases: u64, by: f64| {
            let one_of = |phase: u64| {
                let mut ys = drawn(12, nth * 8 + phase);
                ys[6..].iter_mut().for_each(|y| *y -= by);
                one(0, &ys)
            };
            own_blocks(&(0..phases).map(one_of).collect::<Vec<_>>()).expect("enough blocks")
        };
        for phases in [1, 3] {
            let honest: Vec<f64> = (0..40).map(|nth| study(nth + 1, phases, 0.0).hidden.change).collect();
            let by = -(-median(&honest)).ln_1p();
            let seen = (0..200)
                .filter(|nth| study(1_000 + nth, phases, by).halves.speaks())
                .count();
            assert!(seen >= 145, "{seen} of 200 with a change by {by} in {phases} phases");
        }
    }

    #[test]
    fn few_blocks_and_blocks_without_scatter_say_nothing() {
        assert_eq!(own_blocks(&[]), None);
        assert_eq!(own_blocks(&[one(0, &[0.1, 0.2, 0.3, 0.4])]), None);
        assert_eq!(own_blocks(&[one(0, &[0.25; 12])]), None);
    }
}
