//! One io_uring with its memory: the part of the ring port that needs `unsafe`.
//!
//! Takes transfers by slot number, gives (slot, result) pairs. The memory belongs to the ring and is given back only
//! when the kernel holds no request into it. Prevents a write of the kernel into memory that is something else by then.
#![allow(unsafe_code)]

use crate::clock::span_until;
use crate::error::TargetError;
use crate::memory::Memory;
use crate::port::{FileId, Nanos, Op, Request};
use crate::ports::queues::Queues;
use rustix::fd::RawFd;
use rustix::io::Errno;
use rustix::io_uring::{
    IoringFsyncFlags, IoringOp, IoringSqeFlags, addr_or_splice_off_in_union, buf_union, io_uring_ptr, io_uring_sqe,
    io_uring_user_data, len_union, off_or_addr2_union, op_flags_union,
};
use rustix::time::Timespec;

/// The kernel takes registered buffers of at most this size.
const CHUNK_SHIFT: u32 = 30;
/// Requests that are queued before they are sent without waiting for more. The kernel hands a batch to the device when
/// it has prepared all of it, so a burst of completions answered by one long batch leaves the device idle meanwhile:
/// where many complete at once (a virtual disk) that took 7 % of the rate. But each batch costs a system call, and a
/// virtual disk a notice to its host. So the first batch after a wait is short, and each further one twice as long.
const BATCHES: (u32, u32) = (4, 32);
/// A batch, and the poll.
const ENTRIES: u32 = 2 * BATCHES.1;
/// Marks the completion of the poll on the waker.
pub(crate) const POLL: u64 = u64::MAX;
/// A device that gives no result for so long is given up, seconds. Drivers repeat for minutes before they give up.
const PATIENCE_S: i64 = 600;

/// What the kernel agreed to when the ring was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingGrant {
    /// Buffers are registered: no page is looked up and pinned per I/O. Otherwise `RLIMIT_MEMLOCK` was too low.
    pub registered_buffers: bool,
    /// Completions are run by the waiting thread alone (Linux 6.1 and later).
    pub deferred_task_run: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Poll {
    None,
    Queued,
    Taken,
}

pub(crate) struct Ring {
    queues: Queues,
    memory: Memory,
    fds: Vec<RawFd>,
    depth: usize,
    enabled: bool,
    grant: RingGrant,
    /// The poll, which has no part of the memory: whether it is among the requests, and whether the kernel has it.
    poll: Poll,
    /// Requests that make the next batch.
    batch: u32,
    /// Memory up to here lies in the first registered buffer; 0 where memory is not registered.
    near_bytes: u64,
    /// How long a wait without an end lasts with no result.
    patience: Timespec,
    /// A wait has lasted that long.
    silent: bool,
}

fn refused(what: &'static str) -> impl Fn(Errno) -> TargetError {
    move |source| TargetError::Ring {
        what,
        source: source.into(),
    }
}

fn build(depth: usize, what: &'static str) -> Result<Queues, TargetError> {
    let completions = u32::try_from(depth + 4).unwrap_or(u32::MAX / 4).next_power_of_two();
    let queues = Queues::new(ENTRIES, completions.max(2 * ENTRIES)).map_err(refused(what))?;
    if queues.can_wait_until() {
        Ok(queues)
    } else {
        Err(refused("wait with a timeout")(Errno::OPNOTSUPP))
    }
}

fn register(queues: &Queues, memory: &Memory, fds: &[RawFd]) -> Result<bool, TargetError> {
    queues.register_files(fds).map_err(refused("register files"))?;
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
    Ok(!buffers.is_empty() && unsafe { queues.register_buffers(&buffers) }.is_ok())
}

fn near_bytes(registered: bool, memory: &Memory) -> u64 {
    if registered {
        memory.len().min(1 << CHUNK_SHIFT)
    } else {
        0
    }
}

/// The parts of an entry that every transfer has.
#[inline(always)]
fn transfer(request: Request, slot: u32) -> io_uring_sqe {
    io_uring_sqe {
        flags: IoringSqeFlags::FIXED_FILE,
        fd: RawFd::from(request.file.0),
        off_or_addr2: off_or_addr2_union { off: request.offset },
        len: len_union { len: request.len },
        user_data: io_uring_user_data::from_u64(u64::from(slot)),
        ..Default::default()
    }
}

impl Ring {
    pub(crate) fn new(fds: Vec<RawFd>, memory: Memory, depth: usize) -> Result<Ring, TargetError> {
        let queues = build(depth, "set up")?;
        let registered_buffers = register(&queues, &memory, &fds)?;
        let grant = RingGrant {
            registered_buffers,
            deferred_task_run: queues.deferred(),
        };
        let near_bytes = near_bytes(registered_buffers, &memory);
        Ok(Ring {
            queues,
            memory,
            fds,
            depth,
            enabled: false,
            grant,
            poll: Poll::None,
            batch: BATCHES.0,
            near_bytes,
            patience: Timespec {
                tv_sec: PATIENCE_S,
                tv_nsec: 0,
            },
            silent: false,
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

    /// Queues a transfer the short way; its result comes back under `slot`. Sends what waits when that has become a
    /// batch. False, and nothing queued, when it is not that simple: then [`Ring::push`] is for it.
    #[inline(always)]
    pub(crate) fn push_near(&mut self, request: Request, slot: u32) -> bool {
        let Request { op, at, len, .. } = request;
        let end = at.wrapping_add(u64::from(len));
        if op == Op::Flush || end > self.near_bytes || end < at || !self.has_room() {
            return false;
        }
        let opcode = if op == Op::Read {
            IoringOp::ReadFixed
        } else {
            IoringOp::WriteFixed
        };
        let entry = io_uring_sqe {
            opcode,
            addr_or_splice_off_in: addr_or_splice_off_in_union {
                addr: io_uring_ptr::new(self.memory.place(at).cast()),
            },
            ..transfer(request, slot)
        };
        // SAFETY: the entry points to the ring's own memory, which is kept until the kernel is done with it.
        unsafe { self.queues.push(entry) }
    }

    #[inline(always)]
    fn has_room(&mut self) -> bool {
        self.queues.queued() < self.batch || (self.enabled && self.poll != Poll::Queued && self.send())
    }

    fn send(&mut self) -> bool {
        self.batch = (2 * self.batch).min(BATCHES.1);
        self.queues.send()
    }

    /// Queues any transfer or flush; its result comes back under `slot`.
    #[cold]
    pub(crate) fn push(&mut self, request: Request, slot: u32) -> Result<(), TargetError> {
        let Request { op, file, at, len, .. } = request;
        if op == Op::Flush {
            return self.push_flush(file, slot);
        }
        let chunk = at >> CHUNK_SHIFT;
        // A transfer across the border of two registered buffers goes unregistered.
        let fixed = self.grant.registered_buffers && (at + u64::from(len)).wrapping_sub(1) >> CHUNK_SHIFT == chunk;
        let opcode = match (op, fixed) {
            (Op::Read, true) => IoringOp::ReadFixed,
            (Op::Read, false) => IoringOp::Read,
            (_, true) => IoringOp::WriteFixed,
            (_, false) => IoringOp::Write,
        };
        let place = self.memory.address(at, len as usize);
        self.push_entry(io_uring_sqe {
            opcode,
            addr_or_splice_off_in: addr_or_splice_off_in_union {
                addr: io_uring_ptr::new(place.cast()),
            },
            // Not looked at where the memory is not registered.
            buf: buf_union {
                buf_index: chunk as u16,
            },
            ..transfer(request, slot)
        })
    }

    #[cold]
    fn push_flush(&mut self, file: FileId, slot: u32) -> Result<(), TargetError> {
        self.push_entry(io_uring_sqe {
            opcode: IoringOp::Fsync,
            flags: IoringSqeFlags::FIXED_FILE,
            fd: RawFd::from(file.0),
            op_flags: op_flags_union {
                fsync_flags: IoringFsyncFlags::DATASYNC,
            },
            user_data: io_uring_user_data::from_u64(u64::from(slot)),
            ..Default::default()
        })
    }

    /// Queues a poll that ends, once, when `fd` can be read.
    #[cold]
    pub(crate) fn push_poll(&mut self, fd: RawFd) -> Result<(), TargetError> {
        let events = libc::POLLIN as u32;
        self.poll = Poll::Queued;
        self.push_entry(io_uring_sqe {
            opcode: IoringOp::PollAdd,
            fd,
            // The kernel wants the halves exchanged where bytes run the other way.
            op_flags: op_flags_union {
                poll32_events: events.rotate_left(if cfg!(target_endian = "big") { 16 } else { 0 }),
            },
            user_data: io_uring_user_data::from_u64(POLL),
            ..Default::default()
        })
    }

    fn push_entry(&mut self, entry: io_uring_sqe) -> Result<(), TargetError> {
        while self.queues.queued() >= BATCHES.1 {
            self.enter(0, None)?;
        }
        // SAFETY: what an entry points to is the ring's own memory, which is kept until the kernel is done with it.
        let pushed = unsafe { self.queues.push(entry) };
        assert!(pushed, "the queue has room for more than a batch");
        Ok(())
    }

    /// Whether an `enter` that waits for nothing would do anything.
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.queues.queued() == 0 && !self.queues.holds_results()
    }

    /// Sends what is queued and waits for `want` results or `until`. May return with fewer: the caller looks and asks
    /// again. [`TargetError::Silent`] when it would wait without an end for a device that gives no result.
    #[inline]
    pub(crate) fn enter(&mut self, want: usize, until: Option<Nanos>) -> Result<(), TargetError> {
        if !self.enabled {
            self.enable()?;
        }
        self.batch = BATCHES.0;
        let span = match until {
            _ if want == 0 => None,
            Some(until) => Some(span_until(until)),
            None => Some(self.patience),
        };
        match self.queues.enter(want as u32, span.as_ref()) {
            Ok(()) => {
                if self.poll == Poll::Queued && self.queues.queued() == 0 {
                    self.poll = Poll::Taken;
                }
                Ok(())
            }
            Err(Errno::TIME) if until.is_none() && self.ready() == 0 => {
                self.silent = true;
                Err(TargetError::Silent {
                    requests: self.outstanding(),
                    seconds: self.patience.tv_sec as u64,
                })
            }
            Err(e) => self.forgive(e),
        }
    }

    /// The ring belongs to the thread that first uses it, which need not be the one that opened it.
    #[cold]
    fn enable(&mut self) -> Result<(), TargetError> {
        self.queues.enable().map_err(refused("enable"))?;
        self.enabled = true;
        Ok(())
    }

    #[cold]
    fn forgive(&mut self, error: Errno) -> Result<(), TargetError> {
        match error {
            Errno::TIME | Errno::INTR | Errno::BUSY => Ok(()),
            // The kernel is short of memory for a request; what is in flight gives some back.
            Errno::AGAIN if self.outstanding() > 0 => {
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
        let queues = build(self.depth, "set up again for another thread")?;
        let registered_buffers = register(&queues, &self.memory, &self.fds)?;
        self.grant = RingGrant {
            registered_buffers,
            deferred_task_run: queues.deferred(),
        };
        self.near_bytes = near_bytes(registered_buffers, &self.memory);
        self.queues = queues;
        self.enabled = false;
        self.poll = Poll::None;
        Ok(())
    }

    /// Whether the kernel has transfers or flushes whose result has not been read.
    pub(crate) fn holds_transfers(&self) -> bool {
        self.queues.taken() > u32::from(self.poll == Poll::Taken)
    }

    /// Transfers and flushes whose result has not been read.
    fn outstanding(&self) -> usize {
        self.queues.outstanding() as usize - usize::from(self.poll != Poll::None)
    }

    /// Results that can be read now.
    #[inline]
    pub(crate) fn ready(&self) -> u32 {
        self.queues.ready()
    }

    /// Hands the next `count` results to `each`; at most [`Ring::ready`] may be asked for. One of [`POLL`] goes to
    /// [`Ring::poll_ended`] as well.
    #[inline]
    pub(crate) fn reap(&mut self, count: u32, each: impl FnMut(u64, i32)) {
        self.queues.reap(count, each);
    }

    /// Notes that the result of the poll was read.
    pub(crate) fn poll_ended(&mut self) {
        self.poll = Poll::None;
    }

    /// Waits until the kernel holds no transfer; false when it can't be waited for.
    fn drain(&mut self) -> bool {
        if !self.holds_transfers() {
            return true;
        }
        while self.outstanding() > 0 {
            if self.silent {
                return false;
            }
            let want = self.outstanding();
            if self.enter(want, None).is_err() {
                return false;
            }
            let mut poll_ended = false;
            let ready = self.queues.ready();
            self.queues.reap(ready, |user, _| poll_ended |= user == POLL);
            if poll_ended {
                self.poll_ended();
            }
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.drain() {
            // The kernel takes rings apart some time after they are closed; files still registered then keep their file
            // system from being unmounted.
            self.queues.unregister();
        } else if let Ok(empty) = Memory::new(0, false) {
            // The kernel may still write there, and no one can be asked when it stops: the address space is given up.
            std::mem::forget(std::mem::replace(&mut self.memory, empty));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsRawFd;

    #[test]
    fn a_device_that_gives_no_result_is_given_up() {
        let (never, _held) = std::io::pipe().unwrap();
        let mut ring = Ring::new(vec![never.as_raw_fd()], Memory::new(4096, true).unwrap(), 1).unwrap();
        ring.patience = Timespec {
            tv_sec: 0,
            tv_nsec: 2_000_000,
        };
        let request = Request {
            op: Op::Read,
            file: FileId(0),
            offset: 0,
            at: 0,
            len: 512,
            token: 0,
        };
        ring.push(request, 0).unwrap();
        // A call that sends something counts what it sent, and says nothing of its wait.
        ring.enter(1, None).unwrap();
        let silent = ring.enter(1, None).unwrap_err();
        assert!(matches!(silent, TargetError::Silent { requests: 1, .. }), "{silent}");
        assert!(!ring.drain(), "its memory is the kernel's");
    }
}
