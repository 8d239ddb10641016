//! Which stack runs when, and with which seed: an infinite pure function of (study seed, stacks, block).
//!
//! Takes the seed of the study, the number of stacks and the number of the block; gives one [`Block`]. Prevents: an
//! order that favours a stack (whoever runs first finds a colder machine), and a drift of the machine that is taken
//! for a difference of stacks: of four blocks the first two have one order and the others its reverse, so that every
//! stack has the same mean position and a linear drift cancels.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One block: each stack once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// 0-based.
    pub number: u32,
    /// Indices of stacks in the order they run: one order in blocks 4k and 4k+1, its reverse in 4k+2 and 4k+3.
    pub order: Vec<usize>,
    /// The same for all stacks of the block.
    pub seed: u64,
}

/// Blocks with one order: two forwards, two backwards. With one each, what a machine's state leaves behind from run
/// to run makes the ratios of neighbouring blocks alike, and verdicts err more often than they say.
const BLOCKS_OF_AN_ORDER: u32 = 4;

/// The block `number` (0-based) of a study with `stacks` stacks and the root seed `seed`.
///
/// The same arguments give the same block for ever; no two blocks of one study share a seed.
pub fn block(seed: u64, stacks: usize, number: u32) -> Block {
    let mut order: Vec<usize> = (0..stacks).collect();
    shuffle(
        &mut order,
        stream(seed ^ ORDERS, u64::from(number / BLOCKS_OF_AN_ORDER)),
    );
    if number % BLOCKS_OF_AN_ORDER >= BLOCKS_OF_AN_ORDER / 2 {
        order.reverse();
    }
    Block {
        number,
        order,
        seed: stream(seed, u64::from(number)),
    }
}

/// The order in which `stacks` stacks have their stints in round `number` of a phase (0-based): one order drawn for
/// the phase, and its reverse in the rounds whose number has an odd count of binary ones: of two stacks AB BA BA AB
/// BA AB AB BA. Two rounds then cancel a steady drift, four its curvature, and a machine that swings in time with
/// the turns cannot favour one stack for ever.
///
/// The same arguments give the same order for ever.
pub fn round(seed: u64, stacks: usize, number: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..stacks).collect();
    shuffle(&mut order, stream(seed ^ ROUNDS, 0));
    if number.count_ones() % 2 == 1 {
        order.reverse();
    }
    order
}

/// Keeps the numbers that shuffle rounds apart from all others.
const ROUNDS: u64 = 0x726f_756e_6473_0001;

/// Keeps the numbers that shuffle orders apart from those handed out as seeds.
const ORDERS: u64 = 0x6f72_6465_7273_0001;

/// The `n`th number of the stream that `seed` starts: an odd step, then a bijection, so that it never repeats for
/// different `n`. Step and bijection are those of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom
/// number generators").
fn stream(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fisher and Yates, from the end.
fn shuffle(order: &mut [usize], seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut random, last as u64 + 1) as usize);
    }
}

/// A number below `bound`, each equally likely: the high half of a 128-bit product, low halves that would favour some
/// numbers drawn again (Lemire 2019, "Fast random integer generation in an interval").
fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    let unfair = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        if product as u64 >= unfair {
            return (product >> 64) as u64;
        }
    }
}
