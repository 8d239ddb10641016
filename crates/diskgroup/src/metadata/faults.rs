//! What the owner does when writes miss copies and disks fail: record what is stale, take disks offline.
//!
//! The rule that holds it together: before a write that missed a copy is acknowledged, the journal says that this copy
//! is stale. Prevents: a copy that missed a write and is read after the disk has come back.

use crate::error::GroupError;
use crate::layout::block::Address;
use crate::layout::disk::table_block;
use crate::layout::file::{File, LEAF_EXTENTS, Pointer};
use crate::metadata::core::{Change, Core, bits};
use crate::planted::Planted;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use targets::Port;

impl<P: Port> Core<P> {
    /// Whether an extent can do without its copy on a disk: another copy may be read.
    fn spare(&self, pointers: &[Pointer], disk: u16) -> bool {
        pointers.iter().any(|p| p.disk != disk && !p.stale && self.readable(p))
    }

    /// Records copies (file, extent, disk) as stale. Those that are the only ones left are not, and are given back.
    pub(crate) fn mark_stale(
        &mut self,
        copies: &BTreeSet<(u32, u32, u16)>,
    ) -> Result<Vec<(u32, u32, u16)>, GroupError> {
        let mut refused = Vec::new();
        let mut open: Option<Change> = None;
        let mut marked = Vec::new();
        for &(number, extent, disk) in copies {
            let Some(file) = self.files.get(&number).filter(|f| extent < f.extents()) else {
                continue;
            };
            let pointers = file.pointers_of(extent);
            let Some(copy) = pointers.iter().position(|p| p.disk == disk && !p.stale) else {
                continue;
            };
            if !self.spare(pointers, disk) {
                refused.push((number, extent, disk));
                continue;
            }
            let mut change = match open.take() {
                Some(change) => change,
                None => self.begin()?,
            };
            let file = self.files.get_mut(&number).expect("just seen");
            file.pointers_of_mut(extent)[copy].stale = true;
            change.touch(Address::Meta(file.leaf_of(extent).block));
            marked.push((number, extent));
            if change.len() >= self.change_limit() {
                self.commit(change)?;
            } else {
                open = Some(change);
            }
        }
        if let Some(change) = open {
            self.commit(change)?;
        }
        for (number, extent) in marked {
            self.publish(number, extent);
        }
        Ok(refused)
    }

    /// Prepares writes that a port holds back: their regions become dirty, copies that cannot be written stale.
    pub(crate) fn prepare_writes(&mut self, units: &[(u32, u64)]) -> Result<(), GroupError> {
        self.alive()?;
        let mut stale = BTreeSet::new();
        let mut leaves = BTreeSet::new();
        for &(number, unit) in units {
            let Some(file) = self.files.get(&number) else {
                continue;
            };
            let (extent, _) = self.geometry.extent_of(unit, file.fine);
            if extent >= file.extents() {
                continue;
            }
            for pointer in file.pointers_of(extent) {
                if self.disks.get(&pointer.disk).and_then(|d| d.live()).is_none() && !pointer.stale {
                    stale.insert((number, extent, pointer.disk));
                }
            }
            match file.leaves[(extent / LEAF_EXTENTS) as usize].dirty {
                // Growing that failed made its region dirty and published nothing: who asks would wait for ever.
                true => self.publish(number, extent),
                false => drop(leaves.insert((number, extent / LEAF_EXTENTS))),
            }
        }
        if !Planted::StaleMarkLeftOut.on() {
            self.mark_stale(&stale)?;
        } else {
            for &(number, extent, disk) in &stale {
                let file = self.files.get_mut(&number).expect("just seen");
                file.pointers_of_mut(extent)
                    .iter_mut()
                    .filter(|p| p.disk == disk)
                    .for_each(|p| p.stale = true);
                self.publish(number, extent);
            }
        }
        self.record_dirty(leaves, true)?;
        self.settle_trouble()
    }

    /// Writes (file, unit, disk) that failed although others of the same unit did not, or that went to a disk taken
    /// offline meanwhile. When it returns well, they may be acknowledged; false for those whose disk had the only copy.
    /// `torn`: units of mirrored files that no copy took, so that each may hold something else. `failing`: disks that
    /// failed a write, as bits.
    pub(crate) fn missed_writes(
        &mut self,
        missed: &[(u32, u64, u16)],
        torn: &[(u32, u64)],
        failing: u64,
    ) -> Result<Vec<bool>, GroupError> {
        self.alive()?;
        let mut copies = BTreeSet::new();
        let mut extents = Vec::new();
        for &(number, unit, disk) in missed {
            let fine = self.files.get(&number).is_some_and(|f| f.fine);
            let (extent, _) = self.geometry.extent_of(unit, fine);
            copies.insert((number, extent, disk));
            extents.push((number, extent, disk));
        }
        let refused = if Planted::StaleMarkLeftOut.on() {
            Vec::new()
        } else {
            self.mark_stale(&copies)?
        };
        self.keep_one(torn)?;
        self.trouble.extend(bits(failing));
        for &(number, unit, _) in missed {
            self.board.suspect(number, unit);
        }
        self.settle_trouble()?;
        Ok(extents.iter().map(|e| !refused.contains(e)).collect())
    }

    /// Of units that no copy took, each copy may hold something else: one of them is kept, and the others become stale,
    /// so that nobody reads this today and that tomorrow.
    fn keep_one(&mut self, torn: &[(u32, u64)]) -> Result<(), GroupError> {
        let mut others = BTreeSet::new();
        for &(number, unit) in torn {
            let Some(file) = self.files.get(&number) else {
                continue;
            };
            let (extent, _) = self.geometry.extent_of(unit, file.fine);
            if extent < file.extents() {
                let pointers = file.pointers_of(extent);
                let kept = pointers.iter().find(|p| self.readable(p)).map(|p| p.disk);
                let theirs = pointers.iter().filter(|p| Some(p.disk) != kept);
                others.extend(theirs.map(|p| (number, extent, p.disk)));
            }
        }
        self.mark_stale(&others).map(drop)
    }

    /// A flush of a port failed on a disk, which is in doubt. When it returns well, what the disk may not have is
    /// recorded as stale, or flushes of the files fail from now on that have it nowhere else.
    pub(crate) fn missed_flush(&mut self) -> Result<(), GroupError> {
        self.alive()?;
        self.settle_trouble()
    }

    /// Records as stale what a disk has taken and may not have made durable, and copies that were not known to be equal
    /// anyway. Files that have such data there alone can never be flushed again.
    fn record_doubt(&mut self, disk: u16) -> Result<(), GroupError> {
        let faults = self.board.faults();
        let copies = self.uncertain(disk);
        for (number, extent, _) in self.mark_stale(&copies)? {
            let file = &self.files[&number];
            let from = file.map.marks.uncertain_from(disk);
            if from.is_some_and(|from| self.touched(number, extent) > from) {
                file.map.marks.failed.store(true, Ordering::SeqCst);
            }
        }
        self.board.recorded(disk, faults);
        Ok(())
    }

    /// Brings everything to rest before the group is closed: data durable, regions recorded as equal, metadata at home.
    pub(crate) fn rest(&mut self) -> Result<(), GroupError> {
        let all: Vec<u16> = self.disks.keys().copied().collect();
        self.flush_disks(&all, self.board.faults())?;
        self.settle_trouble()?;
        self.clean()?;
        self.checkpoint()?;
        self.settle_trouble()?;
        let failed = |f: &&File| f.map.marks.failed.load(Ordering::SeqCst);
        match self.files.values().find(failed) {
            None => Ok(()),
            Some(file) => Err(GroupError::NotDurable {
                file: file.name.clone(),
            }),
        }
    }

    /// Copies on a disk that may lack something: written since its last good flush, or not known to be equal to the
    /// others.
    fn uncertain(&self, disk: u16) -> BTreeSet<(u32, u32, u16)> {
        let mut copies = BTreeSet::new();
        for file in self.files.values() {
            let from = file.map.marks.uncertain_from(disk);
            for extent in 0..file.extents() {
                let here = file.pointers_of(extent).iter().any(|p| p.disk == disk && !p.stale);
                let dirty = file.leaves[(extent / LEAF_EXTENTS) as usize].dirty;
                let unsure =
                    file.copies > 1 && ((file.unsure && dirty) || self.unequal.contains(&(file.number, extent)));
                let unflushed = || from.is_some_and(|from| self.touched(file.number, extent) > from);
                if here && (unsure || unflushed()) {
                    copies.insert((file.number, extent, disk));
                }
            }
        }
        copies
    }

    /// Deals with disks on which I/O of data or metadata failed: each is taken offline if the group can do without it,
    /// and otherwise gets nothing new.
    pub(crate) fn settle_trouble(&mut self) -> Result<(), GroupError> {
        loop {
            let doubtful = self
                .disks
                .values()
                .find(|d| d.online && self.board.is_doubtful(d.number));
            let Some(number) = self.trouble.pop_first().or(doubtful.map(|d| d.number)) else {
                return Ok(());
            };
            self.alive()?;
            if self.frozen {
                // Nothing here can record what the disk may lack: nobody may hear that all is well.
                self.trouble.insert(number);
                let disk = self.disk_name(number);
                return Err(GroupError::Frozen {
                    what: format!("an I/O failed on its disk {disk}"),
                });
            }
            if !self.disks.get(&number).is_some_and(|d| d.online) {
                // What it may lack was recorded when it went.
                self.board.recorded(number, self.board.faults());
                continue;
            }
            if self.can_do_without(number).is_empty() && self.redundancy > crate::Redundancy::External {
                self.take_offline(number)?;
                continue;
            }
            if let Some(disk) = self.disks.get_mut(&number) {
                disk.failing = true;
            }
            self.layout_version += 1;
            if self.board.is_doubtful(number) {
                self.record_doubt(number)?;
            }
            self.fill_holders()?;
        }
    }

    /// Files that have data on this disk alone; the metadata count as a file of their own.
    pub(crate) fn can_do_without(&self, disk: u16) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        for file in self.files.values() {
            let alone = |extent| {
                let pointers = file.pointers_of(extent);
                pointers.iter().any(|p| p.disk == disk && !p.stale) && !self.spare(pointers, disk)
            };
            if (0..file.extents()).any(alone) {
                files.insert(file.name.clone());
            }
        }
        let other = |p: &Pointer| p.disk != disk && self.readable(p);
        if self.root.extents.iter().any(|copies| !copies.iter().any(other)) {
            files.insert("(metadata)".into());
        }
        files
    }

    /// Takes a disk offline. What it may not have made durable is recorded as stale first.
    pub(crate) fn take_offline(&mut self, number: u16) -> Result<(), GroupError> {
        if let Some(disk) = self.disks.get_mut(&number) {
            disk.failing = true;
        }
        // From here on a write that ends on this disk counts as missed, and no flush passes it over before all is
        // recorded; so none falls between the two.
        self.board.doubt(number);
        self.board.offline.fetch_or(1 << number, Ordering::SeqCst);
        if !Planted::UnflushedNotStale.on() {
            self.record_doubt(number)?;
        }
        if self.journal.holders.contains(&number) {
            self.journal.holders.retain(|n| *n != number);
            self.checkpoint()?;
        }
        let mut change = self.begin()?;
        if let Some(disk) = self.disks.get_mut(&number) {
            disk.online = false;
        }
        change.touch(Address::Meta(table_block(number)));
        self.commit(change)?;
        self.board.recorded(number, self.board.faults());
        self.publish_everything();
        self.board.advance();
        Ok(())
    }
}
