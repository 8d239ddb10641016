//! What the owner does when writes miss copies and disks fail: record what is stale, take disks offline.
//!
//! The rule that holds it together: before a write that missed a copy is acknowledged, the journal says that this copy is stale.
//! Prevents: a copy that missed a write and is read after the disk has come back.

use crate::block::Address;
use crate::core::{Change, Core};
use crate::disk::table_block;
use crate::error::GroupError;
use crate::file::{LEAF_EXTENTS, Pointer};
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
            if !file.leaves[(extent / LEAF_EXTENTS) as usize].dirty {
                leaves.insert((number, extent / LEAF_EXTENTS));
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
        let all: Vec<(u32, u32)> = leaves.into_iter().collect();
        for part in all.chunks(self.change_limit()) {
            let mut change = self.begin()?;
            for &(number, leaf) in part {
                let file = self.files.get_mut(&number).expect("just seen");
                file.leaves[leaf as usize].dirty = true;
                change.touch(Address::Meta(file.leaves[leaf as usize].block));
            }
            self.commit(change)?;
            for &(number, leaf) in part {
                self.publish_leaf(number, leaf);
            }
        }
        self.settle_trouble()
    }

    /// Writes (file, unit, disk) that failed although others of the same unit did not, or that went to a disk taken offline
    /// meanwhile. When it returns well, they may be acknowledged; false for those whose disk had the only copy.
    pub(crate) fn missed_writes(&mut self, missed: &[(u32, u64, u16)]) -> Result<Vec<bool>, GroupError> {
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
        for disk in copies.iter().map(|c| c.2).collect::<BTreeSet<u16>>() {
            self.trouble.insert(disk);
        }
        for &(number, unit, _) in missed {
            self.board.suspect(number, unit);
        }
        self.settle_trouble()?;
        Ok(extents.iter().map(|e| !refused.contains(e)).collect())
    }

    /// A flush of a file failed on a disk. True when nothing is lost by that: what the disk may not have is recorded as stale.
    pub(crate) fn missed_flush(&mut self, number: u32, disk: u16) -> Result<bool, GroupError> {
        self.alive()?;
        let refused = self.unflushed_stale(disk)?;
        self.trouble.insert(disk);
        self.settle_trouble()?;
        Ok(!refused.iter().any(|r| r.0 == number))
    }

    /// Records as stale what a disk has taken and not made durable. Copies that are the only ones are given back.
    fn unflushed_stale(&mut self, disk: u16) -> Result<Vec<(u32, u32, u16)>, GroupError> {
        let mut copies = BTreeSet::new();
        for file in self.files.values() {
            let flushed = file.map.marks.flushed[usize::from(disk)].load(Ordering::SeqCst);
            for extent in 0..file.extents() {
                let here = file.pointers_of(extent).iter().any(|p| p.disk == disk && !p.stale);
                if here && (file.copies == 1 || self.touched(file.number, extent) > flushed) {
                    copies.insert((file.number, extent, disk));
                }
            }
        }
        // Of files with one copy, what was not written since the last flush is as good as before.
        copies.retain(|&(number, extent, disk)| {
            let marks = &self.files[&number].map.marks;
            self.files[&number].copies > 1 || (marks.needs_flush(disk) && self.touched(number, extent) > 0)
        });
        self.mark_stale(&copies)
    }

    /// Deals with disks on which I/O of data or metadata failed: each is taken offline if the group can do without it, and
    /// otherwise gets nothing new.
    pub(crate) fn settle_trouble(&mut self) -> Result<(), GroupError> {
        while let Some(number) = self.trouble.pop_first() {
            self.alive()?;
            if !self.disks.get(&number).is_some_and(|d| d.online) {
                continue;
            }
            if self.can_do_without(number).is_empty() && self.redundancy > crate::Redundancy::External {
                self.take_offline(number)?;
            } else if let Some(disk) = self.disks.get_mut(&number) {
                disk.failing = true;
                self.layout_version += 1;
                self.fill_holders()?;
            }
        }
        Ok(())
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
        // From here on a write that ends on this disk counts as missed; so none falls between the two.
        self.board.offline.fetch_or(1 << number, Ordering::SeqCst);
        if !Planted::UnflushedNotStale.on() {
            self.unflushed_stale(number)?;
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
        self.publish_everything();
        self.board.advance();
        Ok(())
    }
}
