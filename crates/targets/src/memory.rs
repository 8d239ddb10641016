//! The memory of a port: one anonymous mapping, page aligned and zeroed, given back when dropped.
//!
//! Takes a size, gives slices of it. Prevents buffers that direct I/O refuses, and memory that moves while the kernel
//! writes to it.
#![allow(unsafe_code)]

use crate::error::TargetError;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// Zeroed, page-aligned memory of a fixed size.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    len: usize,
    mapped: usize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Maps `bytes` of zeroed memory. `huge` asks for huge pages, which spares TLB misses in large caches; a kernel
    /// that has none gives ordinary pages. Fails when the address space or the memory limit does not allow it.
    pub fn new(bytes: u64, huge: bool) -> Result<Memory, TargetError> {
        let refused = |source: rustix::io::Errno| TargetError::Memory {
            bytes,
            source: source.into(),
        };
        let len = usize::try_from(bytes).map_err(|_| refused(rustix::io::Errno::NOMEM))?;
        let mapped = len
            .max(1)
            .checked_next_multiple_of(4096)
            .ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no memory that is in use.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, flags) }
            .map_err(refused)?;
        if huge {
            // SAFETY: the range was mapped just above and belongs to us; the advice does not change its content.
            let _ = unsafe { madvise(start, mapped, Advice::LinuxHugepage) };
        }
        let start = NonNull::new(start.cast()).expect("mmap does not give address 0");
        Ok(Memory { start, len, mapped })
    }

    /// Bytes that can be used.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// True when it was made for 0 bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `at`. Panics outside.
    #[inline]
    pub fn bytes(&self, at: u64, len: usize) -> &[u8] {
        let at = self.checked(at, len);
        // SAFETY: `checked` holds the range inside the mapping, which lives as long as `self`. That no I/O is in flight
        // there is the caller's part of the contract of `Port`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), len) }
    }

    /// The same to write. Panics outside.
    #[inline]
    pub fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        let at = self.checked(at, len);
        // SAFETY: as for `bytes`; `&mut self` makes the slice the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len) }
    }

    /// The address of `at` for the kernel, with `len` bytes after it inside the memory. Panics outside.
    #[inline]
    pub(crate) fn address(&self, at: u64, len: usize) -> *mut u8 {
        let at = self.checked(at, len);
        // SAFETY: `checked` holds `at` inside the mapping.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// The address of `at`, which the caller holds inside the memory.
    #[inline]
    pub(crate) fn place(&self, at: u64) -> *mut u8 {
        self.start.as_ptr().wrapping_add(at as usize)
    }

    #[inline]
    fn checked(&self, at: u64, len: usize) -> usize {
        let inside = (at as usize).checked_add(len).is_some_and(|end| end <= self.len);
        assert!(
            inside,
            "{len} bytes at {at} are outside of the port's memory of {} bytes",
            self.len
        );
        at as usize
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no slice outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// Gives memory that was freed, and that the allocator keeps for later, back to the kernel. What a stack's database had
/// cached would otherwise count against the memory budget of the next one. Does nothing where the allocator is not
/// glibc's.
pub fn give_back_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointer and may be called at any time, from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes the allocator keep little of what is freed. Usually glibc raises its limits with the sizes that it sees, so
/// that each thread that ended leaves up to several MiB at the top of its arena: [`give_back_freed_memory`] does not
/// reach that, and the memory budget of the next stack would lack it. To be called once, before other threads begin.
pub fn keep_little_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator; no pointer is involved. A limit that is set is not raised any more
    // (mallopt(3), M_MMAP_THRESHOLD).
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
    }
}

/// Pieces from this size on have a mapping of their own, which goes back as a whole: glibc's own first limit, bytes.
#[cfg(target_env = "gnu")]
const MAPPED_FROM: libc::c_int = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};

    /// Memory is that of the process: one test at a time looks at it.
    static LOOKING: Mutex<()> = Mutex::new(());

    #[test]
    fn zeroed_aligned_and_writable_to_the_last_byte() {
        let mut memory = Memory::new(10_000, true).unwrap();
        assert_eq!(memory.address(0, 1) as usize % 4096, 0);
        assert!(memory.bytes(0, 10_000).iter().all(|&b| b == 0));
        memory.bytes_mut(9_999, 1)[0] = 7;
        assert_eq!(memory.bytes(9_998, 2), [0, 7]);
    }

    #[test]
    #[should_panic(expected = "outside of the port's memory")]
    fn a_slice_over_the_end_panics() {
        Memory::new(4096, false).unwrap().bytes(4000, 97);
    }

    #[test]
    #[should_panic(expected = "outside of the port's memory")]
    fn an_offset_that_wraps_panics() {
        Memory::new(4096, false).unwrap().bytes(u64::MAX, 2);
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn freed_memory_is_given_back() {
        let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
        };
        // Pieces too small for a mapping of their own; some that stay among them, so that the heap can't shrink by
        // itself.
        let pieces: Vec<Vec<u8>> = (0..8192).map(|_| vec![1; 8192]).collect();
        let (mut stays, mut goes) = (Vec::new(), Vec::new());
        for (nth, piece) in pieces.into_iter().enumerate() {
            if nth % 512 == 511 { &mut stays } else { &mut goes }.push(piece);
        }
        drop(goes);
        let kept = resident();
        give_back_freed_memory();
        let left = resident();
        assert!(kept.saturating_sub(left) > 32 << 20, "{kept} before, {left} after");
        drop(stays);
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn threads_that_ended_keep_little() {
        let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
        let anonymous = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
        };
        keep_little_freed_memory();
        let before = anonymous();
        let threads: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(|| {
                    // A large piece that is freed would raise the limits; the small ones would then stay.
                    drop(vec![1u8; 16 << 20]);
                    drop((0..2048).map(|_| vec![1u8; 4096]).collect::<Vec<_>>());
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        give_back_freed_memory();
        let left = anonymous().saturating_sub(before);
        assert!(left < 24 << 20, "{left} of 8 threads of 8 MiB each");
    }

    #[test]
    fn what_the_kernel_cannot_give_is_an_error() {
        let refused = Memory::new(1 << 60, false).unwrap_err();
        assert!(refused.to_string().contains("lower `database.cache`"), "{refused}");
    }
}
