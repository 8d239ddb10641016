//! Laws of the schedule, for any seed and any number of stacks.
//!
//! Prevents: an order that favours a stack, a seed that comes twice, a block that is not the same when asked for again.

use plan::block;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn a_block_is_pure_and_each_stack_runs_once(seed: u64, stacks in 0usize..12, number: u32) {
        let one = block(seed, stacks, number);
        prop_assert_eq!(&one, &block(seed, stacks, number));
        prop_assert_eq!(one.number, number);
        let mut order = one.order;
        order.sort_unstable();
        prop_assert_eq!(order, (0..stacks).collect::<Vec<_>>());
    }

    #[test]
    fn two_blocks_run_forwards_and_two_backwards(seed: u64, stacks in 1usize..12, four in 0u32..1_000_000) {
        let order = |nth| block(seed, stacks, 4 * four + nth).order;
        let mut reverse = order(0);
        reverse.reverse();
        prop_assert_eq!(order(0), order(1));
        prop_assert_eq!(&reverse, &order(2));
        prop_assert_eq!(&reverse, &order(3));
    }

    #[test]
    fn no_seed_comes_twice(seed: u64, stacks in 1usize..6, from in 0u32..1_000_000) {
        let seeds: BTreeSet<u64> = (from..from + 64).map(|number| block(seed, stacks, number).seed).collect();
        prop_assert_eq!(seeds.len(), 64);
    }

    #[test]
    fn the_seed_of_a_block_does_not_depend_on_the_stacks(seed: u64, number: u32) {
        prop_assert_eq!(block(seed, 2, number).seed, block(seed, 7, number).seed);
    }
}

/// Over four blocks each stack has the same mean position; over many each is everywhere equally often.
#[test]
fn positions_are_balanced() {
    let (stacks, blocks) = (4usize, 8_000u32);
    let mut at = vec![vec![0u32; stacks]; stacks];
    for number in 0..blocks {
        for (position, stack) in block(7, stacks, number).order.into_iter().enumerate() {
            at[stack][position] += 1;
        }
    }
    for row in &at {
        let mean: f64 = row
            .iter()
            .enumerate()
            .map(|(position, n)| position as f64 * f64::from(*n))
            .sum::<f64>()
            / f64::from(blocks);
        assert!(
            (mean - 1.5).abs() < 1e-12,
            "four blocks give each stack the mean position 1.5: {at:?}"
        );
        // 2,000 independent fours give a position twice two chances in four: a standard deviation of about 63 around
        // 2,000.
        assert!(row.iter().all(|n| n.abs_diff(2_000) < 380), "{at:?}");
    }
}

/// All orders of three stacks turn up, none preferred.
#[test]
fn every_order_is_as_likely() {
    let mut seen = std::collections::BTreeMap::new();
    for four in 0..6_000 {
        *seen.entry(block(1, 3, 4 * four).order).or_insert(0u32) += 1;
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(
        seen.values().all(|n| n.abs_diff(1_000) < 175),
        "1,000 each, standard deviation 29: {seen:?}"
    );
}

/// A schedule is part of a result: it must not change with a version of this program or of a library.
#[test]
fn the_schedule_is_what_it_always_was() {
    let blocks: Vec<_> = (0..8).map(|number| block(1, 3, number)).collect();
    insta::assert_debug_snapshot!(blocks);
}

proptest! {
    #[test]
    fn rounds_of_stints_are_pure_and_mirrored_two_by_two(seed: u64, stacks in 1usize..12, pair in 0u32..1_000_000) {
        let order = plan::round(seed, stacks, 2 * pair);
        prop_assert_eq!(&order, &plan::round(seed, stacks, 2 * pair));
        let mut second = plan::round(seed, stacks, 2 * pair + 1);
        second.reverse();
        prop_assert_eq!(&order, &second);
        let mut all = order;
        all.sort_unstable();
        prop_assert_eq!(all, (0..stacks).collect::<Vec<_>>());
    }
}
