//! Seeds of what fills LUN files: one for each file of a study.
//!
//! Takes the seed of a study or a trial, a LUN set and a number in it; gives a seed. Prevents: LUN files of two sets
//! with the same content, which storage below that keeps copies once would not store twice.

/// Of what fills LUN `nth` of a set.
pub(crate) fn seed_of(root: u64, set: &str, nth: u64) -> u64 {
    // FNV-1a of 64 bits, then the last step of SplitMix64.
    let bytes = [root, nth].map(u64::to_le_bytes);
    let bytes = bytes.as_flattened().iter().chain(set.as_bytes());
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, step);
    let mixed = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
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
