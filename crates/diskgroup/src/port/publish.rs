//! From the state of the metadata to the words that ports see.
//!
//! Prevents: a port that reads a stale copy, or writes to one of two copies.

use crate::layout::disk::Disk;
use crate::layout::file::{LEAF_EXTENTS, Pointer};
use crate::metadata::core::Core;
use crate::planted::Planted;
use crate::port::map::{Entry, FileMap};
use crate::sharing::notice::Told;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use targets::Port;

impl<P: Port> Core<P> {
    /// Whether a copy may be read.
    pub(crate) fn readable(&self, pointer: &Pointer) -> bool {
        let stale = pointer.stale && !Planted::StaleCopyRead.on();
        !stale && self.disks.get(&pointer.disk).and_then(Disk::live).is_some()
    }

    fn word(&self, pointer: &Pointer, place: u32) -> Entry {
        let disk = self.disks.get(&pointer.disk);
        let slot = disk.and_then(Disk::live);
        let mut flags = 0;
        if !self.readable(pointer) {
            flags |= Entry::UNREADABLE;
        }
        if slot.is_none() || pointer.stale {
            flags |= Entry::UNWRITABLE;
        }
        if pointer.stale {
            flags |= Entry::MARKED;
        }
        let au = pointer.au + place;
        Entry::new(au, slot.map_or(0, |s| s.0), pointer.disk, flags)
    }

    /// The copy to read: of the preferred failure group, or the first.
    fn reader(&self, pointers: &[Pointer]) -> usize {
        let readable = |p: &Pointer| self.readable(p);
        let wanted = |p: &Pointer| {
            let group = self.disks.get(&p.disk).map(|d| &d.failure_group);
            group.is_some() && group == self.preferred.as_ref()
        };
        let preferred = pointers.iter().position(|p| readable(p) && wanted(p));
        preferred.or_else(|| pointers.iter().position(readable)).unwrap_or(0)
    }

    /// Publishes one extent. Words of the first copy come last: who sees them without [`Entry::HELD`] sees the others
    /// as they are now.
    pub(crate) fn publish(&self, number: u32, extent: u32) {
        let Some(file) = self.files.get(&number) else {
            return;
        };
        let pointers = file.pointers_of(extent);
        let reader = self.reader(pointers);
        let mut first = 0;
        if self.held.contains(&(number, extent)) && !Planted::MoveUnguarded.on() {
            first |= Entry::HELD;
        }
        let dirty = file.leaves[(extent / LEAF_EXTENTS) as usize].dirty;
        let mut changed = false;
        if file.copies > 1 && !dirty && !Planted::IntentLeftOut.on() {
            first |= Entry::CLEAN;
        }
        for place in 0..self.geometry.extent_units(extent) {
            let unit = self.geometry.unit_of(extent, place, file.fine) as usize;
            if unit >= file.map.units() {
                break;
            }
            for (copy, pointer) in pointers.iter().enumerate().rev() {
                let mut word = self.word(pointer, place).0;
                if copy == reader {
                    file.map.reads[unit].store(word, Ordering::Release);
                }
                word |= if copy == 0 { first } else { 0 };
                let was = file.map.writes[unit * file.copies + copy].swap(word, Ordering::AcqRel);
                changed |= was != word;
            }
        }
        let slot = self.disks.get(&pointers[0].disk).and_then(Disk::live);
        if let (true, Some(slot)) = (changed && file.copies == 1, slot) {
            self.board.note(Told {
                file: number,
                extent,
                disk: pointers[0].disk,
                slot: slot.0,
                au: pointers[0].au,
                held: self.held.contains(&(number, extent)),
            });
        }
    }

    /// Publishes a whole file.
    pub(crate) fn publish_all(&mut self, number: u32) {
        self.publish_from(number, 0);
    }

    /// Publishes the extents from one on; all of them, in a larger map, when the file has outgrown the one it has.
    pub(crate) fn publish_from(&mut self, number: u32, first: u32) {
        let Some(file) = self.files.get_mut(&number) else {
            return;
        };
        let extents = file.extents();
        let units = self.geometry.units(extents, file.fine) as usize;
        let grown = units > file.map.units();
        if grown {
            let larger = Arc::new(file.map.larger(units + units / 4 + 64));
            file.outgrown.push(std::mem::replace(&mut file.map, larger));
        }
        let map = file.map.clone();
        for extent in if grown { 0 } else { first }..extents {
            self.publish(number, extent);
        }
        self.board.set_map(map);
        if grown {
            // What is published from here on is in the larger map alone: a port with the old one would wait for ever.
            self.board.advance();
        }
    }

    /// Publishes the extents of one leaf.
    pub(crate) fn publish_leaf(&self, number: u32, leaf: u32) {
        let extents = self.files.get(&number).map_or(0, crate::layout::file::File::extents);
        for extent in leaf * LEAF_EXTENTS..extents.min((leaf + 1) * LEAF_EXTENTS) {
            self.publish(number, extent);
        }
    }

    /// Publishes all files.
    pub(crate) fn publish_everything(&mut self) {
        for disk in self.disks.values() {
            let slot = disk.slot.map_or(u32::MAX, |s| u32::from(s.0));
            self.board.slots[usize::from(disk.number)].store(slot, Ordering::Release);
        }
        let numbers: Vec<u32> = self.files.keys().copied().collect();
        for number in numbers {
            self.publish_all(number);
        }
    }

    pub(crate) fn publish_nothing(&self, map: &FileMap, unit: u64) {
        let unit = unit as usize;
        map.reads[unit].store(Entry::NONE.0, Ordering::Release);
        for copy in 0..map.copies {
            map.writes[unit * map.copies + copy].store(Entry::NONE.0, Ordering::Release);
        }
    }

    /// Count of the last write to an extent, and the file's count of writes flushed on a disk.
    pub(crate) fn touched(&self, number: u32, extent: u32) -> u64 {
        let Some(file) = self.files.get(&number) else {
            return 0;
        };
        let units = 0..self.geometry.extent_units(extent);
        let of = |map: &Arc<FileMap>| {
            let words = units.clone().map(|place| {
                let unit = self.geometry.unit_of(extent, place, file.fine) as usize;
                map.touched.get(unit).map_or(0, |word| word.load(Ordering::SeqCst))
            });
            words.max().unwrap_or(0)
        };
        std::iter::once(&file.map)
            .chain(&file.outgrown)
            .map(of)
            .max()
            .unwrap_or(0)
    }
}
