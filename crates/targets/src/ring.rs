//! One io_uring with its memory: the part of the ring port that needs `unsafe`.
//!
//! Takes transfers by slot number, gives (slot, result) pairs. The memory belongs to the ring and is given back only when
//! the kernel holds no request into it. Prevents a write of the kernel into memory that is something else by then.
#![allow(unsafe_code)]

use crate::clock::span_until;
use crate::error::TargetError;
use crate::memory::Memory;
use crate::port::{Nanos, Op};
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::fd::RawFd;
use rustix::io::Errno;
use std::io;

/// The kernel takes registered buffers of at most this size.
const CHUNK_SHIFT: u32 = 30;
/// A longer submission queue only costs memory: a full one is sent early.
const ENTRIES_MAX: u32 = 4096;
/// Marks the completion of the poll on the waker.
pub(crate) const POLL: u64 = u64::MAX;

/// What a slot asks of the kernel now.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) op: Op,
    pub(crate) file: u16,
    pub(crate) offset: u64,
    pub(crate) at: u64,
    pub(crate) len: u32,
}

/// What the kernel agreed to when the ring was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingGrant {
    /// Buffers are registered: no page is looked up and pinned per I/O. Otherwise `RLIMIT_MEMLOCK` was too low.
    pub registered_buffers: bool,
    /// Completions are run by the waiting thread alone (Linux 6.1 and later).
    pub deferred_task_run: bool,
}

pub(crate) struct Ring {
    ring: IoUring,
    memory: Memory,
    fds: Vec<RawFd>,
    depth: usize,
    enabled: bool,
    grant: RingGrant,
    /// Pushed and not yet reaped; not the poll, which has no part of the memory.
    outstanding: usize,
}

fn refused(what: &'static str) -> impl Fn(io::Error) -> TargetError {
    move |source| TargetError::Ring { what, source }
}

/// The ring with the best modes that this kernel has, and whether completions are deferred to the waiting thread.
fn build(depth: usize) -> io::Result<(IoUring, bool)> {
    let entries = u32::try_from(depth + 2).map_or(ENTRIES_MAX, |d| d.next_power_of_two().min(ENTRIES_MAX));
    let completions = u32::try_from(depth + 4)
        .unwrap_or(u32::MAX / 4)
        .next_power_of_two()
        .max(2 * entries);
    let mut best = IoUring::builder();
    best.dontfork()
        .setup_clamp()
        .setup_cqsize(completions)
        .setup_r_disabled();
    let plain = best.clone();
    best.setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .setup_taskrun_flag();
    match best.build(entries) {
        Ok(ring) => Ok((ring, true)),
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok((plain.build(entries)?, false)),
        Err(e) => Err(e),
    }
}

fn register(ring: &IoUring, memory: &Memory, fds: &[RawFd]) -> Result<bool, TargetError> {
    if !ring.params().is_feature_ext_arg() {
        return Err(refused("wait with a timeout")(io::ErrorKind::Unsupported.into()));
    }
    ring.submitter()
        .register_files(fds)
        .map_err(refused("register files"))?;
    let chunk = 1u64 << CHUNK_SHIFT;
    let buffers: Vec<libc::iovec> = (0..memory.len().div_ceil(chunk))
        .map(|index| {
            let len = chunk.min(memory.len() - index * chunk) as usize;
            libc::iovec {
                iov_base: memory.address(index * chunk, len).cast(),
                iov_len: len,
            }
        })
        .collect();
    // SAFETY: the memory outlives the ring's use of it: `Ring` owns both and drops the memory last.
    Ok(!buffers.is_empty() && unsafe { ring.submitter().register_buffers(&buffers) }.is_ok())
}

impl Ring {
    pub(crate) fn new(fds: Vec<RawFd>, memory: Memory, depth: usize) -> Result<Ring, TargetError> {
        let (ring, deferred_task_run) = build(depth).map_err(refused("set up"))?;
        let registered_buffers = register(&ring, &memory, &fds)?;
        let grant = RingGrant {
            registered_buffers,
            deferred_task_run,
        };
        Ok(Ring {
            ring,
            memory,
            fds,
            depth,
            enabled: false,
            grant,
            outstanding: 0,
        })
    }

    pub(crate) fn grant(&self) -> RingGrant {
        self.grant
    }

    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Queues a transfer; its result comes back under `slot`.
    #[inline]
    pub(crate) fn push(&mut self, transfer: &Transfer, slot: u32) -> Result<(), TargetError> {
        let Transfer {
            op,
            file,
            offset,
            at,
            len,
        } = *transfer;
        let fd = Fixed(u32::from(file));
        let entry = if op == Op::Flush {
            opcode::Fsync::new(fd)
                .flags(io_uring::types::FsyncFlags::DATASYNC)
                .build()
        } else {
            let place = self.memory.address(at, len as usize);
            let chunk = (at >> CHUNK_SHIFT) as u16;
            let fixed =
                self.grant.registered_buffers && (at + u64::from(len).max(1) - 1) >> CHUNK_SHIFT == u64::from(chunk);
            match (op, fixed) {
                (Op::Read, true) => opcode::ReadFixed::new(fd, place, len, chunk).offset(offset).build(),
                (Op::Read, false) => opcode::Read::new(fd, place, len).offset(offset).build(),
                (_, true) => opcode::WriteFixed::new(fd, place, len, chunk).offset(offset).build(),
                (_, false) => opcode::Write::new(fd, place, len).offset(offset).build(),
            }
        };
        self.push_entry(&entry.user_data(u64::from(slot)))?;
        self.outstanding += 1;
        Ok(())
    }

    /// Queues a poll that ends, once, when `fd` can be read.
    #[cold]
    pub(crate) fn push_poll(&mut self, fd: RawFd) -> Result<(), TargetError> {
        let entry = opcode::PollAdd::new(Fd(fd), libc::POLLIN as u32)
            .build()
            .user_data(POLL);
        self.push_entry(&entry)
    }

    #[inline]
    fn push_entry(&mut self, entry: &squeue::Entry) -> Result<(), TargetError> {
        // SAFETY: what an entry points to is the ring's own memory, which is kept until the kernel is done with it.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(0, None)?;
        }
        Ok(())
    }

    /// Whether an `enter` that waits for nothing would do anything.
    #[inline]
    pub(crate) fn idle(&mut self) -> bool {
        let queue = self.ring.submission();
        queue.is_empty() && (!self.grant.deferred_task_run || !queue.taskrun()) && !queue.cq_overflow()
    }

    /// Sends what is queued and waits for `want` results or `until`. May return with fewer: the caller looks and asks again.
    #[inline]
    pub(crate) fn enter(&mut self, want: usize, until: Option<Nanos>) -> Result<(), TargetError> {
        if !self.enabled {
            self.enable()?;
        }
        let sent = match until {
            Some(until) if want > 0 => {
                let span = span_until(until);
                let span = Timespec::new().sec(span.tv_sec as u64).nsec(span.tv_nsec as u32);
                self.ring
                    .submitter()
                    .submit_with_args(want, &SubmitArgs::new().timespec(&span))
            }
            _ => self.ring.submitter().submit_and_wait(want),
        };
        match sent {
            Ok(_) => Ok(()),
            Err(e) => self.forgive(e),
        }
    }

    /// The ring belongs to the thread that first uses it, which need not be the one that opened it.
    #[cold]
    fn enable(&mut self) -> Result<(), TargetError> {
        self.ring
            .submitter()
            .register_enable_rings()
            .map_err(refused("enable"))?;
        self.enabled = true;
        Ok(())
    }

    #[cold]
    fn forgive(&mut self, error: io::Error) -> Result<(), TargetError> {
        match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EBUSY) => Ok(()),
            // The kernel is short of memory for a request; what is in flight gives some back.
            Some(libc::EAGAIN) if self.outstanding > 0 => {
                std::thread::sleep(std::time::Duration::from_micros(50));
                Ok(())
            }
            _ => Err(refused("send requests and wait")(error)),
        }
    }

    /// Whether an error of `enter` says that another thread has used the ring before.
    pub(crate) fn is_foreign(error: &TargetError) -> bool {
        matches!(error, TargetError::Ring { source, .. } if source.raw_os_error() == Some(Errno::EXIST.raw_os_error()))
    }

    /// Makes a new ring for this thread. Nothing may be in the kernel but the poll; what was queued is forgotten.
    pub(crate) fn rebuild(&mut self) -> Result<(), TargetError> {
        let (ring, deferred_task_run) = build(self.depth).map_err(refused("set up again for another thread"))?;
        let registered_buffers = register(&ring, &self.memory, &self.fds)?;
        self.ring = ring;
        self.grant = RingGrant {
            registered_buffers,
            deferred_task_run,
        };
        self.enabled = false;
        self.outstanding = 0;
        Ok(())
    }

    /// Requests that the kernel has not been given yet.
    pub(crate) fn queued(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// Hands each result that has come to `each`.
    #[inline]
    pub(crate) fn reap(&mut self, mut each: impl FnMut(u64, i32)) {
        let mut reaped = 0;
        for entry in self.ring.completion() {
            reaped += usize::from(entry.user_data() != POLL);
            each(entry.user_data(), entry.result());
        }
        self.outstanding -= reaped;
    }

    /// Waits until the kernel holds no transfer; false when it can't be waited for.
    fn drain(&mut self) -> bool {
        if self.queued() >= self.outstanding {
            return true;
        }
        while self.outstanding > 0 {
            let want = self.outstanding;
            if self.enter(want, None).is_err() {
                return false;
            }
            self.reap(|_, _| {});
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.drain() {
            // The kernel takes rings apart some time after they are closed; files still registered then keep their file
            // system from being unmounted.
            let _ = self.ring.submitter().unregister_files();
            let _ = self.ring.submitter().unregister_buffers();
        } else if let Ok(empty) = Memory::new(0, false) {
            // The kernel may still write there, and no one can be asked when it stops: the address space is given up.
            std::mem::forget(std::mem::replace(&mut self.memory, empty));
        }
    }
}
