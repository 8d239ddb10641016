//! Chance that can be thrown again: the same seed gives the same input.
//!
//! Prevents: a failure that cannot be replayed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of choices.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The choices for one input of one seed.
    pub fn new(seed: u64, input: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ input.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        ))
    }

    /// Any 64 bits.
    pub fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// From 0 to `end` - 1; 0 where `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.any() % (end.max(1) as u64)) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of them; there is at least one.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Few mostly, many sometimes.
    pub fn few(&mut self) -> usize {
        match self.below(8) {
            0..=3 => 1,
            4..=5 => 2 + self.below(3),
            6 => 4 + self.below(12),
            _ => 16 + self.below(64),
        }
    }
}
