//! The two queues of an io_uring in memory shared with the kernel: entries in, results out, and the system call
//! between.
//!
//! Takes entries ready made and gives (user data, result) pairs; knows nothing of files or buffers. An entry is written
//! once, straight into the shared queue, and the kernel is shown the new tail only when it is called, because without a
//! polling kernel thread it looks at no other time. Layout and ordering: io_uring(7) and
//! `include/uapi/linux/io_uring.h`.
//!
//! Prevents: an entry that the kernel reads before it is whole, and a result that is read before it is.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags, IoringRegisterOp,
    IoringSetupFlags, IoringSqFlags, io_uring_cqe, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg,
    io_uring_params, io_uring_ptr, io_uring_register, io_uring_setup, io_uring_sqe,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::Timespec;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A part of the ring's memory.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn new(fd: BorrowedFd<'_>, len: usize, offset: u64) -> Result<Mapping, Errno> {
        let (access, flags) = (
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED | MapFlags::POPULATE,
        );
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory that is in use.
        let start = unsafe { mmap(std::ptr::null_mut(), len, access, flags, fd, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Mapping { start, len })
    }

    /// The address of what lies at `offset`; the kernel says where things lie, and is held to the mapping's size.
    fn at<T>(&self, offset: u32, count: usize) -> NonNull<T> {
        let end = offset as usize + count * size_of::<T>();
        assert!(
            end <= self.len,
            "the kernel placed a queue up to byte {end} of {}",
            self.len
        );
        // SAFETY: inside the mapping, by the assertion; the kernel aligns what it places.
        unsafe { self.start.add(offset as usize) }.cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no pointer into it outlives the `Queues` that hold it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// An io_uring without a polling kernel thread.
pub(crate) struct Queues {
    fd: OwnedFd,
    sqes: NonNull<io_uring_sqe>,
    cqes: NonNull<io_uring_cqe>,
    sq_head: NonNull<AtomicU32>,
    sq_tail: NonNull<AtomicU32>,
    sq_flags: NonNull<AtomicU32>,
    cq_head: NonNull<AtomicU32>,
    cq_tail: NonNull<AtomicU32>,
    /// Written by us, not yet shown to the kernel.
    tail: u32,
    /// How far the kernel had taken entries when it was last called; it takes them at no other time.
    taken: u32,
    /// How far results have been read.
    head: u32,
    entries: u32,
    sq_mask: u32,
    cq_mask: u32,
    deferred: bool,
    can_wait_until: bool,
    _maps: [Option<Mapping>; 3],
}

// SAFETY: the mappings belong to this value alone; that only one thread at a time uses it, `&mut self` ensures.
unsafe impl Send for Queues {}

/// A ring with the best modes that this kernel has, and whether completions are deferred to the waiting thread.
fn set_up(entries: u32, completions: u32) -> Result<(OwnedFd, io_uring_params, bool), Errno> {
    let plain = IoringSetupFlags::CLAMP | IoringSetupFlags::CQSIZE | IoringSetupFlags::R_DISABLED;
    let best = plain
        | IoringSetupFlags::SINGLE_ISSUER
        | IoringSetupFlags::DEFER_TASKRUN
        | IoringSetupFlags::COOP_TASKRUN
        | IoringSetupFlags::TASKRUN_FLAG;
    let with = |flags| {
        let mut params = io_uring_params::default();
        params.flags = flags;
        params.cq_entries = completions;
        // SAFETY: the parameters ask for no memory of ours.
        let fd = unsafe { io_uring_setup(entries, &mut params) }?;
        Ok((fd, params))
    };
    match with(best) {
        Ok((fd, params)) => Ok((fd, params, true)),
        Err(Errno::INVAL) => with(plain).map(|(fd, params)| (fd, params, false)),
        Err(e) => Err(e),
    }
}

impl Queues {
    /// Room for at least `entries` requests not yet sent and `completions` results not yet read. The ring is disabled
    /// until [`Queues::enable`].
    pub(crate) fn new(entries: u32, completions: u32) -> Result<Queues, Errno> {
        let (fd, params, deferred) = set_up(entries, completions)?;
        let (sq, cq) = (params.sq_off, params.cq_off);
        let sq_bytes = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let cq_bytes = cq.cqes as usize + params.cq_entries as usize * size_of::<io_uring_cqe>();
        let single = params.features.contains(IoringFeatureFlags::SINGLE_MMAP);
        let sq_len = if single { sq_bytes.max(cq_bytes) } else { sq_bytes };
        let sq_map = Mapping::new(fd.as_fd(), sq_len, IORING_OFF_SQ_RING)?;
        let cq_own = (!single)
            .then(|| Mapping::new(fd.as_fd(), cq_bytes, IORING_OFF_CQ_RING))
            .transpose()?;
        let cq_map = cq_own.as_ref().unwrap_or(&sq_map);
        let sqe_bytes = params.sq_entries as usize * size_of::<io_uring_sqe>();
        let sqe_map = Mapping::new(fd.as_fd(), sqe_bytes, IORING_OFF_SQES)?;
        let array = sq_map.at::<u32>(sq.array, params.sq_entries as usize);
        for index in 0..params.sq_entries {
            // SAFETY: `array` has `sq_entries` places, and the ring is not in use yet. Place n always means entry n.
            unsafe { array.add(index as usize).write(index) };
        }
        // SAFETY: both words were set by the kernel in setup, and do not change.
        let (sq_mask, cq_mask) = unsafe {
            (
                sq_map.at::<u32>(sq.ring_mask, 1).read(),
                cq_map.at::<u32>(cq.ring_mask, 1).read(),
            )
        };
        assert!(
            sq_mask < params.sq_entries && cq_mask < params.cq_entries,
            "a mask of {sq_mask} for {} entries, {cq_mask} for {}",
            params.sq_entries,
            params.cq_entries
        );
        Ok(Queues {
            sqes: sqe_map.at(0, params.sq_entries as usize),
            cqes: cq_map.at(cq.cqes, params.cq_entries as usize),
            sq_head: sq_map.at(sq.head, 1),
            sq_tail: sq_map.at(sq.tail, 1),
            sq_flags: sq_map.at(sq.flags, 1),
            cq_head: cq_map.at(cq.head, 1),
            cq_tail: cq_map.at(cq.tail, 1),
            fd,
            tail: 0,
            taken: 0,
            head: 0,
            entries: params.sq_entries,
            sq_mask,
            cq_mask,
            deferred,
            can_wait_until: params.features.contains(IoringFeatureFlags::EXT_ARG),
            _maps: [Some(sq_map), cq_own, Some(sqe_map)],
        })
    }

    /// Whether completions are run by the waiting thread alone (Linux 6.1 and later).
    pub(crate) fn deferred(&self) -> bool {
        self.deferred
    }

    /// Whether a wait can have an end in time (Linux 5.11 and later).
    pub(crate) fn can_wait_until(&self) -> bool {
        self.can_wait_until
    }

    /// Entries written that the kernel has not taken.
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.tail.wrapping_sub(self.taken)
    }

    /// Entries written whose result has not been read; each gives one.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Entries that the kernel has taken and whose result has not been read.
    pub(crate) fn taken(&self) -> u32 {
        self.taken.wrapping_sub(self.head)
    }

    /// Results that can be read now.
    #[inline]
    pub(crate) fn ready(&self) -> u32 {
        // SAFETY: the word lies in a mapping that lives as long as `self`. Acquire: results up to it are whole.
        let tail = unsafe { self.cq_tail.as_ref() }.load(Ordering::Acquire);
        tail.wrapping_sub(self.head)
    }

    /// Queues an entry; false when there is no room until the next [`Queues::enter`].
    ///
    /// # Safety
    /// What the entry points to must stay until its result has been read.
    #[inline]
    pub(crate) unsafe fn push(&mut self, entry: io_uring_sqe) -> bool {
        if self.queued() >= self.entries {
            return false;
        }
        // SAFETY: the mask holds the index below the number of entries, and the kernel has taken what was there before.
        unsafe { self.sqes.add((self.tail & self.sq_mask) as usize).write(entry) };
        self.tail = self.tail.wrapping_add(1);
        true
    }

    fn flags(&self) -> IoringSqFlags {
        // SAFETY: the word lies in a mapping that lives as long as `self`.
        IoringSqFlags::from_bits_retain(unsafe { self.sq_flags.as_ref() }.load(Ordering::Acquire))
    }

    /// Whether the kernel holds results that come only by calling it.
    #[inline]
    pub(crate) fn holds_results(&self) -> bool {
        let flags = self.flags();
        flags.contains(IoringSqFlags::CQ_OVERFLOW) || (self.deferred && flags.contains(IoringSqFlags::TASKRUN))
    }

    /// Shows the kernel all entries and has it take them; whether it took all. Nothing else is looked at: the short
    /// way.
    #[inline]
    pub(crate) fn send(&mut self) -> bool {
        // SAFETY: the word lies in a mapping that lives as long as `self`. Release: every entry is whole before it is
        // shown.
        unsafe { self.sq_tail.as_ref() }.store(self.tail, Ordering::Release);
        let (fd, queued) = (self.fd.as_fd(), self.queued());
        // SAFETY: the entries are whole; what they point to is kept by the caller of `push`.
        let sent = unsafe { io_uring_enter(fd, queued, 0, IoringEnterFlags::empty()) };
        if sent == Ok(queued) {
            self.taken = self.tail;
            return true;
        }
        // SAFETY: the word lies in a mapping that lives as long as `self`.
        self.taken = unsafe { self.sq_head.as_ref() }.load(Ordering::Acquire);
        false
    }

    /// Shows the kernel all entries, has it take them, and waits for `want` results, at most for `span`.
    #[inline]
    pub(crate) fn enter(&mut self, want: u32, span: Option<&Timespec>) -> Result<(), Errno> {
        // SAFETY: the word lies in a mapping that lives as long as `self`. Release: every entry is whole before it is
        // shown.
        unsafe { self.sq_tail.as_ref() }.store(self.tail, Ordering::Release);
        let mut flags = IoringEnterFlags::empty();
        if want > 0 || self.holds_results() {
            flags |= IoringEnterFlags::GETEVENTS;
        }
        let queued = self.queued();
        let entered = match span {
            None => {
                // SAFETY: the entries are whole; what they point to is kept by the caller of `push`.
                unsafe { io_uring_enter(self.fd.as_fd(), queued, want, flags) }
            }
            Some(span) => {
                let wait = io_uring_getevents_arg {
                    ts: io_uring_ptr::new(std::ptr::from_ref(span).cast_mut().cast()),
                    ..Default::default()
                };
                // SAFETY: as above; the time span outlives the call.
                unsafe {
                    io_uring_enter_arg(
                        self.fd.as_fd(),
                        queued,
                        want,
                        flags | IoringEnterFlags::EXT_ARG,
                        Some(&wait),
                    )
                }
            }
        };
        // SAFETY: the word lies in a mapping that lives as long as `self`.
        self.taken = unsafe { self.sq_head.as_ref() }.load(Ordering::Acquire);
        entered.map(|_| ())
    }

    /// Hands (user data, result) of the next `count` results to `each`; at most [`Queues::ready`] may be asked for.
    #[inline]
    pub(crate) fn reap(&mut self, count: u32, mut each: impl FnMut(u64, i32)) {
        let mut head = self.head;
        let end = head.wrapping_add(count);
        while head != end {
            // SAFETY: the mask holds the index below the number of results, and the kernel does not touch a result that
            // has come until the shared head moves. That it has come, the caller has asked `ready`.
            let result = unsafe { self.cqes.add((head & self.cq_mask) as usize).as_ref() };
            each(result.user_data.u64_(), result.res);
            head = head.wrapping_add(1);
        }
        self.head = end;
        // SAFETY: the word lies in a mapping that lives as long as `self`. Release: the results have been read.
        unsafe { self.cq_head.as_ref() }.store(end, Ordering::Release);
    }

    /// Lets the ring run; the calling thread becomes the one that may use it, where completions are deferred.
    pub(crate) fn enable(&self) -> Result<(), Errno> {
        self.register(IoringRegisterOp::RegisterEnableRings, std::ptr::null(), 0)
    }

    /// Registers open files: entries name them by index.
    pub(crate) fn register_files(&self, fds: &[RawFd]) -> Result<(), Errno> {
        self.register(IoringRegisterOp::RegisterFiles, fds.as_ptr().cast(), fds.len())
    }

    /// Registers memory: entries name it by index, and its pages are pinned once.
    ///
    /// # Safety
    /// The memory must stay mapped until it is unregistered or the ring is gone.
    pub(crate) unsafe fn register_buffers(&self, buffers: &[libc::iovec]) -> Result<(), Errno> {
        self.register(
            IoringRegisterOp::RegisterBuffers,
            buffers.as_ptr().cast(),
            buffers.len(),
        )
    }

    /// Gives back files and memory. Whether there were any does not matter.
    pub(crate) fn unregister(&self) {
        let _ = self.register(IoringRegisterOp::UnregisterFiles, std::ptr::null(), 0);
        let _ = self.register(IoringRegisterOp::UnregisterBuffers, std::ptr::null(), 0);
    }

    fn register(&self, what: IoringRegisterOp, items: *const c_void, count: usize) -> Result<(), Errno> {
        let count = u32::try_from(count).map_err(|_| Errno::INVAL)?;
        // SAFETY: `items` are `count` items of what `what` wants, from a live slice; the kernel copies them.
        unsafe { io_uring_register(self.fd.as_fd(), what, items, count) }.map(|_| ())
    }
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "io_uring {} of {} entries, {} queued",
            self.fd.as_raw_fd(),
            self.entries,
            self.queued()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io_uring::IoringOp;

    fn nothing(user: u64) -> io_uring_sqe {
        io_uring_sqe {
            opcode: IoringOp::Nop,
            user_data: rustix::io_uring::io_uring_user_data::from_u64(user),
            ..Default::default()
        }
    }

    #[test]
    fn every_entry_gives_one_result_though_the_counters_wrap_the_queues() {
        let mut queues = Queues::new(4, 8).unwrap();
        queues.enable().unwrap();
        let (mut sent, mut came) = (0, Vec::new());
        for round in 0..100 {
            let count = 1 + round % 4;
            for _ in 0..count {
                // SAFETY: it points to nothing.
                assert!(unsafe { queues.push(nothing(sent)) });
                sent += 1;
            }
            assert_eq!(queues.queued(), count);
            queues.enter(count, None).unwrap();
            assert_eq!(queues.queued(), 0);
            assert_eq!(queues.ready(), count);
            queues.reap(count, |user, result| came.push((user, result)));
            assert_eq!(queues.outstanding(), 0);
        }
        let all: Vec<(u64, i32)> = (0..sent).map(|user| (user, 0)).collect();
        assert_eq!(came, all);
    }

    #[test]
    fn a_full_queue_says_so_and_keeps_what_it_has() {
        let mut queues = Queues::new(2, 4).unwrap();
        queues.enable().unwrap();
        // SAFETY: they point to nothing.
        let pushed: Vec<bool> = (0..3).map(|user| unsafe { queues.push(nothing(user)) }).collect();
        assert_eq!(pushed, [true, true, false]);
        queues.enter(2, None).unwrap();
        let mut came = Vec::new();
        queues.reap(2, |user, _| came.push(user));
        assert_eq!(came, [0, 1]);
    }

    #[test]
    fn a_wait_ends_in_time() {
        let mut queues = Queues::new(2, 4).unwrap();
        queues.enable().unwrap();
        let span = Timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        assert_eq!(queues.enter(1, Some(&span)), Err(Errno::TIME));
    }
}
