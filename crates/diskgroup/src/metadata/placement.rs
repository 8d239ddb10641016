//! Where new extents go: evenly over the disks by size, copies in different failure groups and on partner disks.
//!
//! Takes what a file has on each disk, gives disks. Prevents: two copies that one failure takes away together.

use crate::error::GroupError;
use crate::layout::disk::Disk;
use crate::layout::file::Pointer;
use crate::layout::root::META_EXTENTS_MAX;
use crate::metadata::core::{Change, Core};
use crate::metadata::meta_uses::MetaUse;
use crate::metadata::space::{META_FILE, Owner};
use crate::planted::Planted;
use targets::Port;

/// Most partners of a disk: two disks that fail together lose data only if they are partners.
const PARTNERS_MAX: u32 = 8;

/// An extent that is to be placed.
pub(crate) struct NewExtent<'a> {
    pub(crate) copies: usize,
    pub(crate) units: u32,
    /// Which disk comes first among equals.
    pub(crate) turn: u32,
    /// Units that the file has per disk, of all copies and of first copies.
    pub(crate) load: &'a [[u64; 2]],
}

impl<P: Port> Core<P> {
    /// The disk with the least `load` for its size among those `allowed` with room for `units` side by side.
    fn pick(
        &mut self,
        units: u32,
        turn: u32,
        load: impl Fn(u16) -> u64,
        allowed: impl Fn(&Disk) -> bool,
    ) -> Option<(u16, u32)> {
        let count = self.disks.keys().next_back().map_or(1, |n| u32::from(*n) + 1);
        let mut refused = 0u64;
        loop {
            let fit = |d: &&Disk| d.takes_new() && refused & d.bit() == 0 && allowed(d);
            let best = self.disks.values().filter(fit).min_by_key(|d| {
                let total = u64::from(d.space.total());
                let share = ((load(d.number) + u64::from(units)) << 24) / total;
                let used = (u64::from(d.space.used()) << 24) / total;
                (share, used, (u32::from(d.number) + count - turn % count) % count)
            })?;
            let number = best.number;
            let disk = self.disks.get_mut(&number)?;
            match disk.space.find(units) {
                Some(au) => return Some((number, au)),
                None => refused |= disk.bit(),
            }
        }
    }

    /// Places for all copies of a new extent, taken for their owner; nothing is taken when there is no place for one of
    /// them.
    pub(crate) fn place(&mut self, extent: &NewExtent<'_>, owner: impl Fn(usize) -> Owner) -> Option<Vec<Pointer>> {
        let NewExtent {
            copies,
            units,
            turn,
            load,
        } = *extent;
        let units_on = |number: u16, which: usize| load.get(usize::from(number)).map_or(0, |l| l[which]);
        let mut chosen: Vec<(u16, u32)> = Vec::with_capacity(copies);
        let (mut groups, mut partners) = (Vec::<String>::new(), u64::MAX);
        for copy in 0..copies {
            let apart = |d: &Disk| {
                let elsewhere = !groups.contains(&d.failure_group) || Planted::FailureGroupIgnored.on();
                let other = !chosen.iter().any(|c| c.0 == d.number);
                other && elsewhere && partners & d.bit() != 0
            };
            let which = usize::from(copy == 0);
            let (number, au) = self.pick(units, turn, |n| units_on(n, which), apart)?;
            groups.push(self.disks[&number].failure_group.clone());
            if copy == 0 && copies > 1 && !Planted::FailureGroupIgnored.on() {
                partners = self.disks[&number].partners;
            }
            chosen.push((number, au));
        }
        let mut pointers = Vec::with_capacity(copies);
        for (copy, (disk, au)) in chosen.into_iter().enumerate() {
            assert!(self.take(disk, au, units, owner(copy)), "found free and not free");
            pointers.push(Pointer { disk, au, stale: false });
        }
        Some(pointers)
    }

    /// Units free where new extents may go.
    pub(crate) fn free_units(&self) -> u64 {
        let open = self.disks.values().filter(|d| d.takes_new());
        open.map(|d| u64::from(d.space.free())).sum()
    }

    /// A free block of the metadata file, which gets an extent more when it has none.
    pub(crate) fn take_meta(&mut self, change: &mut Change, used_for: MetaUse) -> Result<u32, GroupError> {
        if self.meta_uses.first_free().is_none() {
            self.grow_meta(change)?;
        }
        let free = self.meta_uses.first_free();
        let block = free.ok_or_else(|| GroupError::damaged("the metadata file has grown by nothing"))?;
        self.meta_uses.set(block, used_for);
        Ok(block)
    }

    fn grow_meta(&mut self, change: &mut Change) -> Result<(), GroupError> {
        let extent = self.root.extents.len();
        let copies = self.meta_copies();
        let owner = |copy| Owner::new(META_FILE, extent as u32, copy);
        let full = |core: &Core<P>| GroupError::Full {
            what: "the metadata file".into(),
            needed: core.au() * copies as u64,
            free: core.free_units() * core.au(),
        };
        if extent == META_EXTENTS_MAX {
            return Err(full(self));
        }
        let load: Vec<[u64; 2]> = self.meta_load();
        let pointers = loop {
            let Some(pointers) = self.place(
                &NewExtent {
                    copies,
                    units: 1,
                    turn: extent as u32,
                    load: &load,
                },
                owner,
            ) else {
                return Err(full(self));
            };
            let good = self.zero_units(&pointers, 1)?;
            if good.iter().all(|g| *g) {
                break pointers;
            }
            // A disk that fails is not the place for metadata: from now on nothing new goes there.
            for (pointer, good) in pointers.iter().zip(good) {
                if let Some(disk) = self.disks.get_mut(&pointer.disk) {
                    disk.space.release(pointer.au, 1);
                    disk.failing |= !good;
                }
            }
        };
        for pointer in &pointers {
            change.touch_units(pointer.disk, pointer.au, 1);
        }
        self.root.extents.push(pointers);
        let more = self.meta_blocks();
        self.meta_uses.grow(more);
        change.touch(crate::layout::block::Address::Root);
        Ok(())
    }

    fn meta_load(&self) -> Vec<[u64; 2]> {
        let mut load = vec![[0; 2]; usize::from(crate::layout::header::DISKS_MAX)];
        for extent in &self.root.extents {
            for (copy, pointer) in extent.iter().enumerate() {
                load[usize::from(pointer.disk)][0] += 1;
                load[usize::from(pointer.disk)][1] += u64::from(copy == 0);
            }
        }
        load
    }

    /// Fills units with zeros, durably; says for each place whether it went well. Disks that failed are remembered.
    pub(crate) fn zero_units(&mut self, pointers: &[Pointer], units: u32) -> Result<Vec<bool>, GroupError> {
        let runs: Vec<(Pointer, u32)> = pointers.iter().map(|&p| (p, units)).collect();
        self.zero_runs(&runs)
    }

    /// The same for runs of different lengths.
    pub(crate) fn zero_runs(&mut self, runs: &[(Pointer, u32)]) -> Result<Vec<bool>, GroupError> {
        let faults = self.board.faults();
        let mut good = vec![true; runs.len()];
        let mut items = Vec::new();
        let mut which = Vec::new();
        for (nth, (pointer, units)) in runs.iter().enumerate() {
            match self.disks.get(&pointer.disk).and_then(Disk::live) {
                Some(slot) => {
                    items.push((slot, u64::from(pointer.au) * self.au(), u64::from(*units) * self.au()));
                    which.push(nth);
                }
                None => good[nth] = false,
            }
        }
        if !Planted::ZeroingLeftOut.on() {
            for (nth, outcome) in which.into_iter().zip(self.store.zero(&items)?) {
                if outcome.is_err() {
                    good[nth] = false;
                    self.trouble.insert(runs[nth].0.disk);
                }
            }
        }
        if !Planted::ZeroingUnflushed.on() {
            let mut disks: Vec<u16> = runs.iter().map(|r| r.0.disk).collect();
            disks.sort_unstable();
            disks.dedup();
            let failed = self.flush_disks(&disks, faults)?;
            for (good, (pointer, _)) in good.iter_mut().zip(runs) {
                *good &= !failed.contains(&pointer.disk);
            }
        }
        Ok(good)
    }

    /// Gives disks without partners some, at most 8 each, all in other failure groups. A disk that comes late is put
    /// between pairs that exist, so that little has to move.
    pub(crate) fn pair_disks(&mut self) {
        let numbers: Vec<u16> = self.disks.keys().copied().collect();
        for &number in &numbers {
            while self.pair_one(number, &numbers) {}
        }
    }

    fn pair_one(&mut self, number: u16, numbers: &[u16]) -> bool {
        let disk = &self.disks[&number];
        if disk.partners.count_ones() >= PARTNERS_MAX || disk.dropping {
            return false;
        }
        let mut open: Vec<&Disk> = numbers
            .iter()
            .map(|n| &self.disks[n])
            .filter(|d| d.failure_group != disk.failure_group && disk.partners & d.bit() == 0 && !d.dropping)
            .collect();
        open.sort_by_key(|d| (d.partners.count_ones(), d.number));
        let Some(first) = open.first().map(|d| (d.number, d.partners)) else {
            return false;
        };
        if first.1.count_ones() < PARTNERS_MAX {
            self.join(number, first.0, true);
            return true;
        }
        // All others have their eight: two partners part, and each takes this one. It costs two places here.
        if disk.partners.count_ones() + 2 > PARTNERS_MAX {
            return false;
        }
        let pair = open.iter().find_map(|a| {
            let b = open.iter().find(|b| a.partners & b.bit() != 0)?;
            Some((a.number, b.number))
        });
        let Some((a, b)) = pair else {
            return false;
        };
        self.join(a, b, false);
        self.join(number, a, true);
        self.join(number, b, true);
        true
    }

    fn join(&mut self, a: u16, b: u16, together: bool) {
        for (one, other) in [(a, b), (b, a)] {
            if let Some(disk) = self.disks.get_mut(&one) {
                let bit = 1 << other;
                disk.partners = if together {
                    disk.partners | bit
                } else {
                    disk.partners & !bit
                };
            }
        }
    }
}
