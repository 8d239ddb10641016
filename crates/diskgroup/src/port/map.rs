//! What the ports see of a file: for each unit where to read and where to write, as words that change in place.
//!
//! The owner of the metadata writes entries, every port reads them; an entry is one word, so no port ever sees half of
//! one. Which requests may still act on an old entry is known through the epochs of [`crate::port::board`]. Prevents: a
//! lock, a hash or an allocation per I/O.

use crate::layout::block::BLOCK;
use crate::layout::header::DISKS_MAX;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A word of a map: where a unit lies on a disk, or why not.
///
/// | bits | what |
/// | --- | --- |
/// | 0..32 | allocation unit of the disk |
/// | 32..40 | file of the port below |
/// | 40..48 | number of the disk |
/// | 48.. | flags |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry(pub(crate) u64);

impl Entry {
    /// Not to be read: the disk is offline or the copy stale.
    pub(crate) const UNREADABLE: u64 = 1 << 48;
    /// Not to be written.
    pub(crate) const UNWRITABLE: u64 = 1 << 49;
    /// Unwritable, and the journal says that this copy is stale.
    pub(crate) const MARKED: u64 = 1 << 50;
    /// (First copy.) The unit is being copied: writes wait.
    pub(crate) const HELD: u64 = 1 << 51;
    /// (First copy.) The region is not recorded as being written.
    pub(crate) const CLEAN: u64 = 1 << 52;
    /// No unit.
    pub(crate) const NONE: Entry = Entry(Entry::UNREADABLE | Entry::UNWRITABLE);

    pub(crate) fn new(au: u32, slot: u16, disk: u16, flags: u64) -> Entry {
        Entry(u64::from(au) | u64::from(slot as u8) << 32 | u64::from(disk) << 40 | flags)
    }
    #[inline]
    pub(crate) fn au(self) -> u64 {
        self.0 & 0xffff_ffff
    }
    #[inline]
    pub(crate) fn slot(self) -> u16 {
        (self.0 >> 32) as u16 & 0xff
    }
    #[inline]
    pub(crate) fn disk(self) -> u16 {
        (self.0 >> 40) as u16 & 0xff
    }
    #[inline]
    pub(crate) fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

/// The map of one file.
pub(crate) struct FileMap {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) copies: usize,
    pub(crate) fine: bool,
    /// Bytes that I/O may go to: the length in whole blocks. Behind the length are zeros.
    pub(crate) size: AtomicU64,
    /// Bytes of the file.
    pub(crate) length: AtomicU64,
    /// The copy to read, for each unit.
    pub(crate) reads: std::sync::Arc<[AtomicU64]>,
    /// All copies in fixed order, for each unit.
    pub(crate) writes: Vec<AtomicU64>,
    /// Count of the file's writes when the unit was last written.
    pub(crate) touched: Vec<AtomicU64>,
    pub(crate) marks: std::sync::Arc<Marks>,
}

/// What has been written and flushed of a file. Counts are those of the file's writes, from 1.
pub(crate) struct Marks {
    /// Writes completed.
    pub(crate) clock: AtomicU64,
    /// Count of the last write to each disk.
    pub(crate) written: Vec<AtomicU64>,
    /// All writes up to this count are durable on the disk, as far as its flushes said.
    pub(crate) flushed: Vec<AtomicU64>,
    /// The same, as of a moment when no other flush of the disk was under way that could still fail.
    pub(crate) certain: Vec<AtomicU64>,
    /// A flush failed, and no other copy has what it should have covered: no flush of the file can be believed any
    /// more.
    pub(crate) failed: AtomicBool,
}

fn words(n: usize, of: u64) -> Vec<AtomicU64> {
    (0..n).map(|_| AtomicU64::new(of)).collect()
}

impl Marks {
    pub(crate) fn new() -> Marks {
        Marks {
            clock: AtomicU64::new(0),
            written: words(usize::from(DISKS_MAX), 0),
            flushed: words(usize::from(DISKS_MAX), 0),
            certain: words(usize::from(DISKS_MAX), 0),
            failed: AtomicBool::new(false),
        }
    }

    /// All writes up to this count are durable on the disk beyond doubt.
    pub(crate) fn settle(&self, disk: u16, count: u64) {
        self.flushed[usize::from(disk)].fetch_max(count, Ordering::SeqCst);
        self.certain[usize::from(disk)].fetch_max(count, Ordering::SeqCst);
    }

    /// The count up to which nothing can be missing on a disk; `None` when the disk has no writes beyond it.
    pub(crate) fn uncertain_from(&self, disk: u16) -> Option<u64> {
        let certain = self.certain[usize::from(disk)].load(Ordering::SeqCst);
        (self.written[usize::from(disk)].load(Ordering::SeqCst) > certain).then_some(certain)
    }

    /// Whether a disk has writes of this file that no flush has covered.
    pub(crate) fn needs_flush(&self, disk: u16) -> bool {
        let disk = usize::from(disk);
        self.written[disk].load(Ordering::Acquire) > self.flushed[disk].load(Ordering::Acquire)
    }
}

impl FileMap {
    /// A map with room for that many units, none of them there.
    pub(crate) fn new(number: u32, name: &str, copies: usize, fine: bool, units: usize) -> FileMap {
        FileMap {
            number,
            name: name.to_owned(),
            copies,
            fine,
            size: AtomicU64::new(0),
            length: AtomicU64::new(0),
            reads: words(units, Entry::NONE.0).into(),
            writes: words(units * copies, Entry::NONE.0),
            touched: words(units, 0),
            marks: std::sync::Arc::new(Marks::new()),
        }
    }

    /// A larger map with the same marks.
    pub(crate) fn larger(&self, units: usize) -> FileMap {
        let mut map = FileMap::new(self.number, &self.name, self.copies, self.fine, units);
        map.marks = self.marks.clone();
        map.set_length(self.length.load(Ordering::Acquire));
        map
    }

    pub(crate) fn set_length(&self, bytes: u64) {
        self.length.store(bytes, Ordering::Release);
        let whole = bytes.checked_next_multiple_of(BLOCK as u64);
        self.size.store(whole.unwrap_or(u64::MAX), Ordering::Release);
    }

    pub(crate) fn units(&self) -> usize {
        self.reads.len()
    }

    pub(crate) fn read_entry(&self, unit: u64) -> Entry {
        self.reads
            .get(unit as usize)
            .map_or(Entry::NONE, |word| Entry(word.load(Ordering::Relaxed)))
    }

    #[inline]
    pub(crate) fn write_entry(&self, unit: u64, copy: usize) -> Entry {
        self.writes
            .get(unit as usize * self.copies + copy)
            .map_or(Entry::NONE, |word| Entry(word.load(Ordering::Acquire)))
    }

    /// Another process had the file before and may have left writes on these disks that nobody has flushed: so the
    /// first flush here covers them, and what it covers is all of the file.
    pub(crate) fn inherit(&self, disks: impl Iterator<Item = u16>) {
        self.marks.clock.store(1, Ordering::SeqCst);
        for disk in disks {
            self.marks.written[usize::from(disk)].store(1, Ordering::SeqCst);
        }
        for unit in &self.touched {
            unit.store(1, Ordering::SeqCst);
        }
    }

    /// Records that a unit was written: its count.
    pub(crate) fn touch(&self, unit: u64, count: u64) {
        if let Some(word) = self.touched.get(unit as usize) {
            word.fetch_max(count, Ordering::SeqCst);
        }
    }
}
