//! Memory of the machine and its traffic, from `/proc/meminfo` and `/proc/vmstat`.
//!
//! Takes their text, gives bytes. Every field is optional: kernels differ.
//! Prevents: kibibytes, pages and bytes mixed up; all sizes that leave this file are bytes.

use crate::Root;

/// Memory of the whole machine at one moment, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Usable memory in all.
    pub total_bytes: Option<u64>,
    /// Unused.
    pub free_bytes: Option<u64>,
    /// The kernel's estimate of what could be had without swapping.
    pub available_bytes: Option<u64>,
    /// Page cache of files, shared memory included.
    pub cached_bytes: Option<u64>,
    /// Page cache of block devices read or written as such.
    pub buffers_bytes: Option<u64>,
    /// Shared memory and tmpfs: the part of `cached_bytes` that is no cache of storage.
    pub shmem_bytes: Option<u64>,
    /// Waiting to be written back.
    pub dirty_bytes: Option<u64>,
    /// Being written back.
    pub writeback_bytes: Option<u64>,
    /// The kernel's own objects.
    pub slab_bytes: Option<u64>,
    /// The part of the slab that can be reclaimed: inodes, dentries; a file system's metadata caches.
    pub slab_reclaimable_bytes: Option<u64>,
    /// Memory of processes that is not backed by files.
    pub anonymous_bytes: Option<u64>,
    /// Swap in use.
    pub swap_used_bytes: Option<u64>,
}

impl Memory {
    /// Reads the text of `/proc/meminfo`.
    pub fn parse(text: &str) -> Self {
        let field = |name: &str| kib(text, name);
        Memory {
            total_bytes: field("MemTotal:"),
            free_bytes: field("MemFree:"),
            available_bytes: field("MemAvailable:"),
            cached_bytes: field("Cached:"),
            buffers_bytes: field("Buffers:"),
            shmem_bytes: field("Shmem:"),
            dirty_bytes: field("Dirty:"),
            writeback_bytes: field("Writeback:"),
            slab_bytes: field("Slab:"),
            slab_reclaimable_bytes: field("SReclaimable:"),
            anonymous_bytes: field("AnonPages:"),
            swap_used_bytes: match (field("SwapTotal:"), field("SwapFree:")) {
                (Some(total), Some(free)) => total.checked_sub(free),
                _ => None,
            },
        }
    }

    /// Page cache that holds storage: files and devices, without shared memory.
    pub fn page_cache_bytes(&self) -> Option<u64> {
        let cached = self.cached_bytes?.saturating_add(self.buffers_bytes?);
        Some(cached.saturating_sub(self.shmem_bytes.unwrap_or(0)))
    }
}

/// A `Name: N kB` line as bytes; shared with `/proc/self/status`.
pub(crate) fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace()
        .next()?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Memory traffic of the whole machine since boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VmCounters {
    /// Bytes read by all block devices, direct I/O included, counted where a request is submitted: a byte that passes
    /// two stacked devices counts twice.
    pub paged_in_bytes: Option<u64>,
    /// Bytes written, likewise.
    pub paged_out_bytes: Option<u64>,
    /// Bytes brought back from swap.
    pub swapped_in_bytes: Option<u64>,
    /// Bytes sent to swap.
    pub swapped_out_bytes: Option<u64>,
    /// Page faults that waited for storage.
    pub faults_major: Option<u64>,
    /// Page cache made dirty, bytes.
    pub dirtied_bytes: Option<u64>,
    /// Page cache written back, bytes.
    pub written_back_bytes: Option<u64>,
}

impl VmCounters {
    /// Reads the text of `/proc/vmstat`, with the size of a page in bytes.
    pub fn parse(text: &str, page_bytes: u64) -> Self {
        let field = |name: &str, unit: u64| {
            let line = text
                .lines()
                .find(|line| line.split_ascii_whitespace().next() == Some(name))?;
            line.split_ascii_whitespace()
                .nth(1)?
                .parse::<u64>()
                .ok()?
                .checked_mul(unit)
        };
        VmCounters {
            paged_in_bytes: field("pgpgin", 1024),
            paged_out_bytes: field("pgpgout", 1024),
            swapped_in_bytes: field("pswpin", page_bytes),
            swapped_out_bytes: field("pswpout", page_bytes),
            faults_major: field("pgmajfault", 1),
            dirtied_bytes: field("nr_dirtied", page_bytes),
            written_back_bytes: field("nr_written", page_bytes),
        }
    }
}

/// Memory now.
pub(crate) fn read(root: &Root) -> Option<Memory> {
    root.proc_text("meminfo").map(|text| Memory::parse(&text))
}

/// Memory traffic until now.
pub(crate) fn read_vm(root: &Root) -> Option<VmCounters> {
    let page_bytes = u64::try_from(rustix::param::page_size()).ok()?;
    root.proc_text("vmstat")
        .map(|text| VmCounters::parse(&text, page_bytes))
}
