//! Seeds of what fills LUN files: one for each file of a study.
//!
//! Takes the seed of a study or a trial, a LUN set and a number in it; gives a seed. Prevents: LUN files of two sets
//! with the same content, which storage below that keeps copies once would not store twice.

use sha2::{Digest, Sha256};

/// Of what fills LUN `nth` of a set.
pub(crate) fn seed_of(root: u64, set: &str, nth: u64) -> u64 {
    let numbers = Sha256::new()
        .chain_update(root.to_le_bytes())
        .chain_update(nth.to_le_bytes());
    let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(numbers.chain_update(set).finalize());
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::seed_of;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_files_of_a_study_are_filled_alike() {
        let sets = ["data", "redo", "temp"];
        let seeds = [0, 1, 7].into_iter().flat_map(|root| {
            let of_set = move |set| (0..8).map(move |nth| seed_of(root, set, nth));
            sets.into_iter().flat_map(of_set)
        });
        assert_eq!(seeds.collect::<BTreeSet<_>>().len(), 3 * 3 * 8);
    }
}
