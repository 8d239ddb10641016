//! The file system that FUSE asks: one directory, one file for each LUN, nothing else.
//!
//! Takes requests of the kernel, moves data with direct I/O and hands answers to the clockwork. Prevents: a page cache between the
//! stack and its device, and a flush that ends here.

use super::clockwork::{Clockwork, Reply};
use super::faults::Faults;
use super::reduction::Reduction;
use super::unflushed::{Piece, SECTOR_BYTES, Unflushed};
use crate::error::LunError;
use crate::model::{Ask, Command};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};
use targets::Memory;

const FOREVER: Duration = Duration::from_secs(1 << 30);
/// Direct I/O below goes in multiples of this.
const BLOCK: u64 = 4096;
/// A request of the kernel is at most this long; a block more at each end for one that is not aligned.
const BUFFER: u64 = (1 << 20) + 2 * BLOCK;

/// Requests that the kernel may have sent without an answer.
const IN_BACKGROUND: u16 = 4096;

/// Name of a LUN's file.
pub(super) fn name(nth: usize) -> String {
    format!("lun{nth}")
}

struct Lun {
    path: PathBuf,
    fd: OwnedFd,
    bytes: u64,
    /// What its own cache holds: a flush of one LUN is none of another.
    unflushed: Mutex<Unflushed>,
}

/// The LUN files, and what lies over them.
pub(super) struct Files {
    luns: Vec<Lun>,
    volatile_bytes: u64,
    /// Through the page cache: times are the model's, whatever the disk below does.
    cached: bool,
    pub(super) faults: Faults,
    reduction: Option<Mutex<Reduction>>,
    buffers: Mutex<Vec<Memory>>,
    dead: AtomicBool,
    flushes: AtomicU64,
}

impl Lun {
    /// Writes pieces, thousands of single sectors among them, through the page cache and brings them home: by direct I/O each sector
    /// would be a block read and written. Nothing else may use the file meanwhile.
    fn put(&self, pieces: &[Piece]) -> Result<(), Errno> {
        let failed = |e: rustix::io::Errno| Errno::from_i32(e.raw_os_error());
        let fd = rustix::fs::open(&self.path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        for piece in pieces {
            let mut have = 0;
            while have < piece.bytes.len() {
                match rustix::io::pwrite(&fd, &piece.bytes[have..], piece.offset + have as u64) {
                    Ok(0) => return Err(Errno::EIO),
                    Ok(n) => have += n,
                    Err(rustix::io::Errno::INTR) => {}
                    Err(e) => return Err(failed(e)),
                }
            }
        }
        rustix::fs::fdatasync(&fd).map_err(failed)?;
        // A file that is read past the page cache must leave nothing there.
        let _ = rustix::fs::fadvise(&fd, 0, None, rustix::fs::Advice::DontNeed);
        Ok(())
    }
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
                path: path.clone(),
                fd,
                bytes,
                unflushed: Mutex::default(),
            })
        };
        Ok(Files {
            luns: paths.iter().map(open).collect::<Result<_, _>>()?,
            volatile_bytes,
            cached,
            faults: Faults::default(),
            reduction: None,
            buffers: Mutex::default(),
            dead: AtomicBool::new(false),
            flushes: AtomicU64::new(0),
        })
    }

    /// Counts what inline reduction keeps.
    pub(super) fn with_reduction(mut self, block_bytes: u32) -> Files {
        self.reduction = (block_bytes > 0).then(|| Mutex::new(Reduction::new(block_bytes)));
        self
    }

    pub(super) fn reduced_bytes(&self) -> Option<(u64, u64)> {
        let reduction = locked(self.reduction.as_ref()?);
        Some((reduction.logical_bytes(), reduction.physical_bytes()))
    }

    /// Looks at the blocks that a write has changed; `around` holds what was written, from `from` on, and what lies about it.
    fn reduce(&self, lun: u16, from: u64, around: &[u8], changed: std::ops::Range<u64>) -> Result<(), Errno> {
        let Some(reduction) = &self.reduction else {
            return Ok(());
        };
        let mut reduction = locked(reduction);
        let size = reduction.block_bytes();
        let mut block = vec![0; size as usize];
        for nth in changed.start / size..changed.end.div_ceil(size) {
            let at = nth * size;
            let inside = at
                .checked_sub(from)
                .and_then(|skip| around.get(skip as usize..(skip + size) as usize));
            if let Some(content) = inside {
                reduction.write(lun, nth, content);
                continue;
            }
            let read = rustix::io::pread(&self.luns[usize::from(lun)].fd, &mut block[..], at);
            let read = read.map_err(|e| Errno::from_i32(e.raw_os_error()))?;
            reduction.write(lun, nth, &block[..read]);
        }
        Ok(())
    }

    /// Reads everything once, so that it lies in the page cache; nothing where that is not used, or where it would not stay there.
    pub(super) fn warm(&self, most_bytes: u64) {
        let all: u64 = self.luns.iter().map(|lun| lun.bytes).sum();
        if !self.cached || all > most_bytes {
            return;
        }
        let mut piece = vec![0; 1 << 20];
        for lun in &self.luns {
            let mut at = 0;
            while let Ok(read @ 1..) = rustix::io::pread(&lun.fd, &mut piece, at) {
                at += read as u64;
            }
        }
    }

    pub(super) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }

    pub(super) fn unflushed_bytes(&self) -> u64 {
        self.luns.iter().map(|lun| locked(&lun.unflushed).bytes()).sum()
    }

    fn buffer(&self) -> Result<Memory, Errno> {
        let kept = locked(&self.buffers).pop();
        kept.map_or_else(|| Memory::new(BUFFER, false).map_err(|_| Errno::ENOMEM), Ok)
    }

    fn give_back(&self, buffer: Memory) {
        locked(&self.buffers).push(buffer);
    }

    /// A LUN that is there, and a range of it that can be used.
    fn usable(&self, lun: u16, offset: u64, len: usize) -> Result<(), Errno> {
        self.alive()?;
        match self.faults.fails(lun, offset, len as u64) {
            true => Err(Errno::EIO),
            false => Ok(()),
        }
    }

    fn alive(&self) -> Result<(), Errno> {
        if self.dead.load(Ordering::Acquire) {
            Err(Errno::EIO)
        } else {
            Ok(())
        }
    }

    /// Reads into a buffer; where in it the bytes asked for begin.
    fn read(&self, lun: u16, offset: u64, len: usize, buffer: &mut Memory) -> Result<usize, Errno> {
        self.usable(lun, offset, len)?;
        let of = &self.luns[usize::from(lun)];
        let from = offset / BLOCK * BLOCK;
        let end = (offset + len as u64).next_multiple_of(BLOCK);
        let span = buffer.bytes_mut(0, (end - from) as usize);
        // Held over the read below: what is flushed meanwhile would be in neither.
        let unflushed = (self.volatile_bytes > 0).then(|| locked(&of.unflushed));
        let mut have = 0;
        while have < span.len() {
            match rustix::io::pread(&of.fd, &mut span[have..], from + have as u64) {
                Ok(0) => return Err(Errno::EIO),
                Ok(n) => have += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Errno::from_i32(e.raw_os_error())),
            }
        }
        if let Some(unflushed) = unflushed {
            unflushed.lay_over(lun, from, span);
        }
        self.faults.spoil(lun, from, span);
        Ok((offset - from) as usize)
    }

    fn write(&self, lun: u16, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.usable(lun, offset, data.len())?;
        if !offset.is_multiple_of(SECTOR_BYTES) || !(data.len() as u64).is_multiple_of(SECTOR_BYTES) {
            return Err(Errno::EINVAL);
        }
        if self.volatile_bytes == 0 {
            return self.store(lun, offset, data);
        }
        let mut unflushed = locked(&self.luns[usize::from(lun)].unflushed);
        let over = (unflushed.bytes() + data.len() as u64).saturating_sub(self.volatile_bytes);
        if over > 0 {
            self.store_all(unflushed.take_oldest(over))?;
        }
        // Again, under the lock: what comes after the cut must not be kept.
        self.alive()?;
        unflushed.write(lun, offset, data);
        Ok(())
    }

    /// Writes to the LUN file.
    fn store(&self, lun: u16, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let mut buffer = self.buffer()?;
        let from = offset / BLOCK * BLOCK;
        let end = (offset + data.len() as u64).next_multiple_of(BLOCK);
        let at = (offset - from) as usize;
        let of = &self.luns[usize::from(lun)];
        let span = buffer.bytes_mut(0, (end - from) as usize);
        let failed = |e: rustix::io::Errno| Errno::from_i32(e.raw_os_error());
        if span.len() != data.len() {
            // Part of a block: the rest of it is what lies there.
            rustix::io::pread(&of.fd, &mut span[..], from).map_err(failed)?;
        }
        span[at..at + data.len()].copy_from_slice(data);
        let mut have = 0;
        while have < span.len() {
            match rustix::io::pwrite(&of.fd, &span[have..], from + have as u64) {
                Ok(0) => return Err(Errno::EIO),
                Ok(n) => have += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        let changed = offset..offset + data.len() as u64;
        let reduced = self.reduce(lun, from, buffer.bytes(0, (end - from) as usize), changed);
        self.give_back(buffer);
        reduced
    }

    fn store_all(&self, pieces: Vec<Piece>) -> Result<(), Errno> {
        for piece in pieces {
            self.store(piece.lun, piece.offset, &piece.bytes)?;
        }
        Ok(())
    }

    fn flush(&self, lun: u16) -> Result<(), Errno> {
        self.usable(lun, 0, 0)?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        let of = &self.luns[usize::from(lun)];
        if self.volatile_bytes > 0 {
            let mut unflushed = locked(&of.unflushed);
            // The power may fail in the middle: what was written by then is kept, the rest is still to be lost, and nobody is told
            // that it was done.
            loop {
                self.alive()?;
                let oldest = unflushed.take_oldest(1);
                if oldest.is_empty() {
                    return Ok(());
                }
                self.store_all(oldest)?;
            }
        }
        if self.cached {
            return Ok(());
        }
        rustix::fs::fdatasync(&of.fd).map_err(|e| Errno::from_i32(e.raw_os_error()))
    }

    fn failed(&self, what: &'static str, errno: Errno) -> LunError {
        let path = self.luns.first().map(|l| l.path.clone()).unwrap_or_default();
        let source = std::io::Error::from_raw_os_error(errno.code());
        LunError::path(what, &path, source, "look at the disk below (`dmesg`)")
    }

    /// From now on every request is an error.
    pub(super) fn stop_power(&self) {
        self.dead.store(true, Ordering::Release);
        // Whoever holds a lock looked at the power before: when all locks were had once, nobody does.
        for lun in &self.luns {
            drop(locked(&lun.unflushed));
        }
    }

    /// What lay unflushed when the power stopped is lost in part, by `seed`. Bytes that lay there, and bytes lost.
    pub(super) fn lose(&self, seed: u64) -> Result<(u64, u64), LunError> {
        let (mut held, mut left) = (0, 0);
        for (nth, lun) in self.luns.iter().enumerate() {
            let mut unflushed = locked(&lun.unflushed);
            held += unflushed.bytes();
            let kept = unflushed.cut(seed ^ (nth as u64) << 32);
            left += kept.iter().map(|p| p.bytes.len() as u64).sum::<u64>();
            lun.put(&kept)
                .map_err(|e| self.failed("write what a power cut left to", e))?;
        }
        Ok((held, held - left))
    }

    pub(super) fn restore_power(&self) {
        self.dead.store(false, Ordering::Release);
    }

    /// What was not flushed is written: the device is taken away in order.
    pub(super) fn write_back(&self) -> Result<(), LunError> {
        for lun in &self.luns {
            let rest = locked(&lun.unflushed).take_all();
            self.store_all(rest)
                .map_err(|e| self.failed("write back what lay in the cache to", e))?;
        }
        Ok(())
    }
}

/// What the kernel talks to.
pub(super) struct Window {
    files: Arc<Files>,
    clockwork: Clockwork,
}

impl Window {
    pub(super) fn new(files: Arc<Files>, clockwork: Clockwork) -> Window {
        Window { files, clockwork }
    }

    fn lun(&self, ino: INodeNo) -> Option<u16> {
        let nth = u64::from(ino).checked_sub(2)?;
        ((nth as usize) < self.files.luns.len()).then_some(nth as u16)
    }

    fn attributes(&self, ino: u64, size: u64, kind: FileType) -> FileAttr {
        FileAttr {
            ino: INodeNo(ino),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: if kind == FileType::Directory { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: BLOCK as u32,
        }
    }

    fn of_lun(&self, lun: u16) -> FileAttr {
        let bytes = self.files.luns[usize::from(lun)].bytes;
        self.attributes(u64::from(lun) + 2, bytes, FileType::RegularFile)
    }

    /// Tells the model that a request has come.
    fn arrived(&self, lun: u16, command: Command, offset: u64, len: usize) -> Option<u64> {
        let ask = Ask {
            id: 0,
            lun,
            command,
            offset,
            len: len as u32,
        };
        // Without power nothing takes time.
        self.files.alive().ok()?;
        Some(self.clockwork.arrived(ask, self.files.faults.slower_ns(lun)))
    }

    /// Answers a request whose work is done.
    fn answer(&self, id: Option<u64>, reply: Reply) {
        match id {
            Some(id) => self.clockwork.worked(id, reply),
            None => reply(),
        }
    }
}

impl Filesystem for Window {
    /// Loop devices ask asynchronously; the kernel keeps such requests to a dozen unless told otherwise, which would be a queue of ours
    /// before the model's.
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without it the kernel waits for each direct read before it sends the next, and the model sees a queue of one.
        let asynchronous = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        asynchronous.map_err(|_| std::io::Error::from(std::io::ErrorKind::Unsupported))?;
        for set in [KernelConfig::set_max_background, KernelConfig::set_congestion_threshold] {
            if let Err(nearest) = set(config, IN_BACKGROUND) {
                let _ = set(config, nearest);
            }
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, file: &OsStr, reply: ReplyEntry) {
        let nth = (0..self.files.luns.len()).find(|nth| parent == INodeNo::ROOT && file == OsStr::new(&name(*nth)));
        match nth {
            Some(nth) => reply.entry(&FOREVER, &self.of_lun(nth as u16), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match (ino == INodeNo::ROOT, self.lun(ino)) {
            (true, _) => reply.attr(&FOREVER, &self.attributes(1, 0, FileType::Directory)),
            (_, Some(lun)) => reply.attr(&FOREVER, &self.of_lun(lun)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.lun(ino) {
            Some(_) => reply.opened(
                FileHandle(0),
                FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
            ),
            None => reply.error(Errno::EISDIR),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(lun) = self.lun(ino) else {
            return reply.error(Errno::EISDIR);
        };
        let size = self.files.luns[usize::from(lun)]
            .bytes
            .saturating_sub(offset)
            .min(u64::from(size)) as usize;
        let id = self.arrived(lun, Command::Read, offset, size);
        let read = self.files.buffer().and_then(|mut buffer| {
            let at = self.files.read(lun, offset, size, &mut buffer)?;
            Ok((buffer, at))
        });
        let files = self.files.clone();
        self.answer(
            id,
            Box::new(move || match read {
                Ok((buffer, at)) => {
                    reply.data(buffer.bytes(at as u64, size));
                    files.give_back(buffer);
                }
                Err(errno) => reply.error(errno),
            }),
        );
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(lun) = self.lun(ino) else {
            return reply.error(Errno::EISDIR);
        };
        if offset + data.len() as u64 > self.files.luns[usize::from(lun)].bytes {
            return reply.error(Errno::ENOSPC);
        }
        let id = self.arrived(lun, Command::Write { through: false }, offset, data.len());
        let written = self.files.write(lun, offset, data);
        let len = data.len() as u32;
        self.answer(
            id,
            Box::new(move || match written {
                Ok(()) => reply.written(len),
                Err(errno) => reply.error(errno),
            }),
        );
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let Some(lun) = self.lun(ino) else {
            return reply.ok();
        };
        let id = self.arrived(lun, Command::Flush, 0, 0);
        let flushed = self.files.flush(lun);
        self.answer(
            id,
            Box::new(move || match flushed {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(errno),
            }),
        );
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        for nth in offset as usize..self.files.luns.len() {
            if reply.add(
                INodeNo(nth as u64 + 2),
                nth as u64 + 1,
                FileType::RegularFile,
                name(nth),
            ) {
                break;
            }
        }
        reply.ok();
    }
}
