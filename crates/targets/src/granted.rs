//! What the kernel really gave, seen and not believed: whether reads and writes went around the page cache.
//!
//! Takes a file or device and how it is opened, probes a range of it, gives [`Granted`]. Prevents `O_DIRECT` on one
//! side only: a file system may accept the flag and use its cache (btrfs does so for writes that it checksums).

use crate::error::TargetError;
use crate::memory::Memory;
use crate::open::{Access, Files, OpenSpec, told_alignment};
use crate::port::{FileId, Port};
use crate::ports::uring::UringPort;
use rustix::fd::BorrowedFd;
use rustix::fs::Advice;
use rustix::io::{IoSliceMut, ReadWriteFlags};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes probed: enough that a write of them takes long enough to be watched.
const PROBE_BYTES: u64 = 4 << 20;
const PAGE: u64 = 4096;
/// A watcher that was not scheduled in time sees nothing; it hardly happens this often in a row.
const ROUNDS: usize = 3;
/// So long a watcher looks without a pause. A write that takes longer is seen by looks that are apart, and a slow
/// device costs no processor.
const WITHOUT_PAUSE: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_micros(50);

/// Which way the bytes went.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    /// Around the page cache.
    Direct,
    /// Through the page cache.
    Cached,
    /// It could not be seen.
    Unknown,
}

/// What was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// Reads.
    pub reads: Way,
    /// Writes.
    pub writes: Way,
    /// Alignment of direct I/O in bytes by the kernel's word (`STATX_DIOALIGN`), where it gives one.
    pub alignment: Option<u32>,
    /// Whether a ring could register its buffers; `None` where no ring could be made.
    pub registered_buffers: Option<bool>,
}

/// Probes a file or device of at least a page. Reads a range in its middle and writes the same bytes back, so nothing
/// else may write there meanwhile. Where it may not be written, `writes` is [`Way::Unknown`].
pub fn observe(path: &Path, access: Access) -> Result<Granted, TargetError> {
    let reading = Files::open(&[OpenSpec::reading(path, access)])?;
    let looking = Files::open(&[OpenSpec::reading(path, Access::Buffered)])?;
    let file = FileId(0);
    let size = reading.size(file)?;
    let len = (size / PAGE * PAGE).min(PROBE_BYTES);
    let alignment = told_alignment(reading.fd(file));
    let ring = UringPort::open(&[OpenSpec::reading(path, access)], 1 << 20, 1).ok();
    let registered_buffers = ring.map(|ring| ring.grant().registered_buffers && ring.memory() > 0);
    let mut granted = Granted {
        reads: Way::Unknown,
        writes: Way::Unknown,
        alignment,
        registered_buffers,
    };
    if len == 0 {
        return Ok(granted);
    }
    let mut probe = Probe {
        look: looking.fd(file),
        offset: (size - len) / 2 / PAGE * PAGE,
        memory: Memory::new(len, false)?,
    };
    // Memory that was never touched makes btrfs give up direct reads half way and finish them through its cache.
    probe.memory.bytes_mut(0, len as usize).fill(1);
    if !probe.sees_the_cache() {
        return Ok(granted);
    }
    granted.reads = probe.reads(reading.fd(file));
    if probe.fill(reading.fd(file))
        && let Ok(writing) = Files::open(&[OpenSpec::writing(path, access)])
    {
        granted.writes = probe.writes(writing.fd(file));
    }
    Ok(granted)
}

struct Probe<'a> {
    /// A buffered descriptor to look at the cache with.
    look: BorrowedFd<'a>,
    offset: u64,
    memory: Memory,
}

impl Probe<'_> {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn fill(&mut self, fd: BorrowedFd<'_>) -> bool {
        let len = self.len() as usize;
        rustix::io::pread(fd, self.memory.bytes_mut(0, len), self.offset) == Ok(len)
    }

    /// Whether what was read through the cache is seen in it. The pages of an overlay are those of another file.
    fn sees_the_cache(&mut self) -> bool {
        let page = self.memory.bytes_mut(0, PAGE as usize);
        rustix::io::pread(self.look, page, self.offset) == Ok(PAGE as usize)
            && resident(self.look, self.offset, PAGE) == Some(true)
    }

    /// Takes the range out of the cache; false when it stays.
    fn evict(&self) -> bool {
        let len = std::num::NonZeroU64::new(self.len());
        let _ = rustix::fs::fdatasync(self.look);
        let _ = rustix::fs::fadvise(self.look, self.offset, len, Advice::DontNeed);
        self.resident() == Some(false)
    }

    fn resident(&self) -> Option<bool> {
        resident(self.look, self.offset, self.len())
    }

    fn reads(&mut self, fd: BorrowedFd<'_>) -> Way {
        if !self.evict() || !self.fill(fd) {
            return Way::Unknown;
        }
        way(self.resident())
    }

    /// A file system that uses its cache in secret takes the pages out again afterwards (btrfs): they are only there
    /// while the write goes on, so a second thread looks all that time.
    fn writes(&mut self, fd: BorrowedFd<'_>) -> Way {
        let mut seen = Some(false);
        for _ in 0..ROUNDS {
            if !self.evict() {
                return Way::Unknown;
            }
            let (look, offset, len) = (self.look, self.offset, self.len());
            let (looking, written) = (AtomicBool::new(false), AtomicBool::new(false));
            let (wrote, found) = std::thread::scope(|scope| {
                let watch = scope.spawn(|| {
                    let mut found = resident(look, offset, len);
                    looking.store(true, Ordering::Release);
                    let began = Instant::now();
                    while found == Some(false) && !written.load(Ordering::Acquire) {
                        if began.elapsed() > WITHOUT_PAUSE {
                            std::thread::sleep(PAUSE);
                        }
                        found = resident(look, offset, len);
                    }
                    found
                });
                while !looking.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                let wrote = rustix::io::pwrite(fd, self.memory.bytes(0, len as usize), offset);
                written.store(true, Ordering::Release);
                (wrote, watch.join().unwrap_or(None))
            });
            if wrote != Ok(len as usize) {
                return Way::Unknown;
            }
            if found != Some(false) || self.resident() != Some(false) {
                seen = found.and(self.resident()).map(|after| after || found == Some(true));
                break;
            }
        }
        let _ = rustix::fs::fdatasync(fd);
        way(seen)
    }
}

/// Whether at least a page of a range is in the cache.
fn resident(look: BorrowedFd<'_>, offset: u64, len: u64) -> Option<bool> {
    if let Ok(pages) = crate::kernel::cached_pages(look, offset, len) {
        return Some(pages > 0);
    }
    // Older kernels: a read that may not wait succeeds only from the cache.
    let mut byte = [0u8; 1];
    let mut into = [IoSliceMut::new(&mut byte)];
    match rustix::io::preadv2(look, &mut into, offset, ReadWriteFlags::NOWAIT) {
        Ok(got) => Some(got > 0),
        Err(rustix::io::Errno::AGAIN) => Some(false),
        Err(_) => None,
    }
}

fn way(resident: Option<bool>) -> Way {
    resident.map_or(
        Way::Unknown,
        |resident| if resident { Way::Cached } else { Way::Direct },
    )
}
