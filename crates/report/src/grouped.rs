//! Values put together in the order in which each came first.
//!
//! Takes values, gives each once; the time is that of a sort. Prevents: an order of rows that changes with a hash or an
//! alphabet.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn distinct<T: Ord + Clone>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = BTreeSet::new();
    values.into_iter().filter(|value| known.insert(value.clone())).collect()
}

/// What has one key stands together.
pub(crate) fn grouped<K: Ord + Clone, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match places.get(&key) {
            Some(place) => groups[*place].1.push(value),
            None => {
                places.insert(key.clone(), groups.len());
                groups.push((key, vec![value]));
            }
        }
    }
    groups
}
