//! Random numbers of the specification: the non-uniform ones, last names, and strings.
//!
//! Takes a generator, gives numbers and bytes (TPC-C 5.11, clauses 2.1.6, 4.3.2). Prevents: a run that asks for just
//! the customers that the load made most (the two use different constants, as clause 2.1.6.1 says).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of everything random in this work.
pub(super) type Random = Xoshiro256PlusPlus;

/// A generator for one purpose: what `seed` gives to `stream`.
pub(super) fn stream(seed: u64, stream: u64) -> Random {
    // Odd multiplier of SplitMix64: streams lie far apart for any seed.
    Random::seed_from_u64(seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A number from `low` to `high`, both included.
pub(super) fn uniform(random: &mut Random, low: u32, high: u32) -> u32 {
    let choices = u64::from(high - low) + 1;
    low + ((u128::from(random.next_u64()) * u128::from(choices)) >> 64) as u32
}

/// True in `share` of a hundred cases.
pub(super) fn percent(random: &mut Random, share: u32) -> bool {
    uniform(random, 1, 100) <= share
}

/// The constants of the non-uniform numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    pub(super) last_load: u32,
    pub(super) last_run: u32,
    customer: u32,
    item: u32,
}

impl Constants {
    /// Those of a database, by the seed that it was loaded with.
    pub(super) fn of(load_seed: u64) -> Self {
        let mut random = stream(load_seed, u64::from(u32::MAX));
        let last_load = uniform(&mut random, 0, 255);
        // Clause 2.1.6.1: the difference lies from 65 to 119 and is neither 96 nor 112.
        let last_run = loop {
            let run = uniform(&mut random, 0, 255);
            if matches!(run.abs_diff(last_load), 65..=95 | 97..=111 | 113..=119) {
                break run;
            }
        };
        Constants {
            last_load,
            last_run,
            customer: uniform(&mut random, 0, 1023),
            item: uniform(&mut random, 0, 8191),
        }
    }

    /// A customer of a district, from 1.
    pub(super) fn customer(&self, random: &mut Random, customers: u32) -> u32 {
        non_uniform(random, 1023, self.customer, 1, customers)
    }

    /// An item, from 1.
    pub(super) fn item(&self, random: &mut Random, items: u32) -> u32 {
        non_uniform(random, 8191, self.item, 1, items)
    }

    /// The number of a last name as the load draws it.
    pub(super) fn last_at_load(&self, random: &mut Random, names: u32) -> u32 {
        non_uniform(random, 255, self.last_load, 0, names - 1)
    }

    /// The number of a last name as a run draws it.
    pub(super) fn last_at_run(&self, random: &mut Random, names: u32) -> u32 {
        non_uniform(random, 255, self.last_run, 0, names - 1)
    }
}

/// NURand(A, x, y) of clause 2.1.6.
fn non_uniform(random: &mut Random, a: u32, c: u32, x: u32, y: u32) -> u32 {
    let mixed = uniform(random, 0, a) | uniform(random, x, y);
    (mixed + c) % (y - x + 1) + x
}

const SYLLABLES: [&[u8]; 10] = [
    b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING",
];

/// The last name of a number from 0 to 999, into `into`; gives its bytes.
pub(super) fn last_name(number: u32, into: &mut [u8; 16]) -> usize {
    let mut at = 0;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize];
        into[at..at + syllable.len()].copy_from_slice(syllable);
        at += syllable.len();
    }
    at
}

/// 64 signs, so that ten of them come from one draw; the specification asks for letters and digits at least.
const SIGNS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

/// Appends random signs, `low` to `high` of them.
pub(super) fn signs(random: &mut Random, low: u32, high: u32, into: &mut Vec<u8>) {
    let mut left = uniform(random, low, high);
    while left > 0 {
        let mut draw = random.next_u64();
        for _ in 0..left.min(10) {
            into.push(SIGNS[(draw & 63) as usize]);
            draw >>= 6;
        }
        left -= left.min(10);
    }
}

/// Appends `count` random digits.
pub(super) fn digits(random: &mut Random, count: u32, into: &mut Vec<u8>) {
    for _ in 0..count {
        into.push(b'0' + uniform(random, 0, 9) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_keep_the_distance_of_the_specification() {
        for seed in 0..200 {
            let c = Constants::of(seed);
            let apart = c.last_load.abs_diff(c.last_run);
            assert!((65..=119).contains(&apart) && apart != 96 && apart != 112, "{c:?}");
        }
        assert_eq!(Constants::of(5), Constants::of(5));
    }

    #[test]
    fn names_are_made_of_three_syllables() {
        let mut name = [0; 16];
        let bytes = last_name(371, &mut name);
        assert_eq!(&name[..bytes], b"PRICALLYOUGHT");
        let bytes = last_name(777, &mut name);
        assert_eq!(&name[..bytes], b"CALLYCALLYCALLY");
    }

    #[test]
    fn non_uniform_numbers_stay_inside_and_are_not_uniform() {
        let c = Constants::of(1);
        let mut random = stream(1, 2);
        let mut seen = vec![0u32; 3001];
        for _ in 0..300_000 {
            seen[c.customer(&mut random, 3000) as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        let most = seen.iter().max().unwrap();
        assert!(
            *most > 400,
            "the mean is 100, the most asked-for customer came {most} times"
        );
        assert!(seen[1..].iter().filter(|&&n| n > 0).count() > 2900);
    }

    #[test]
    fn strings_have_their_lengths() {
        let mut random = stream(1, 3);
        let mut lengths = [false; 8];
        for _ in 0..200 {
            let mut text = Vec::new();
            signs(&mut random, 3, 7, &mut text);
            lengths[text.len()] = true;
            assert!(text.iter().all(|b| SIGNS.contains(b)));
        }
        assert_eq!(lengths, [false, false, false, true, true, true, true, true]);
    }
}
