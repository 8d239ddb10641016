//! What the upkeep has to do: which copies to make anew, which to move and where to, and how a finished piece of work is recorded.
//!
//! A plan moves what must move (a disk is being emptied, two copies must not lie together) and then only as long as the fullest
//! and the emptiest disk of a file are more than two extents apart from their shares. Prevents: a rebalance that moves what lay well.

use crate::block::Address;
use crate::core::Core;
use crate::disk::Disk;
use crate::error::GroupError;
use crate::file::{File, Pointer};
use crate::files::count;
use crate::planted::Planted;
use crate::space::{META_FILE, Owner};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use targets::Port;

/// What is done with an extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A copy is made: at another place (a move) or at its own (a resync).
    Copy { copy: usize, from: Pointer, to: Pointer },
    /// All copies are compared, bad ones written again.
    Mend,
}

/// Work on one extent; the extent is held for it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) file: u32,
    pub(crate) extent: u32,
    pub(crate) units: u32,
    pub(crate) kind: Kind,
    /// Copies to read from, best first.
    pub(crate) sources: Vec<Pointer>,
    pub(crate) failed: bool,
}

/// A move that is planned: a copy of an extent to a disk; `None`: to stay where it is, and be copied again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub(crate) file: u32,
    pub(crate) extent: u32,
    pub(crate) copy: usize,
    pub(crate) to: Option<u16>,
}

/// Units that became free in memory only when an epoch has been reached: (epoch, disk, unit, units).
pub(crate) type Limbo = (u64, u16, u32, u32);

/// How a file lies, while moves are planned.
struct Lay<'a> {
    file: &'a File,
    have: Vec<f64>,
    share: Vec<f64>,
    planned: BTreeSet<u32>,
}

impl Lay<'_> {
    fn surplus(&self, disk: u16) -> f64 {
        self.have[usize::from(disk)] - self.share[usize::from(disk)]
    }
    fn shift(&mut self, from: u16, to: u16, units: f64) {
        self.have[usize::from(from)] -= units;
        self.have[usize::from(to)] += units;
    }
}

impl<P: Port> Core<P> {
    /// Everything that is to be done now, most urgent first. `cramped`: something that must move found no room; then nothing is
    /// moved for evenness alone, which could go to and fro for ever.
    pub(crate) fn plan(&self, cramped: bool) -> VecDeque<Planned> {
        let mut plan = VecDeque::new();
        for file in self.files.values() {
            for extent in 0..file.extents() {
                let pointers = file.pointers_of(extent);
                let live = |p: &Pointer| self.disks.get(&p.disk).and_then(Disk::live).is_some();
                for (copy, _) in pointers.iter().enumerate().filter(|(_, p)| p.stale && live(p)) {
                    let file = file.number;
                    plan.push_back(Planned {
                        file,
                        extent,
                        copy,
                        to: None,
                    });
                }
            }
        }
        if self.root.rebalance {
            let (mut totals, mut shares) = (vec![0.0; 64], vec![0.0; 64]);
            for file in self.files.values() {
                let mut lay = self.lay(file);
                self.plan_needed(&mut lay, &mut plan);
                if !cramped {
                    self.plan_even(&mut lay, &mut plan);
                }
                (0..64).for_each(|d| totals[d] += lay.have[d]);
                (0..64).for_each(|d| shares[d] += lay.share[d]);
            }
            if !cramped {
                self.plan_together(&totals, &shares, &mut plan);
            }
        }
        plan
    }

    fn lay<'a>(&self, file: &'a File) -> Lay<'a> {
        let have: Vec<f64> = file.load.iter().map(|l| l[0] as f64).collect();
        let open: BTreeMap<u16, f64> = self
            .disks
            .values()
            .filter(|d| d.takes_new())
            .map(|d| (d.number, f64::from(d.space.total())))
            .collect();
        let (all, room): (f64, f64) = (have.iter().sum(), open.values().sum());
        let share = (0..64)
            .map(|d| open.get(&d).map_or(0.0, |size| all * size / room))
            .collect();
        Lay {
            file,
            have,
            share,
            planned: BTreeSet::new(),
        }
    }

    /// Whether a copy of an extent may lie on a disk, given where the others are.
    fn may_lie(&self, pointers: &[Pointer], copy: usize, to: u16) -> bool {
        let Some(disk) = self.disks.get(&to) else {
            return false;
        };
        pointers.iter().enumerate().all(|(nth, other)| {
            let Some(there) = self.disks.get(&other.disk) else {
                return true;
            };
            let apart = there.number != to && there.failure_group != disk.failure_group;
            let partners = nth.min(copy) > 0 || there.partners & disk.bit() != 0 || there.dropping;
            nth == copy || (apart && partners)
        })
    }

    /// Copies that cannot stay where they are.
    fn plan_needed(&self, lay: &mut Lay<'_>, plan: &mut VecDeque<Planned>) {
        for extent in 0..lay.file.extents() {
            let mut pointers = lay.file.pointers_of(extent).to_vec();
            let units = f64::from(self.geometry.extent_units(extent));
            for copy in 0..pointers.len() {
                let here = pointers[copy].disk;
                let leaving = self.disks.get(&here).is_none_or(|d| d.dropping);
                if !leaving && (copy == 0 || self.may_lie(&pointers, copy, here)) {
                    continue;
                }
                let open = self.disks.values().filter(|d| d.takes_new() && d.number != here);
                let fit = open.filter(|d| self.may_lie(&pointers, copy, d.number));
                let best = fit.min_by(|a, b| {
                    let key = |d: &Disk| lay.surplus(d.number) / f64::from(d.space.total());
                    key(a).total_cmp(&key(b))
                });
                if let Some(to) = best.map(|d| d.number) {
                    lay.shift(here, to, units);
                    lay.planned.insert(extent);
                    pointers[copy].disk = to;
                    let file = lay.file.number;
                    plan.push_back(Planned {
                        file,
                        extent,
                        copy,
                        to: Some(to),
                    });
                }
            }
        }
    }

    /// Moves that bring the disks of one file nearer to their shares.
    fn plan_even(&self, lay: &mut Lay<'_>, plan: &mut VecDeque<Planned>) {
        let mut lists: Vec<Vec<(u32, usize)>> = vec![Vec::new(); 64];
        for extent in (0..lay.file.extents()).filter(|e| !lay.planned.contains(e)) {
            for (copy, pointer) in lay.file.pointers_of(extent).iter().enumerate() {
                lists[usize::from(pointer.disk)].push((extent, copy));
            }
        }
        // In an order that is spread over the file, so that what moves is not one stretch of it.
        for list in &mut lists {
            list.sort_by_key(|(extent, copy)| (extent.wrapping_mul(0x9E37_79B1), *copy));
        }
        let mut open: Vec<u16> = self
            .disks
            .values()
            .filter(|d| d.takes_new())
            .map(|d| d.number)
            .collect();
        while let Some(&from) = open.iter().max_by(|a, b| lay.surplus(**a).total_cmp(&lay.surplus(**b))) {
            let mut to: Vec<u16> = self
                .disks
                .values()
                .filter(|d| d.takes_new())
                .map(|d| d.number)
                .collect();
            to.sort_by(|a, b| lay.surplus(*a).total_cmp(&lay.surplus(*b)));
            match self.one_move(lay, &mut lists[usize::from(from)], from, &to) {
                Some(planned) => plan.push_back(planned),
                None => open.retain(|d| *d != from),
            }
        }
    }

    fn one_move(&self, lay: &mut Lay<'_>, list: &mut Vec<(u32, usize)>, from: u16, to: &[u16]) -> Option<Planned> {
        for nth in (0..list.len()).rev() {
            let (extent, copy) = list[nth];
            let units = f64::from(self.geometry.extent_units(extent));
            let pointers = lay.file.pointers_of(extent);
            let worth = |t: &&u16| lay.surplus(from) - lay.surplus(**t) >= 2.0 * units;
            if lay.planned.contains(&extent) {
                continue;
            }
            let best = to.iter().take_while(worth).find(|t| self.may_lie(pointers, copy, **t));
            if let Some(&to) = best {
                list.remove(nth);
                lay.planned.insert(extent);
                lay.shift(from, to, units);
                let file = lay.file.number;
                return Some(Planned {
                    file,
                    extent,
                    copy,
                    to: Some(to),
                });
            }
        }
        None
    }

    /// Files of a few extents are each as even as they can be, and all of them together need not be.
    fn plan_together(&self, totals: &[f64], shares: &[f64], plan: &mut VecDeque<Planned>) {
        let mut surplus: Vec<f64> = totals.iter().zip(shares).map(|(t, s)| t - s).collect();
        let planned: BTreeSet<(u32, u32)> = plan.iter().map(|p| (p.file, p.extent)).collect();
        for file in self.files.values() {
            let mut lay = self.lay(file);
            for p in plan.iter().filter(|p| p.file == file.number) {
                if let Some(to) = p.to {
                    let units = f64::from(self.geometry.extent_units(p.extent));
                    lay.shift(file.pointers_of(p.extent)[p.copy].disk, to, units);
                }
            }
            for extent in (0..file.extents()).filter(|&e| !planned.contains(&(file.number, e))) {
                let units = f64::from(self.geometry.extent_units(extent));
                let pointers = file.pointers_of(extent);
                for (copy, pointer) in pointers.iter().enumerate() {
                    let from = pointer.disk;
                    let stays = lay.have[usize::from(from)] - units < lay.share[usize::from(from)].floor();
                    if stays || lay.planned.contains(&extent) {
                        continue;
                    }
                    let fit = self
                        .disks
                        .values()
                        .filter(|d| d.takes_new())
                        .map(|d| d.number)
                        .filter(|&to| {
                            let (more, less) = (surplus[usize::from(from)], surplus[usize::from(to)]);
                            let apart = more > 0.0 && less < 0.0 && more - less >= 4.0 * units;
                            let even = lay.have[usize::from(to)] + units <= lay.share[usize::from(to)].ceil();
                            apart && even && self.may_lie(pointers, copy, to)
                        });
                    let best = fit.min_by(|a, b| surplus[usize::from(*a)].total_cmp(&surplus[usize::from(*b)]));
                    if let Some(to) = best {
                        lay.shift(from, to, units);
                        lay.planned.insert(extent);
                        surplus[usize::from(from)] -= units;
                        surplus[usize::from(to)] += units;
                        let file = file.number;
                        plan.push_back(Planned {
                            file,
                            extent,
                            copy,
                            to: Some(to),
                        });
                    }
                }
            }
        }
    }

    /// Bytes of what is planned.
    pub(crate) fn planned_bytes(&self, plan: &VecDeque<Planned>) -> u64 {
        let units: u64 = plan
            .iter()
            .map(|p| u64::from(self.geometry.extent_units(p.extent)))
            .sum();
        units * self.au()
    }

    /// Begins up to `most` pieces of work: their extents are held from the next epoch on. Also says whether one found no room.
    pub(crate) fn start_jobs(&mut self, most: usize, plan: &mut VecDeque<Planned>) -> (Vec<Job>, bool) {
        let (mut jobs, mut cramped) = (Vec::new(), false);
        while jobs.len() < most
            && let Some((number, unit)) = self.board.take_suspect()
        {
            jobs.extend(self.start_mend(number, unit));
        }
        while jobs.len() < most
            && let Some(planned) = plan.pop_front()
        {
            cramped |= self.is_cramped(&planned);
            jobs.extend(self.start_copy(planned));
        }
        for job in &jobs {
            self.publish(job.file, job.extent);
        }
        (jobs, cramped)
    }

    /// Whether the disk that a planned move goes to has no room for it.
    fn is_cramped(&mut self, planned: &Planned) -> bool {
        let units = self.geometry.extent_units(planned.extent);
        let to = planned.to.and_then(|to| self.disks.get_mut(&to));
        to.is_some_and(|disk| disk.space.find(units).is_none())
    }

    fn start_mend(&mut self, number: u32, unit: u64) -> Option<Job> {
        let file = self.files.get(&number)?;
        let (extent, _) = self.geometry.extent_of(unit, file.fine);
        let fit = extent < file.extents() && file.copies > 1 && !self.held.contains(&(number, extent));
        if !fit {
            return None;
        }
        self.held.insert((number, extent));
        Some(Job {
            file: number,
            extent,
            units: self.geometry.extent_units(extent),
            kind: Kind::Mend,
            sources: Vec::new(),
            failed: false,
        })
    }

    fn start_copy(&mut self, planned: Planned) -> Option<Job> {
        let Planned {
            file: number,
            extent,
            copy,
            to,
        } = planned;
        let file = self.files.get(&number)?;
        if extent >= file.extents() || self.held.contains(&(number, extent)) {
            return None;
        }
        let pointers = file.pointers_of(extent).to_vec();
        let from = pointers[copy];
        let units = self.geometry.extent_units(extent);
        let mut sources: Vec<Pointer> = pointers.iter().filter(|p| self.readable(p)).copied().collect();
        sources.sort_by_key(|p| p.disk != from.disk);
        let place = match to {
            None if !from.stale => return None,
            None => from,
            Some(disk) if disk == from.disk || !self.may_lie(&pointers, copy, disk) => return None,
            Some(disk) => {
                let there = self.disks.get_mut(&disk).filter(|d| d.takes_new())?;
                let au = there.space.find(units)?;
                assert!(there.space.take(au, units, Owner::LIMBO), "found free and not free");
                Pointer { disk, au, stale: false }
            }
        };
        self.held.insert((number, extent));
        Some(Job {
            file: number,
            extent,
            units,
            kind: Kind::Copy {
                copy,
                from,
                to: Pointer { stale: false, ..place },
            },
            failed: sources.is_empty(),
            sources,
        })
    }

    /// Records what was copied and lets the extents go. Gives the units that are free once the next epoch is reached.
    pub(crate) fn finish_jobs(&mut self, jobs: &[Job]) -> Result<Vec<Limbo>, GroupError> {
        let mut freed = Vec::new();
        for part in jobs.chunks(self.change_limit() / 8) {
            let mut change = self.begin()?;
            for job in part {
                if let Kind::Copy { copy, from, to } = job.kind {
                    self.finish_copy(job, copy, from, to, &mut change, &mut freed);
                }
            }
            self.commit(change)?;
        }
        let mut mended = BTreeSet::new();
        for job in jobs.iter().filter(|j| j.kind == Kind::Mend) {
            if self.files.get(&job.file).is_some_and(|f| job.extent < f.extents()) {
                let (_, disks) = self.compare(job.file, job.extent, true)?;
                mended.extend(disks);
            }
        }
        for disk in &mended {
            self.board.read_faults[usize::from(*disk)].store(0, std::sync::atomic::Ordering::Relaxed);
        }
        self.flush_disks(&mended.into_iter().collect::<Vec<_>>())?;
        for job in jobs {
            self.held.remove(&(job.file, job.extent));
            let gone = (job.file, job.extent);
            let (theirs, others) = std::mem::take(&mut self.orphans)
                .into_iter()
                .partition(|o| (o.0, o.1) == gone);
            self.orphans = others;
            let theirs: Vec<(u32, u32, u16, u32, u32)> = theirs;
            for (_, _, disk, au, units) in theirs {
                if let Some(disk) = self.disks.get_mut(&disk) {
                    disk.space.release(au, units);
                }
            }
            if self.files.get(&job.file).is_some_and(|f| job.extent < f.extents()) {
                self.publish(job.file, job.extent);
            }
        }
        self.settle_trouble()?;
        let epoch = self.board.advance();
        Ok(freed
            .into_iter()
            .map(|(disk, au, units)| (epoch, disk, au, units))
            .collect())
    }

    fn finish_copy(
        &mut self,
        job: &Job,
        copy: usize,
        from: Pointer,
        to: Pointer,
        change: &mut crate::core::Change,
        freed: &mut Vec<(u16, u32, u32)>,
    ) {
        let moved = (from.disk, from.au) != (to.disk, to.au);
        let there = self.disks.get(&to.disk).and_then(Disk::live).is_some();
        let file = self.files.get_mut(&job.file).filter(|f| job.extent < f.extents());
        let file = file.filter(|f| there && !job.failed && f.pointers_of(job.extent)[copy] == from);
        let Some(file) = file else {
            if moved && let Some(disk) = self.disks.get_mut(&to.disk) {
                disk.space.release(to.au, job.units);
            }
            return;
        };
        file.pointers_of_mut(job.extent)[copy] = to;
        change.touch(Address::Meta(file.leaf_of(job.extent).block));
        if !moved {
            return;
        }
        count(&mut file.load, from.disk, copy, -i64::from(job.units));
        count(&mut file.load, to.disk, copy, i64::from(job.units));
        for (pointer, owner) in [(from, Owner::LIMBO), (to, Owner::new(job.file, job.extent, copy))] {
            if let Some(disk) = self.disks.get_mut(&pointer.disk) {
                disk.space.hand_over(pointer.au, job.units, owner);
                change.touch_units(pointer.disk, pointer.au, job.units);
            }
        }
        if Planted::FreedTooEarly.on() {
            if let Some(disk) = self.disks.get_mut(&from.disk) {
                disk.space.release(from.au, job.units);
            }
        } else {
            freed.push((from.disk, from.au, job.units));
        }
    }

    /// When nothing is left to move: empties dropped disks of metadata, releases them, ends the rebalance. True when it has ended.
    pub(crate) fn finish_rebalance(&mut self) -> Result<bool, GroupError> {
        if !self.root.rebalance {
            return Ok(true);
        }
        let leaving: Vec<u16> = self.disks.values().filter(|d| d.dropping).map(|d| d.number).collect();
        for extent in 0..self.root.extents.len() {
            for copy in 0..self.root.extents[extent].len() {
                if leaving.contains(&self.root.extents[extent][copy].disk) && !self.move_meta(extent, copy)? {
                    return Ok(false);
                }
            }
        }
        for number in leaving {
            if !self.release(number)? {
                return Ok(false);
            }
        }
        let mut change = self.begin()?;
        self.root.rebalance = false;
        change.touch(Address::Root);
        self.commit(change)?;
        Ok(true)
    }

    /// Moves a copy of an extent of the metadata file; no port reads it, so nobody has to wait. False when there is no place.
    fn move_meta(&mut self, extent: usize, copy: usize) -> Result<bool, GroupError> {
        // All homes first: what is in the journal for this extent must not be written to either place in between.
        self.checkpoint()?;
        let old = self.root.extents[extent][copy];
        let others: Vec<String> = self.root.extents[extent]
            .iter()
            .enumerate()
            .filter(|(nth, _)| *nth != copy)
            .filter_map(|(_, p)| self.disks.get(&p.disk).map(|d| d.failure_group.clone()))
            .collect();
        let fit = |d: &&Disk| d.takes_new() && !others.contains(&d.failure_group);
        let Some(number) = self
            .disks
            .values()
            .filter(fit)
            .max_by_key(|d| d.space.free())
            .map(|d| d.number)
        else {
            return Ok(false);
        };
        let Some(au) = self.disks.get_mut(&number).and_then(|d| d.space.find(1)) else {
            return Ok(false);
        };
        self.take(number, au, 1, Owner::new(META_FILE, extent as u32, copy));
        let mut change = self.begin()?;
        self.root.extents[extent][copy] = Pointer {
            disk: number,
            au,
            stale: false,
        };
        let first = extent as u32 * self.meta_blocks();
        let mut used = BTreeSet::new();
        let blocks: Vec<Address> = (first..first + self.meta_blocks()).map(Address::Meta).collect();
        for part in blocks.chunks(64) {
            self.write_homes(part, &mut used)?;
        }
        self.flush_disks(&[number])?;
        if self.trouble.contains(&number) {
            self.root.extents[extent][copy] = old;
            if let Some(disk) = self.disks.get_mut(&number) {
                disk.space.release(au, 1);
            }
            self.settle_trouble()?;
            return Ok(false);
        }
        change.touch(Address::Root);
        change.touch_units(number, au, 1);
        change.touch_units(old.disk, old.au, 1);
        if let Some(disk) = self.disks.get_mut(&old.disk) {
            disk.space.release(old.au, 1);
        }
        self.commit(change)?;
        Ok(true)
    }

    /// Units with a stale copy, per disk.
    pub(crate) fn stale_units(&self) -> Vec<u64> {
        let mut stale = vec![0; usize::from(crate::header::DISKS_MAX)];
        for file in self.files.values() {
            for extent in 0..file.extents() {
                for pointer in file.pointers_of(extent).iter().filter(|p| p.stale) {
                    stale[usize::from(pointer.disk)] += u64::from(self.geometry.extent_units(extent));
                }
            }
        }
        stale
    }

    /// Leaves with suspected extents: their copies may differ.
    pub(crate) fn suspect_leaves(&self) -> BTreeSet<(u32, u32)> {
        let suspects = self.board.suspects().into_iter().filter_map(|(number, unit)| {
            let fine = self.files.get(&number)?.fine;
            Some((number, self.geometry.extent_of(unit, fine).0))
        });
        let all = suspects.chain(self.held.iter().copied());
        let leaves = all.map(|(number, extent)| (number, extent / crate::file::LEAF_EXTENTS));
        let unsure = self.files.values().filter(|f| f.unsure);
        let theirs = unsure.flat_map(|f| (0..f.leaves.len() as u32).map(|leaf| (f.number, leaf)));
        leaves.chain(theirs).collect()
    }
}
