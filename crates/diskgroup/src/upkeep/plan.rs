//! What the upkeep has yet to begin, in order, and how much that is.
//!
//! Takes pieces of work at the end, gives them from the front. Prevents: a walk over all that is left whenever somebody
//! asks how much it is.

use crate::layout::geometry::Geometry;
use std::collections::VecDeque;

/// A move that is planned: a copy of an extent to a disk; `None`: to stay where it is, and be copied again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub(crate) file: u32,
    pub(crate) extent: u32,
    pub(crate) copy: usize,
    pub(crate) to: Option<u16>,
}

/// All that is planned, most urgent first.
pub(crate) struct Plan {
    geometry: Geometry,
    queue: VecDeque<Planned>,
    /// Units of all extents in the queue.
    units: u64,
}

impl Plan {
    pub(crate) fn new(geometry: Geometry) -> Plan {
        Plan {
            geometry,
            queue: VecDeque::new(),
            units: 0,
        }
    }

    fn units_of(&self, planned: &Planned) -> u64 {
        u64::from(self.geometry.extent_units(planned.extent))
    }

    pub(crate) fn push(&mut self, planned: Planned) {
        self.units += self.units_of(&planned);
        self.queue.push_back(planned);
    }

    pub(crate) fn pop(&mut self) -> Option<Planned> {
        let planned = self.queue.pop_front()?;
        self.units -= self.units_of(&planned);
        debug_assert!(!self.queue.is_empty() || self.units == 0, "units of an empty plan");
        Some(planned)
    }

    /// Keeps only what stays on its disk.
    pub(crate) fn leave_out_moves(&mut self) {
        self.queue.retain(|planned| planned.to.is_none());
        self.units = self.queue.iter().map(|planned| self.units_of(planned)).sum();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Planned> {
        self.queue.iter()
    }

    /// Bytes of all that is planned.
    pub(crate) fn bytes(&self) -> u64 {
        self.units * u64::from(self.geometry.au_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn its_bytes_are_those_of_a_walk_over_all(
            steps in prop::collection::vec((0u8..10, 0u32..40, any::<bool>()), 1..200),
        ) {
            let geometry = Geometry { au_bytes: 16 << 10, growth_at: [8, 24] };
            let mut plan = Plan::new(geometry);
            for (what, extent, moves) in steps {
                match what {
                    0 => plan.leave_out_moves(),
                    1..4 => {
                        plan.pop();
                    }
                    _ => plan.push(Planned { file: 256, extent, copy: 0, to: moves.then_some(1) }),
                }
                let units: u64 = plan.iter().map(|planned| u64::from(geometry.extent_units(planned.extent))).sum();
                prop_assert_eq!(plan.bytes(), units * (16 << 10));
            }
        }
    }
}
