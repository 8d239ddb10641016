//! The ring port: io_uring with registered files and buffers, submission in batches, waits in the kernel.
//!
//! Takes requests into a fixed table of slots, sends them in short batches and with the next wait, gives completions.
//! No allocation, no lock and no clock reading per I/O. Prevents a thread that spins while idle, and a short transfer
//! taken for a whole one.

use crate::clock::monotonic_ns;
use crate::error::{IoFault, TargetError};
use crate::left_to;
use crate::memory::Memory;
use crate::open::{Files, OpenSpec};
use crate::port::{Completion, FileId, Nanos, Op, Port, Request};
use crate::ports::bell::Bell;
use crate::ports::ring::{POLL, Ring, RingGrant};

/// A transfer that the kernel keeps putting off is an error after this many times.
const RETRIES_MAX: u8 = 200;

/// A request under way. Field by field, not a whole [`Request`]: that would be put together in memory and copied.
#[derive(Clone, Copy)]
struct Slot {
    offset: u64,
    at: u64,
    token: u64,
    /// 0 for a flush, whose result it is.
    len: u32,
    /// Bytes moved so far.
    got: u32,
    /// The next free slot, or [`IN_USE`].
    next: u32,
    file: FileId,
    op: Op,
    retries: u8,
}

impl Slot {
    fn free(next: u32) -> Slot {
        Slot {
            offset: 0,
            at: 0,
            token: 0,
            len: 0,
            got: 0,
            next,
            file: FileId(0),
            op: Op::Flush,
            retries: 0,
        }
    }

    /// What is still to be done.
    fn rest(&self) -> Request {
        let got = u64::from(self.got);
        Request {
            op: self.op,
            file: self.file,
            offset: self.offset + got,
            at: self.at + got,
            len: self.len - self.got,
            token: self.token,
        }
    }
}

/// In place of the next free slot: this one is not free. No slot has so high a number.
const IN_USE: u32 = u32::MAX;
/// In place of the next free slot: there is none.
const NO_SLOT: u32 = u32::MAX - 1;

/// A port on io_uring. Opened on any thread; the first that waits on it owns it. It may move to another thread when
/// nothing is in flight, at the price of a new ring.
pub struct UringPort {
    /// Before the files: what is in flight ends before they are closed.
    ring: Ring,
    files: Files,
    slots: Vec<Slot>,
    /// The first free slot; the others follow by [`Slot::next`].
    free: u32,
    in_flight: usize,
    /// Results that are not the plain success of a whole request.
    odd: Vec<(u64, i32)>,
    bell: Bell,
    armed: bool,
}

impl UringPort {
    /// Opens files and devices, with `memory_bytes` of buffer memory and room for `depth` requests.
    pub fn open(specs: &[OpenSpec], memory_bytes: u64, depth: usize) -> Result<UringPort, TargetError> {
        let files = Files::open(specs)?;
        let memory = Memory::new(memory_bytes, true)?;
        let slots = u32::try_from(depth)
            .ok()
            .filter(|depth| *depth < NO_SLOT)
            .ok_or(TargetError::TooDeep { depth })?;
        let last = slots.saturating_sub(1);
        let slots: Vec<Slot> = (0..slots)
            .map(|nth| Slot::free(if nth == last { NO_SLOT } else { nth + 1 }))
            .collect();
        Ok(UringPort {
            ring: Ring::new(files.raw_fds(), memory, depth)?,
            files,
            free: if slots.is_empty() { NO_SLOT } else { 0 },
            slots,
            in_flight: 0,
            odd: Vec::with_capacity(depth + 2),
            bell: Bell::new()?,
            armed: false,
        })
    }

    /// What the kernel agreed to when the ring was made.
    pub fn grant(&self) -> RingGrant {
        self.ring.grant()
    }

    fn enter(&mut self, want: usize, until: Option<Nanos>) -> Result<(), TargetError> {
        match self.ring.enter(want, until) {
            Err(e) if Ring::is_foreign(&e) => self.move_to_this_thread(e),
            entered => entered,
        }
    }

    /// Queues what stands in a slot; what can't be done the short way.
    #[cold]
    fn push(&mut self, index: u32) -> Result<(), TargetError> {
        match self.ring.push(self.slots[index as usize].rest(), index) {
            Err(e) if Ring::is_foreign(&e) => self.move_to_this_thread(e),
            pushed => pushed,
        }
    }

    #[cold]
    fn move_to_this_thread(&mut self, error: TargetError) -> Result<(), TargetError> {
        // The poll on the waker, if armed, dies with the old ring.
        if self.ring.holds_transfers() {
            return Err(error);
        }
        self.ring.rebuild()?;
        self.armed = false;
        for index in 0..self.slots.len() {
            if self.slots[index].next == IN_USE {
                self.ring.push(self.slots[index].rest(), index as u32)?;
            }
        }
        self.ring.enter(0, None)
    }

    /// Takes what has come; true when a waker was used.
    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>) -> Result<bool, TargetError> {
        let UringPort {
            ring, slots, free, odd, ..
        } = self;
        let ready = ring.ready();
        done.reserve(ready as usize);
        ring.reap(ready, |user, result| {
            if let Some(slot) = slots.get_mut(user as usize)
                && i64::from(result) == i64::from(slot.len)
            {
                slot.next = std::mem::replace(free, user as u32);
                done.push(Completion {
                    token: slot.token,
                    result: Ok(()),
                });
            } else {
                odd.push((user, result));
            }
        });
        self.in_flight -= ready as usize - self.odd.len();
        if self.odd.is_empty() {
            Ok(false)
        } else {
            self.settle_odd(done)
        }
    }

    #[cold]
    fn settle_odd(&mut self, done: &mut Vec<Completion>) -> Result<bool, TargetError> {
        let mut woken = false;
        let mut odd = std::mem::take(&mut self.odd);
        for (user, result) in odd.drain(..) {
            if user == POLL {
                self.armed = false;
                self.ring.poll_ended();
                woken |= self.bell.taken();
            } else if let Some(result) = self.settle(user as u32, result)? {
                let slot = &mut self.slots[user as usize];
                slot.next = std::mem::replace(&mut self.free, user as u32);
                self.in_flight -= 1;
                done.push(Completion {
                    token: slot.token,
                    result,
                });
            }
        }
        self.odd = odd;
        Ok(woken)
    }

    /// The end of a request whose result was not its length, or `None` when it was sent again for the rest.
    fn settle(&mut self, index: u32, result: i32) -> Result<Option<Result<(), IoFault>>, TargetError> {
        let slot = &mut self.slots[index as usize];
        match result {
            result if result < 0 => {
                let errno = -result;
                if !matches!(errno, libc::EINTR | libc::EAGAIN) || slot.retries >= RETRIES_MAX {
                    return Ok(Some(Err(IoFault::Errno(errno))));
                }
                slot.retries += 1;
            }
            moved => {
                slot.got += moved as u32;
                if slot.got == slot.len {
                    return Ok(Some(Ok(())));
                }
                // Direct I/O stops off its alignment only at the end of a file, and can't be continued there.
                if moved == 0 || !slot.got.is_multiple_of(self.files.alignment_of(slot.file)) {
                    return Ok(Some(Err(IoFault::Short {
                        got: slot.got,
                        wanted: slot.len,
                    })));
                }
                slot.retries = 0;
            }
        }
        let rest = slot.rest();
        self.ring.push(rest, index)?;
        Ok(None)
    }
}

impl Port for UringPort {
    left_to!(files: alignment, size, grow, extents);
    left_to!(bell: waker);

    #[inline]
    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn memory(&self) -> u64 {
        self.ring.memory().len()
    }

    #[inline]
    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.ring.memory().bytes(at, len)
    }

    #[inline]
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.ring.memory_mut().bytes_mut(at, len)
    }

    fn depth(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.in_flight
    }

    #[inline(always)]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let index = self.free;
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return Err(TargetError::TooDeep {
                depth: self.slots.len(),
            });
        };
        let len = if request.op == Op::Flush { 0 } else { request.len };
        let request = Request { len, ..request };
        self.free = slot.next;
        *slot = Slot {
            offset: request.offset,
            at: request.at,
            token: request.token,
            len,
            got: 0,
            next: IN_USE,
            file: request.file,
            op: request.op,
            retries: 0,
        };
        self.in_flight += 1;
        if self.ring.push_near(request, index) {
            Ok(())
        } else {
            self.push(index)
        }
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        loop {
            let have = done.len() - before;
            let mut want = min.saturating_sub(have).min(self.in_flight());
            if want > 0 && self.bell.asked() {
                if !self.armed {
                    self.ring.push_poll(self.bell.raw_fd())?;
                    self.armed = true;
                }
                // A wake is one result among others: only a wait for a single one is sure to end with it.
                want = 1;
            }
            if want > 0 || !self.ring.idle() {
                self.enter(want, until)?;
            }
            let woken = self.reap(done)?;
            if done.len() - before >= min || woken {
                return Ok(());
            }
            let Some(until) = until else {
                if self.in_flight() == 0 {
                    return Ok(());
                }
                continue;
            };
            if monotonic_ns() >= until {
                return Ok(());
            }
            if self.in_flight() == 0 {
                self.bell.sleep(until);
                return Ok(());
            }
        }
    }
}
