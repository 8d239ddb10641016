//! LUN files, and what lies over them: writes that no flush has covered, faults, a power that can be cut.
//!
//! Takes reads, writes and flushes of LUNs from many threads at a time and moves data with direct I/O. What lies
//! unflushed goes home one write at a time, in the order of writing, and counts as unflushed until it is there; nobody
//! waits for that but flushes and writes that find no room. Prevents: a page cache between the stack and its device, a
//! flush of one LUN that holds up all others, and a write that is forgotten because storing it failed.

use super::faults::Faults;
use super::reduction::{Reduced, Reduction, ReductionSpec};
use super::unflushed::{Piece, SECTOR_BYTES, Unflushed};
use crate::error::LunError;
use fuser::Errno;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use targets::Memory;

/// Direct I/O below goes in multiples of this.
pub(super) const BLOCK: u64 = 4096;
/// A request of the kernel is at most this long.
pub(super) const WRITE_MAX: u32 = 1 << 20;
/// A block more at each end for one that is not aligned.
const BUFFER: u64 = WRITE_MAX as u64 + 2 * BLOCK;

/// A read is tried so often while writes go home beside it; then they wait.
const TRIES: usize = 4;

/// Units of a LUN share so many locks.
const UNIT_LOCKS: usize = 64;

/// What a cut has left is written in pieces of at most this many bytes.
const RUN: usize = 1 << 20;

/// Name of a LUN's file.
pub(super) fn name(nth: usize) -> String {
    format!("lun{nth}")
}

struct Lun {
    path: PathBuf,
    fd: OwnedFd,
    bytes: u64,
    /// What its own cache holds: a flush of one LUN is none of another. Never held over I/O but where a read cannot do
    /// without.
    unflushed: Mutex<Unflushed>,
    /// Whose turn it is to take a write home: taken before `unflushed`.
    homeward: Mutex<()>,
}

/// The LUN files, and what lies over them.
pub(super) struct Files {
    luns: Vec<Lun>,
    volatile_bytes: u64,
    /// Through the page cache: times are the model's, whatever the disk below does.
    cached: bool,
    pub(super) faults: Faults,
    reduction: Option<Reduction>,
    /// Whose turn it is to change a unit that is reduced, by a hash of its place; taken after `homeward`.
    units: [Mutex<()>; UNIT_LOCKS],
    buffers: Mutex<Vec<Memory>>,
    /// How often the power went off or on: it is on while this is even.
    power: AtomicU64,
    flushes: AtomicU64,
}

fn failed(error: rustix::io::Errno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

/// Repeats a transfer that gives how much it moved, from what is moved already, until all is.
fn whole(bytes: usize, mut moved_from: impl FnMut(usize) -> rustix::io::Result<usize>) -> Result<(), Errno> {
    let mut have = 0;
    while have < bytes {
        match moved_from(have) {
            Ok(0) => return Err(Errno::EIO),
            Ok(n) => have += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(())
}

fn read_all(fd: impl AsFd, from: u64, span: &mut [u8]) -> Result<(), Errno> {
    whole(span.len(), |have| {
        rustix::io::pread(&fd, &mut span[have..], from + have as u64)
    })
}

fn write_all(fd: impl AsFd, from: u64, bytes: &[u8]) -> Result<(), Errno> {
    whole(bytes.len(), |have| {
        rustix::io::pwrite(&fd, &bytes[have..], from + have as u64)
    })
}

/// What pieces leave together, the later over the earlier: runs of sectors by offset, none longer than [`RUN`].
fn runs(pieces: &[Piece]) -> Vec<(u64, Vec<u8>)> {
    let mut newest = BTreeMap::new();
    for piece in pieces {
        for (nth, sector) in piece.bytes.chunks(SECTOR_BYTES as usize).enumerate() {
            newest.insert(piece.offset + nth as u64 * SECTOR_BYTES, sector);
        }
    }
    let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
    for (at, sector) in newest {
        match runs.last_mut() {
            Some((from, run)) if *from + run.len() as u64 == at && run.len() < RUN => run.extend_from_slice(sector),
            _ => runs.push((at, sector.to_vec())),
        }
    }
    runs
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    pub(super) fn open(paths: &[PathBuf], volatile_bytes: u64, cached: bool) -> Result<Files, LunError> {
        let way = if cached { OFlags::empty() } else { OFlags::DIRECT };
        let open = |path: &PathBuf| {
            let refused = |e: rustix::io::Errno| {
                LunError::path(
                    "open",
                    path,
                    e,
                    "make the LUN file first, on a file system with direct I/O",
                )
            };
            let fd = rustix::fs::open(path, OFlags::RDWR | way | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
            let bytes = rustix::fs::fstat(&fd).map_err(refused)?.st_size as u64;
            if bytes == 0 || !bytes.is_multiple_of(BLOCK) {
                return Err(LunError::BadSize {
                    path: path.clone(),
                    bytes,
                });
            }
            Ok(Lun {
                // A descriptor's link says its name.
                path: std::fs::read_link(path).unwrap_or_else(|_| path.clone()),
                fd,
                bytes,
                unflushed: Mutex::default(),
                homeward: Mutex::default(),
            })
        };
        Ok(Files {
            luns: paths.iter().map(open).collect::<Result<_, _>>()?,
            volatile_bytes,
            cached,
            faults: Faults::default(),
            reduction: None,
            units: std::array::from_fn(|_| Mutex::default()),
            buffers: Mutex::default(),
            power: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        })
    }

    /// Counts what inline reduction keeps.
    pub(super) fn with_reduction(mut self, spec: Option<ReductionSpec>) -> Files {
        self.reduction = spec.map(Reduction::new);
        self
    }

    pub(super) fn reduced(&self) -> Option<Reduced> {
        self.reduction.as_ref().map(Reduction::reduced)
    }

    /// Locks of the units that a write changes: what is read back after it is the newest that anybody wrote there.
    fn units_of(&self, lun: u16, changed: &std::ops::Range<u64>) -> Vec<MutexGuard<'_, ()>> {
        let Some(reduction) = &self.reduction else {
            return Vec::new();
        };
        let size = reduction.unit_bytes();
        let units = changed.start / size..changed.end.div_ceil(size);
        let lock = |nth: u64| (nth as usize).wrapping_add(usize::from(lun)) % UNIT_LOCKS;
        // Each once, and in one order, so that no two writers wait for each other.
        let locks: BTreeSet<usize> = units.take(UNIT_LOCKS).map(lock).collect();
        locks.into_iter().map(|nth| locked(&self.units[nth])).collect()
    }

    /// Looks at the units that a write has changed; `around` holds what was written, from `from` on, and what lies
    /// about it.
    fn reduce(&self, lun: u16, from: u64, around: &[u8], changed: std::ops::Range<u64>) -> Result<(), Errno> {
        let Some(reduction) = &self.reduction else {
            return Ok(());
        };
        let size = reduction.unit_bytes();
        let mut unit = Vec::new();
        for nth in changed.start / size..changed.end.div_ceil(size) {
            let at = nth * size;
            let inside = at
                .checked_sub(from)
                .and_then(|skip| around.get(skip as usize..(skip + size) as usize));
            if let Some(content) = inside {
                reduction.write(lun, nth, content);
                continue;
            }
            unit.resize(size as usize, 0);
            let read = rustix::io::pread(&self.luns[usize::from(lun)].fd, &mut unit[..], at);
            reduction.write(lun, nth, &unit[..read.map_err(failed)?]);
        }
        Ok(())
    }

    /// Where the page cache is used: reads everything once, so that it lies there, unless it would not stay there; and
    /// writes home what is dirty there.
    pub(super) fn warm(&self, most_bytes: u64) -> Result<(), LunError> {
        if !self.cached {
            return Ok(());
        }
        let all: u64 = self.luns.iter().map(|lun| lun.bytes).sum();
        if all <= most_bytes {
            self.luns.iter().try_for_each(Lun::read_once)?;
        }
        // What a quick load leaves is not to be written while a phase runs.
        self.luns.iter().try_for_each(Lun::write_out)
    }

    pub(super) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }

    pub(super) fn unflushed_bytes(&self) -> u64 {
        self.luns.iter().map(|lun| locked(&lun.unflushed).bytes()).sum()
    }

    pub(super) fn buffer(&self) -> Result<Memory, Errno> {
        let kept = locked(&self.buffers).pop();
        kept.map_or_else(|| Memory::new(BUFFER, false).map_err(|_| Errno::ENOMEM), Ok)
    }

    pub(super) fn give_back(&self, buffer: Memory) {
        locked(&self.buffers).push(buffer);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.luns.len()
    }

    /// Size of one.
    pub(super) fn bytes(&self, lun: u16) -> u64 {
        self.luns[usize::from(lun)].bytes
    }

    /// A LUN that is there, and a range of it that can be used; since when it has power.
    fn usable(&self, lun: u16, offset: u64, len: usize) -> Result<u64, Errno> {
        let since = self.alive()?;
        match self.faults.fails(lun, offset, len as u64) {
            true => Err(Errno::EIO),
            false => Ok(since),
        }
    }

    /// Whether there is power, and since when.
    pub(super) fn alive(&self) -> Result<u64, Errno> {
        let power = self.power.load(Ordering::Acquire);
        if power.is_multiple_of(2) {
            Ok(power)
        } else {
            Err(Errno::EIO)
        }
    }

    /// Whether there is power and was all the time: what began before a cut must not end after it.
    fn still_alive(&self, since: u64) -> Result<(), Errno> {
        if self.alive()? == since {
            Ok(())
        } else {
            Err(Errno::EIO)
        }
    }

    /// Reads into a buffer; where in it the bytes asked for begin.
    pub(super) fn read(&self, lun: u16, offset: u64, len: usize, buffer: &mut Memory) -> Result<usize, Errno> {
        self.usable(lun, offset, len)?;
        let of = &self.luns[usize::from(lun)];
        let from = offset / BLOCK * BLOCK;
        let end = (offset + len as u64).next_multiple_of(BLOCK);
        let span = buffer.bytes_mut(0, (end - from) as usize);
        if self.volatile_bytes == 0 {
            read_all(&of.fd, from, span)?;
        } else {
            of.read_under(lun, from, span)?;
        }
        self.faults.spoil(lun, from, span);
        Ok((offset - from) as usize)
    }

    pub(super) fn write(&self, lun: u16, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let since = self.usable(lun, offset, data.len())?;
        if !offset.is_multiple_of(SECTOR_BYTES) || !(data.len() as u64).is_multiple_of(SECTOR_BYTES) {
            return Err(Errno::EINVAL);
        }
        let of = &self.luns[usize::from(lun)];
        if self.volatile_bytes == 0 {
            let whole = offset.is_multiple_of(BLOCK) && (data.len() as u64).is_multiple_of(BLOCK);
            // Two parts of one block at a time would each write back what the other has changed.
            let _turn = (!whole).then(|| locked(&of.homeward));
            self.store(lun, offset, data)?;
            self.faults.written(lun, offset, data.len() as u64);
            return Ok(());
        }
        loop {
            let mut unflushed = locked(&of.unflushed);
            // Under the lock: what comes after the cut must not be kept.
            self.still_alive(since)?;
            if unflushed.bytes() == 0 || unflushed.bytes() + data.len() as u64 <= self.volatile_bytes {
                unflushed.write(lun, offset, data);
                self.faults.written(lun, offset, data.len() as u64);
                return Ok(());
            }
            let until = unflushed.gone() + 1;
            drop(unflushed);
            self.take_home(of, until, Some(since))?;
        }
    }

    /// Writes to the LUN file.
    fn store(&self, lun: u16, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let changed = offset..offset + data.len() as u64;
        let _turn = self.units_of(lun, &changed);
        let mut buffer = self.buffer()?;
        let from = offset / BLOCK * BLOCK;
        let end = (offset + data.len() as u64).next_multiple_of(BLOCK);
        let at = (offset - from) as usize;
        let of = &self.luns[usize::from(lun)];
        let span = buffer.bytes_mut(0, (end - from) as usize);
        if span.len() != data.len() {
            // Part of a block: the rest of it is what lies there.
            read_all(&of.fd, from, span)?;
        }
        span[at..at + data.len()].copy_from_slice(data);
        write_all(&of.fd, from, span)?;
        let reduced = self.reduce(lun, from, buffer.bytes(0, (end - from) as usize), changed);
        self.give_back(buffer);
        reduced
    }

    /// Takes the oldest unflushed write home, if fewer than `until` are; whether it did. It is unflushed until it is
    /// there, and stays so when it cannot be stored. Power is looked at where it has to be there `since` a time.
    fn take_home(&self, of: &Lun, until: usize, since: Option<u64>) -> Result<bool, Errno> {
        let _turn = locked(&of.homeward);
        let unflushed = locked(&of.unflushed);
        let oldest = unflushed.oldest().filter(|_| unflushed.gone() < until);
        drop(unflushed);
        // Whoever stops the power waits for this turn: what is stored below is home before anything is lost.
        since.map_or(Ok(()), |since| self.still_alive(since))?;
        let Some(piece) = oldest else { return Ok(false) };
        // A range that fails takes nothing that was acknowledged before either; at the end all goes home.
        if since.is_some() && self.faults.fails(piece.lun, piece.offset, piece.bytes.len() as u64) {
            return Err(Errno::EIO);
        }
        self.store(piece.lun, piece.offset, &piece.bytes)?;
        locked(&of.unflushed).is_home();
        Ok(true)
    }

    pub(super) fn flush(&self, lun: u16) -> Result<(), Errno> {
        let since = self.usable(lun, 0, 0)?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        let of = &self.luns[usize::from(lun)];
        if self.volatile_bytes > 0 {
            // What comes meanwhile is not of this flush.
            let until = locked(&of.unflushed).come();
            // The power may fail in the middle: what was written by then is kept, the rest is still to be lost, and
            // nobody is told that it was done.
            while self.take_home(of, until, Some(since))? {}
            return Ok(());
        }
        if self.cached {
            return Ok(());
        }
        rustix::fs::fdatasync(&of.fd).map_err(failed)
    }

    fn failed(&self, what: &'static str, errno: Errno) -> LunError {
        let path = self.luns.first().map(|l| l.path.clone()).unwrap_or_default();
        let source = std::io::Error::from_raw_os_error(errno.code());
        LunError::path(what, &path, source, "look at the disk below (`dmesg`)")
    }

    /// From now on every request is an error.
    pub(super) fn stop_power(&self) {
        self.power.fetch_or(1, Ordering::AcqRel);
        // Whoever holds a lock looked at the power before: when all locks were had once, nobody does.
        for lun in &self.luns {
            drop(locked(&lun.homeward));
            drop(locked(&lun.unflushed));
        }
    }

    /// What lay unflushed when the power stopped is lost in part, by `seed` and by sectors of so many bytes. Bytes that
    /// lay there, and bytes lost.
    pub(super) fn lose(&self, seed: u64, sector_bytes: u32) -> Result<(u64, u64), LunError> {
        let (mut held, mut left) = (0, 0);
        for (nth, lun) in self.luns.iter().enumerate() {
            let mut unflushed = locked(&lun.unflushed);
            held += unflushed.bytes();
            let kept = unflushed.cut(seed ^ (nth as u64) << 32, sector_bytes);
            drop(unflushed);
            left += kept.iter().map(|p| p.bytes.len() as u64).sum::<u64>();
            self.put(nth as u16, &kept)
                .map_err(|e| self.failed("write what a power cut left to", e))?;
        }
        Ok((held, held - left))
    }

    /// Writes what a cut has left, thousands of single sectors among it, by offset and through the page cache: by
    /// direct I/O each sector would be a block read and written. Nothing else may use the file meanwhile.
    fn put(&self, lun: u16, pieces: &[Piece]) -> Result<(), Errno> {
        let of = &self.luns[usize::from(lun)];
        // Opened anew by its descriptor: the path may lead elsewhere by now.
        let link = format!("/proc/self/fd/{}", of.fd.as_raw_fd());
        let fd = rustix::fs::open(link, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        let runs = runs(pieces);
        for (from, run) in &runs {
            write_all(&fd, *from, run)?;
        }
        if !self.cached {
            rustix::fs::fdatasync(&fd).map_err(failed)?;
            // A file that is read past the page cache must leave nothing there.
            let _ = rustix::fs::fadvise(&fd, 0, None, rustix::fs::Advice::DontNeed);
        }
        for (from, run) in &runs {
            self.reduce(lun, *from, run, *from..*from + run.len() as u64)?;
        }
        Ok(())
    }

    pub(super) fn restore_power(&self) {
        // From off to the next on: whoever began before the cut sees that it was one.
        let _ = self.power.fetch_update(Ordering::AcqRel, Ordering::Acquire, |power| {
            (!power.is_multiple_of(2)).then_some(power + 1)
        });
    }

    /// What was not flushed is written: the device is taken away in order.
    pub(super) fn write_back(&self) -> Result<(), LunError> {
        for lun in &self.luns {
            while self
                .take_home(lun, usize::MAX, None)
                .map_err(|e| self.failed("write back what lay in the cache to", e))?
            {}
        }
        Ok(())
    }
}

impl Lun {
    fn failed(&self, what: &'static str, errno: rustix::io::Errno) -> LunError {
        LunError::path(what, &self.path, errno, "look at the disk below (`dmesg`)")
    }

    /// Reads all of it, and keeps nothing.
    fn read_once(&self) -> Result<(), LunError> {
        let mut piece = vec![0_u8; 1 << 20];
        let mut at = 0;
        loop {
            match rustix::io::pread(&self.fd, &mut piece[..], at) {
                Ok(0) => return Ok(()),
                Ok(read) => at += read as u64,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(self.failed("read", e)),
            }
        }
    }

    /// Writes out what the page cache holds of it. What could not be written the kernel says here once, and drops: a
    /// later read may find what was there before.
    fn write_out(&self) -> Result<(), LunError> {
        let written = rustix::fs::fdatasync(&self.fd);
        written.map_err(|e| self.failed("write what lay in the page cache to", e))
    }

    /// What lies below, and what is unflushed over it.
    fn read_under(&self, lun: u16, from: u64, span: &mut [u8]) -> Result<(), Errno> {
        for _ in 0..TRIES {
            let before = locked(&self.unflushed).gone();
            read_all(&self.fd, from, span)?;
            let unflushed = locked(&self.unflushed);
            // What went home meanwhile would be in neither.
            if !unflushed.went_since(before, from, span.len() as u64) {
                unflushed.lay_over(lun, from, span);
                return Ok(());
            }
        }
        let unflushed = locked(&self.unflushed);
        read_all(&self.fd, from, span)?;
        unflushed.lay_over(lun, from, span);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
