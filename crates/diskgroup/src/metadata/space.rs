//! The allocation units of one disk: who owns each, which are free.
//!
//! Takes requests for runs of 1, 4 or 16 units, gives the first unit. Single units come from the low end, runs from the
//! high end and aligned, so that the two do not cut each other up. Prevents: a unit with two owners, and one with none
//! that is not free.

use crate::layout::block::{self, Address, BODY, Eye, Pen};
use crate::layout::header::{Place, TABLE_ENTRIES};
use crate::uuid::Uuid;

/// Number of the metadata file; files of users come after [`FIRST_FILE`].
pub(crate) const META_FILE: u32 = 1;
pub(crate) const FIRST_FILE: u32 = 256;
/// No file has this number: it would look like a unit that is reserved.
pub(crate) const FILES_END: u32 = u32::MAX - 1;

/// Units of an extent where they are several: such runs begin at multiples of their length.
const RUNS: [u32; 2] = [4, 16];

/// Units side by side on one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) disk: u16,
    /// The first of them.
    pub(crate) au: u32,
    pub(crate) units: u32,
}

/// Units of a deleted file that a copy under way may still write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orphan {
    pub(crate) file: u32,
    pub(crate) extent: u32,
    pub(crate) run: Run,
}

/// Owner of an allocation unit: what an entry of the allocation table holds (8 bytes).
///
/// | bits | what |
/// | --- | --- |
/// | 32..64 | number of the file; 0: the unit is free; all ones: the unit holds header, root, table or journal |
/// | 2..32 | extent |
/// | 0..2 | copy |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Owner(pub(crate) u64);

impl Owner {
    pub(crate) const FREE: Owner = Owner(0);
    pub(crate) const RESERVED: Owner = Owner(u64::MAX);
    /// Free on disk, not yet in memory: an I/O may still go there.
    pub(crate) const LIMBO: Owner = Owner(u64::MAX - 1);

    pub(crate) fn new(file: u32, extent: u32, copy: usize) -> Owner {
        Owner(u64::from(file) << 32 | u64::from(extent) << 2 | copy as u64)
    }
}

/// The units of one disk.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    owners: Vec<Owner>,
    place: Place,
    free: u32,
    /// No unit below is free.
    low: u32,
    /// For each of [`RUNS`]: no run of that length that ends above is free.
    high: [u32; 2],
}

impl Space {
    pub(crate) fn new(place: Place) -> Space {
        let mut owners = vec![Owner::FREE; place.aus as usize];
        owners[..place.first_au as usize].fill(Owner::RESERVED);
        Space {
            owners,
            free: place.aus - place.first_au,
            low: place.first_au,
            high: RUNS.map(|run| place.aus / run * run),
            place,
        }
    }

    /// The units of a disk of which nothing is known yet: none can be taken.
    pub(crate) fn unread(place: Place) -> Space {
        Space {
            owners: Vec::new(),
            place,
            free: 0,
            low: place.first_au,
            high: [0; 2],
        }
    }

    /// Units that data can have, free or not.
    pub(crate) fn total(&self) -> u32 {
        self.place.aus - self.place.first_au
    }

    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Units with an owner, those in limbo included.
    pub(crate) fn used(&self) -> u32 {
        self.total() - self.free
    }

    /// Units that are free on disk and not yet in memory.
    pub(crate) fn limbo(&self) -> u32 {
        self.owners.iter().filter(|o| **o == Owner::LIMBO).count() as u32
    }

    pub(crate) fn owner(&self, au: u32) -> Option<Owner> {
        self.owners.get(au as usize).copied()
    }

    fn is_free(&self, from: u32, units: u32) -> bool {
        self.owners[from as usize..(from + units) as usize]
            .iter()
            .all(|&o| o == Owner::FREE)
    }

    /// Finds `units` free units side by side, without taking them.
    pub(crate) fn find(&mut self, units: u32) -> Option<u32> {
        if self.free < units {
            return None;
        }
        if units == 1 {
            while self.owners.get(self.low as usize).is_some_and(|&o| o != Owner::FREE) {
                self.low += 1;
            }
            return (self.low < self.place.aus).then_some(self.low);
        }
        let nth = RUNS.iter().position(|&run| run == units);
        let nth = nth.expect("an extent has 1, 4 or 16 units");
        let first = self.place.first_au;
        while let Some(from) = self.high[nth].checked_sub(units).filter(|&from| from >= first) {
            if self.is_free(from, units) {
                return Some(from);
            }
            self.high[nth] = from;
        }
        None
    }

    /// Takes note of the runs that became free with these units.
    fn raise(&mut self, from: u32, units: u32) {
        for (nth, run) in RUNS.into_iter().enumerate() {
            let (first, last) = (from / run * run, (from + units - 1) / run * run);
            let mut touched = (first..=last).rev().step_by(run as usize);
            let free = touched.find(|&at| self.place.aus - at >= run && self.is_free(at, run));
            if let Some(at) = free {
                self.high[nth] = self.high[nth].max(at + run);
            }
        }
    }

    /// Takes units. False when one is not free (nothing is taken then).
    pub(crate) fn take(&mut self, from: u32, units: u32, owner: Owner) -> bool {
        let end = from.checked_add(units).filter(|&end| end <= self.place.aus);
        if from < self.place.first_au || end.is_none() || self.owners.is_empty() || !self.is_free(from, units) {
            return false;
        }
        self.owners[from as usize..(from + units) as usize].fill(owner);
        self.free -= units;
        true
    }

    /// Changes the owner of units that are taken.
    pub(crate) fn hand_over(&mut self, from: u32, units: u32, owner: Owner) {
        assert!(owner != Owner::FREE, "units become free by `release`");
        self.owners[from as usize..(from + units) as usize].fill(owner);
    }

    /// Gives units back.
    pub(crate) fn release(&mut self, from: u32, units: u32) {
        for owner in &mut self.owners[from as usize..(from + units) as usize] {
            assert!(
                *owner != Owner::FREE && *owner != Owner::RESERVED,
                "a unit was released that nobody had"
            );
            *owner = Owner::FREE;
        }
        self.free += units;
        self.low = self.low.min(from);
        self.raise(from, units);
    }

    /// Table blocks that hold the entries of these units.
    pub(crate) fn blocks(from: u32, units: u32) -> std::ops::RangeInclusive<u32> {
        from / TABLE_ENTRIES..=(from + units - 1) / TABLE_ENTRIES
    }

    /// A block of the allocation table: 506 owners of 8 bytes from byte 48, of the units from `506 * index` on.
    pub(crate) fn encode(&self, index: u32, disk: u16, group: Uuid, sequence: u64) -> Box<[u8]> {
        let mut bytes = block::blank();
        let mut pen = Pen::new(&mut bytes, BODY);
        for owner in self
            .owners
            .iter()
            .skip((index * TABLE_ENTRIES) as usize)
            .take(TABLE_ENTRIES as usize)
        {
            pen.u64(if *owner == Owner::LIMBO { 0 } else { owner.0 });
        }
        block::seal(&mut bytes, group, Address::Table { disk, index }, sequence);
        bytes
    }

    /// Units whose entry in this block differs from what is in memory.
    pub(crate) fn differing(&self, index: u32, bytes: &[u8]) -> Vec<(u32, Owner)> {
        let mut eye = Eye::new(bytes, BODY);
        let first = index * TABLE_ENTRIES;
        let here = self.owners.iter().skip(first as usize).take(TABLE_ENTRIES as usize);
        let mut differing = Vec::new();
        for (nth, owner) in here.enumerate() {
            let known = if *owner == Owner::LIMBO { Owner::FREE } else { *owner };
            let found = Owner(eye.u64());
            if found != known {
                differing.push((first + nth as u32, found));
            }
        }
        differing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn space() -> Space {
        Space::new(Place::new(128 << 20, 1 << 20, 256).unwrap())
    }

    #[test]
    fn singles_come_from_below_and_runs_from_above() {
        let mut space = space();
        let single = space.find(1).unwrap();
        assert_eq!(single, 2);
        let run = space.find(16).unwrap();
        assert_eq!(run, 96);
        assert!(space.take(single, 1, Owner::new(256, 0, 0)));
        assert!(space.take(run, 16, Owner::new(256, 1, 0)));
        assert!(!space.take(run + 15, 1, Owner::new(257, 0, 0)), "it has an owner");
        assert_eq!(space.used(), 17);
        space.release(run, 16);
        assert_eq!(space.find(4), Some(120));
        assert!(!space.take(1, 1, Owner::new(256, 0, 0)), "reserved");
        assert!(!space.take(126, 4, Owner::new(256, 0, 0)), "over the end");
    }

    #[test]
    fn a_full_disk_says_so_and_a_table_shows_differences() {
        let mut space = space();
        while let Some(au) = space.find(1) {
            assert!(space.take(au, 1, Owner::new(300, au, 1)));
        }
        assert_eq!((space.free(), space.find(4)), (0, None));
        let block = space.encode(0, 7, Uuid([1; 16]), 3);
        assert_eq!(space.differing(0, &block), vec![]);
        space.release(50, 1);
        assert_eq!(space.differing(0, &block), vec![(50, Owner::new(300, 50, 1))]);
    }

    /// The same without marks.
    fn walked(space: &Space, units: u32) -> Option<u32> {
        let place = space.place;
        if units == 1 {
            return (place.first_au..place.aus).find(|&au| space.is_free(au, 1));
        }
        let runs = (0..place.aus / units).rev().map(|nth| nth * units);
        runs.take_while(|&from| from >= place.first_au)
            .find(|&from| space.is_free(from, units))
    }

    proptest! {
        #[test]
        fn marks_find_what_a_walk_over_all_units_finds(
            aus in 11u64..160,
            steps in prop::collection::vec((0u8..10, 0usize..3, any::<u32>()), 1..300),
        ) {
            let mut space = Space::new(Place::new(aus << 20, 1 << 20, 256).unwrap());
            let mut taken: Vec<(u32, u32)> = Vec::new();
            for (what, length, number) in steps {
                let units = [1, 4, 16][length];
                let found = match what {
                    0..6 => space.find(units),
                    // As a mount does, at any place.
                    6 => Some(number % space.place.aus),
                    _ => None,
                };
                if let Some(au) = found.filter(|&au| space.take(au, units, Owner::LIMBO)) {
                    taken.push((au, units));
                }
                if what > 6 && !taken.is_empty() {
                    let (au, units) = taken.swap_remove(number as usize % taken.len());
                    space.release(au, units);
                }
                for units in [1, 4, 16] {
                    prop_assert_eq!(space.clone().find(units), walked(&space, units));
                }
            }
        }
    }
}
