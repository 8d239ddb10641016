//! Which LUN sets of a stack have times of their own.
//!
//! Takes the resolved study. Prevents: slow motion of one part of a stack that changes its proportions.

use crate::study::{Device, LunSet, Stack, Study};
use std::collections::BTreeSet;

impl Study {
    /// The LUN sets of a stack whose model has times of its own.
    pub fn timed_sets<'s>(&'s self, stack: &'s Stack) -> impl Iterator<Item = &'s LunSet> {
        let mine = |set: &&LunSet| stack.lun_sets().any(|name| *name == set.name);
        let timed = |set: &&LunSet| set.device.as_ref().is_some_and(Device::is_timed);
        self.luns.iter().filter(mine).filter(timed)
    }

    /// Whether a stack waits for a model with times and for something else: slow motion would change its proportions.
    pub fn is_half_timed(&self, stack: &Stack) -> bool {
        let timed = self.timed_sets(stack).count();
        let sets: BTreeSet<&String> = stack.lun_sets().collect();
        timed > 0 && timed < sets.len()
    }
}
