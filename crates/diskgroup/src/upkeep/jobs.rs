//! Pieces of work of the upkeep: how one begins, and how what was copied is recorded.
//!
//! Prevents: a copy recorded for an extent that has become another one meanwhile.

use crate::error::GroupError;
use crate::layout::block::Address;
use crate::layout::disk::Disk;
use crate::layout::file::Pointer;
use crate::metadata::core::{Change, Core, Homes, Limbo, bits};
use crate::metadata::files::count;
use crate::metadata::space::{META_FILE, Orphan, Owner, Run};
use crate::planted::Planted;
use crate::upkeep::plan::{Plan, Planned};
use crate::upkeep::repair::Reach;
use std::collections::BTreeSet;
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

impl<P: Port> Core<P> {
    /// Begins up to `most` pieces of work: their extents are held from the next epoch on. Also says whether one found
    /// no room.
    pub(crate) fn start_jobs(&mut self, most: usize, plan: &mut Plan) -> (Vec<Job>, bool) {
        let (mut jobs, mut cramped) = (Vec::new(), false);
        let mut elsewhere = Vec::new();
        while jobs.len() < most
            && let Some((number, unit)) = self.board.take_suspect()
        {
            let mine: Vec<(u32, u32)> = jobs.iter().map(|j: &Job| (j.file, j.extent)).collect();
            match self.start_mend(number, unit) {
                Some(job) => jobs.push(job),
                None if self.is_held_by_another(number, unit, &mine) => elsewhere.push((number, unit)),
                None => {}
            }
        }
        // Another copies them now; who forgets them has copies that differ and nothing that says so.
        elsewhere.iter().for_each(|s| self.board.suspect(s.0, s.1));
        let mut later = Vec::new();
        while jobs.len() < most
            && let Some(planned) = plan.pop()
        {
            if planned.to.is_none() && self.held.contains(&(planned.file, planned.extent)) {
                later.push(planned);
                continue;
            }
            cramped |= self.is_cramped(&planned);
            jobs.extend(self.start_copy(planned));
        }
        // A stale copy of an extent that is being mended is still stale afterwards.
        later.into_iter().for_each(|planned| plan.push(planned));
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

    fn is_held_by_another(&self, number: u32, unit: u64, mine: &[(u32, u32)]) -> bool {
        let Some(file) = self.files.get(&number) else {
            return false;
        };
        let place = (number, self.geometry.extent_of(unit, file.fine).0);
        self.held.contains(&place) && !mine.contains(&place)
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
                self.finish_copy(job, &mut change, &mut freed);
            }
            self.commit(change)?;
        }
        self.mend(jobs)?;
        for job in jobs {
            self.held.remove(&(job.file, job.extent));
            let gone = (job.file, job.extent);
            let (theirs, others) = std::mem::take(&mut self.orphans)
                .into_iter()
                .partition(|o| (o.file, o.extent) == gone);
            self.orphans = others;
            let theirs: Vec<Orphan> = theirs;
            for Run { disk, au, units } in theirs.iter().map(|orphan| orphan.run) {
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
        Ok(freed.into_iter().map(|run| Limbo { epoch, run }).collect())
    }

    /// Compares the extents of jobs that are to mend, and writes bad copies again.
    fn mend(&mut self, jobs: &[Job]) -> Result<(), GroupError> {
        let (faults, mut repairs) = (self.board.faults(), Vec::new());
        for job in jobs.iter().filter(|j| j.kind == Kind::Mend) {
            if self.files.get(&job.file).is_some_and(|f| job.extent < f.extents()) {
                repairs.push(self.compare(job.file, job.extent, true)?.1);
            }
        }
        let unflushed = self.conclude_repairs(&repairs, Reach::Written, 0, faults)?;
        let bad = repairs.iter().fold(unflushed, |all, r| all | r.refused);
        let written = repairs.iter().fold(0, |all, r| all | r.written);
        for disk in bits(written & !bad) {
            self.board.read_faults[usize::from(disk)].store(0, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }

    fn finish_copy(&mut self, job: &Job, change: &mut Change, freed: &mut Vec<Run>) {
        let Kind::Copy { copy, from, to } = job.kind else {
            return;
        };
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
            freed.push(Run {
                disk: from.disk,
                au: from.au,
                units: job.units,
            });
        }
    }

    /// When nothing is left to move: empties dropped disks of metadata, releases them, ends the rebalance. True when it
    /// has ended.
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
        self.settle_trouble()?;
        Ok(true)
    }

    /// Moves a copy of an extent of the metadata file; no port reads it, so nobody has to wait. False when there is no
    /// place.
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
        let (faults, mut homes) = (self.board.faults(), Homes::default());
        let blocks: Vec<Address> = (first..first + self.meta_blocks()).map(Address::Meta).collect();
        for part in blocks.chunks(64) {
            self.write_homes(part, &mut homes)?;
        }
        self.flush_disks(&[number], faults)?;
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
        let mut stale = vec![0; usize::from(crate::layout::header::DISKS_MAX)];
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
        let all = all.chain(self.unequal.iter().copied());
        let leaves = all.map(|(number, extent)| (number, extent / crate::layout::file::LEAF_EXTENTS));
        let unsure = self.files.values().filter(|f| f.unsure);
        let theirs = unsure.flat_map(|f| (0..f.leaves.len() as u32).map(|leaf| (f.number, leaf)));
        leaves.chain(theirs).collect()
    }
}
