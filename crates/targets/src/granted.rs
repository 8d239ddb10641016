//! What the kernel really gave, seen and not believed: whether reads and writes went around the page cache.
//!
//! Takes a file or device and how it is opened, probes a range of it, gives [`Granted`]. Prevents `O_DIRECT` on one side
//! only: a file system may accept the flag and use its cache (btrfs does so for writes that it checksums).

use crate::error::TargetError;
use crate::memory::Memory;
use crate::open::{Access, Files, OpenSpec, told_alignment};
use crate::port::{FileId, Port};
use crate::uring::UringPort;
use rustix::fd::BorrowedFd;
use rustix::fs::Advice;
use rustix::io::{IoSliceMut, ReadWriteFlags};
use std::path::Path;

/// Bytes probed: large against the 125 pages by which a processor may hold back the kernel's counters.
const PROBE_BYTES: u64 = 4 << 20;
const PAGE: u64 = 4096;
/// Writes of others raise the counter of dirtied pages too; they seldom do in every round.
const ROUNDS: usize = 3;

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

/// Probes a file or device of at least a page. Reads a range in its middle and writes the same bytes back, so nothing else
/// may write there meanwhile. Where it may not be written, `writes` is [`Way::Unknown`].
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

    /// Takes the range out of the cache; false when it stays.
    fn evict(&self) -> bool {
        let len = std::num::NonZeroU64::new(self.len());
        let _ = rustix::fs::fdatasync(self.look);
        let _ = rustix::fs::fadvise(self.look, self.offset, len, Advice::DontNeed);
        self.resident() == Some(false)
    }

    /// Whether at least a page of the range is in the cache.
    fn resident(&self) -> Option<bool> {
        if let Ok(pages) = crate::kernel::cached_pages(self.look, self.offset, self.len()) {
            return Some(pages > 0);
        }
        // Older kernels: a read that may not wait succeeds only from the cache.
        let mut byte = [0u8; 1];
        let mut into = [IoSliceMut::new(&mut byte)];
        match rustix::io::preadv2(self.look, &mut into, self.offset, ReadWriteFlags::NOWAIT) {
            Ok(got) => Some(got > 0),
            Err(rustix::io::Errno::AGAIN) => Some(false),
            Err(_) => None,
        }
    }

    fn reads(&mut self, fd: BorrowedFd<'_>) -> Way {
        if !self.evict() || !self.fill(fd) {
            return Way::Unknown;
        }
        way(self.resident())
    }

    /// A file system that uses its cache in secret takes the pages out again afterwards (btrfs); but they were dirty once,
    /// and the kernel counts that.
    fn writes(&mut self, fd: BorrowedFd<'_>) -> Way {
        let pages = self.len() / PAGE;
        let mut dirtied_least = u64::MAX;
        let mut resident = None;
        for _ in 0..ROUNDS {
            if !self.evict() {
                return Way::Unknown;
            }
            let before = dirtied();
            let wrote = rustix::io::pwrite(fd, self.memory.bytes(0, self.len() as usize), self.offset);
            if wrote != Ok(self.len() as usize) {
                return Way::Unknown;
            }
            let now = dirtied();
            resident = self.resident();
            let Some((now, before)) = now.zip(before) else {
                return way(resident);
            };
            dirtied_least = dirtied_least.min(now.saturating_sub(before));
        }
        let _ = rustix::fs::fdatasync(fd);
        if resident == Some(true) || (pages >= 512 && dirtied_least >= pages / 2) {
            Way::Cached
        } else if pages < 512 {
            // Too few pages for the counter, and pages that are gone prove nothing.
            Way::Unknown
        } else {
            way(resident)
        }
    }
}

fn way(resident: Option<bool>) -> Way {
    resident.map_or(
        Way::Unknown,
        |resident| if resident { Way::Cached } else { Way::Direct },
    )
}

/// Pages of the whole machine that were dirtied since boot.
fn dirtied() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("nr_dirtied ")?.trim().parse().ok())
}
