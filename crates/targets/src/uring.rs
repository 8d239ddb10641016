//! The ring port: io_uring with registered files and buffers, submission in batches, waits in the kernel.
//!
//! Takes requests into a fixed table of slots, sends them in short batches and with the next wait, gives completions. No allocation, no lock
//! and no clock reading per I/O. Prevents a thread that spins while idle, and a short transfer taken for a whole one.

use crate::bell::Bell;
use crate::clock::monotonic_ns;
use crate::error::{IoFault, TargetError};
use crate::memory::Memory;
use crate::open::{Files, OpenSpec};
use crate::port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
use crate::ring::{POLL, Ring, RingGrant, Transfer};

/// A transfer that the kernel keeps putting off is an error after this many times.
const RETRIES_MAX: u8 = 200;

/// Requests that are queued before they are sent without waiting for more. The kernel hands a batch to the device when it has
/// prepared all of it, so a burst of completions answered by one long batch leaves the device idle meanwhile: where many
/// complete at once (a virtual disk) that took 7 % of the rate. Shorter batches cost a system call each.
const BATCH: u32 = 4;

#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    /// Bytes moved so far, of `wanted`.
    got: u32,
    /// The request's length; 0 for a flush, whose result is 0.
    wanted: u32,
    retries: u8,
    used: bool,
}

impl Slot {
    fn transfer(&self) -> Transfer {
        let Request {
            op, file, offset, at, ..
        } = self.request;
        let (offset, at) = (offset + u64::from(self.got), at + u64::from(self.got));
        Transfer {
            op,
            file: file.0,
            offset,
            at,
            len: self.wanted - self.got,
        }
    }
}

/// A port on io_uring. Opened on any thread; the first that waits on it owns it. It may move to another thread when nothing
/// is in flight, at the price of a new ring.
pub struct UringPort {
    /// Before the files: what is in flight ends before they are closed.
    ring: Ring,
    files: Files,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Results that are not the plain success of a whole request.
    odd: Vec<(u64, i32)>,
    bell: Bell,
    armed: bool,
    /// Requests queued since the last time that any were sent.
    unsent: u32,
}

impl UringPort {
    /// Opens files and devices, with `memory_bytes` of buffer memory and room for `depth` requests.
    pub fn open(specs: &[OpenSpec], memory_bytes: u64, depth: usize) -> Result<UringPort, TargetError> {
        let files = Files::open(specs)?;
        let memory = Memory::new(memory_bytes, true)?;
        let nothing = Request {
            op: Op::Flush,
            file: FileId(0),
            offset: 0,
            at: 0,
            len: 0,
            token: 0,
        };
        let empty = Slot {
            request: nothing,
            got: 0,
            wanted: 0,
            retries: 0,
            used: false,
        };
        let slots = u32::try_from(depth).map_err(|_| TargetError::TooDeep { depth })?;
        Ok(UringPort {
            ring: Ring::new(files.raw_fds(), memory, depth)?,
            files,
            slots: vec![empty; depth],
            free: (0..slots).rev().collect(),
            odd: Vec::with_capacity(depth + 2),
            bell: Bell::new()?,
            armed: false,
            unsent: 0,
        })
    }

    /// What the kernel agreed to when the ring was made.
    pub fn grant(&self) -> RingGrant {
        self.ring.grant()
    }

    fn enter(&mut self, want: usize, until: Option<Nanos>) -> Result<(), TargetError> {
        self.unsent = 0;
        match self.ring.enter(want, until) {
            Err(e) if Ring::is_foreign(&e) => self.move_to_this_thread(e),
            entered => entered,
        }
    }

    #[cold]
    fn move_to_this_thread(&mut self, error: TargetError) -> Result<(), TargetError> {
        let queued = self.ring.queued();
        // The poll on the waker, if armed, dies with the old ring.
        if self.in_flight() > queued {
            return Err(error);
        }
        self.ring.rebuild()?;
        self.armed = false;
        for index in 0..self.slots.len() {
            if self.slots[index].used {
                self.ring.push(&self.slots[index].transfer(), index as u32)?;
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
        ring.reap(|user, result| {
            if let Some(slot) = slots.get_mut(user as usize)
                && i64::from(result) == i64::from(slot.wanted)
            {
                slot.used = false;
                free.push(user as u32);
                done.push(Completion {
                    token: slot.request.token,
                    result: Ok(()),
                });
            } else {
                odd.push((user, result));
            }
        });
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
                woken |= self.bell.taken();
            } else if let Some(result) = self.settle(user as u32, result)? {
                let slot = &mut self.slots[user as usize];
                slot.used = false;
                self.free.push(user as u32);
                done.push(Completion {
                    token: slot.request.token,
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
                if slot.got == slot.wanted {
                    return Ok(Some(Ok(())));
                }
                // Direct I/O stops off its alignment only at the end of a file, and can't be continued there.
                if moved == 0 || !slot.got.is_multiple_of(self.files.alignment_of(slot.request.file)) {
                    return Ok(Some(Err(IoFault::Short {
                        got: slot.got,
                        wanted: slot.wanted,
                    })));
                }
                slot.retries = 0;
            }
        }
        let transfer = slot.transfer();
        self.ring.push(&transfer, index)?;
        Ok(None)
    }
}

impl Port for UringPort {
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

    fn alignment(&self) -> u32 {
        self.files.alignment()
    }

    fn depth(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let Some(index) = self.free.pop() else {
            return Err(TargetError::TooDeep {
                depth: self.slots.len(),
            });
        };
        let wanted = if request.op == Op::Flush { 0 } else { request.len };
        let slot = Slot {
            request,
            got: 0,
            wanted,
            retries: 0,
            used: true,
        };
        self.slots[index as usize] = slot;
        self.ring.push(&slot.transfer(), index)?;
        self.unsent += 1;
        if self.unsent >= BATCH {
            return self.enter(0, None);
        }
        Ok(())
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

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.files.size(file)
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        self.files.grow(file, size)
    }

    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        self.files.extents(file)
    }

    fn waker(&self) -> Waker {
        self.bell.waker()
    }
}
