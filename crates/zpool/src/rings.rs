//! The memory that a port shares with the server: two rings and the port's buffers, in one mapping.
//!
//! Layout, from the start: a page of words, one to a cache line ([`Word`]); the ring of requests, four words each; the
//! ring of completions, one word each; from the next page on the port's memory. One thread submits and many take; many
//! complete and one collects. A completion carries the lap of the ring that it belongs to, so that an old one is never
//! taken for a new one. Prevents: a lost wake between two processes: who wants to sleep says so, then looks again.
#![allow(unsafe_code)]

use crate::message::PortShape;
use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;
use targets::{FileId, IoFault, Op};

const PAGE: u64 = 4096;
const LINE: usize = 64;
const REQUEST_BYTES: u64 = 32;
const SHORT: u32 = 1 << 31;
/// A ring has at most so many entries: the lap of a completion has 16 bits.
pub(crate) const DEPTH_MAX: u32 = 1 << 15;

/// Words of the first page.
#[derive(Clone, Copy)]
enum Word {
    /// Requests submitted so far.
    Submitted = 0,
    /// Requests taken so far.
    Taken = 1,
    /// Threads of the server that sleep.
    Sleepers = 2,
    /// The server's threads are to end.
    Stop = 3,
    /// Places of the completion ring given out so far.
    Ended = 4,
    /// The collector sleeps until so many have ended.
    WakeAt = 5,
    /// The collector sleeps.
    Waiting = 6,
}

/// A request as it lies in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) op: Op,
    pub(crate) file: FileId,
    /// The submitter's place for its own token.
    pub(crate) slot: u16,
    pub(crate) len: u32,
    pub(crate) offset: u64,
    pub(crate) at: u64,
}

/// The mapping. Each process has its own of the same memory.
pub(crate) struct Rings {
    start: NonNull<u8>,
    bytes: usize,
    ring: u32,
    memory_at: usize,
    memory: u64,
}

// SAFETY: everything but the buffers is atomic; who may touch a buffer is the ports' contract.
unsafe impl Send for Rings {}
// SAFETY: as above.
unsafe impl Sync for Rings {}

fn entries(depth: u32) -> u32 {
    depth.max(1).next_power_of_two()
}

fn memory_offset(ring: u32) -> u64 {
    (PAGE + u64::from(ring) * (REQUEST_BYTES + 8)).next_multiple_of(PAGE)
}

/// Bytes of the mapping for a port.
pub(crate) fn bytes_needed(shape: PortShape) -> u64 {
    memory_offset(entries(shape.depth)) + shape.memory.next_multiple_of(PAGE)
}

impl Rings {
    pub(crate) fn map(fd: impl AsFd, shape: PortShape) -> io::Result<Rings> {
        let ring = entries(shape.depth);
        let bytes = usize::try_from(bytes_needed(shape)).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, 0) }?;
        let start = NonNull::new(start.cast()).expect("mmap does not give address 0");
        let memory_at = memory_offset(ring) as usize;
        Ok(Rings {
            start,
            bytes,
            ring,
            memory_at,
            memory: shape.memory,
        })
    }

    fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: inside the first page, aligned, only ever used as an atomic.
        unsafe { self.start.add(word as usize * LINE).cast::<AtomicU32>().as_ref() }
    }

    fn request(&self, position: u32) -> &[AtomicU64; 4] {
        let nth = (position & (self.ring - 1)) as usize;
        // SAFETY: inside the ring of requests by the mask.
        unsafe {
            self.start
                .add(PAGE as usize + nth * REQUEST_BYTES as usize)
                .cast::<[AtomicU64; 4]>()
                .as_ref()
        }
    }

    fn completion(&self, position: u32) -> &AtomicU64 {
        let before = PAGE as usize + self.ring as usize * REQUEST_BYTES as usize;
        let nth = (position & (self.ring - 1)) as usize;
        // SAFETY: inside the ring of completions by the mask.
        unsafe { self.start.add(before + nth * 8).cast::<AtomicU64>().as_ref() }
    }

    fn lap(&self, position: u32) -> u64 {
        u64::from((position >> self.ring.trailing_zeros()).wrapping_add(1) & 0xffff)
    }

    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// Where `len` bytes of the port's memory begin; `None` when they are not inside.
    pub(crate) fn place(&self, at: u64, len: u64) -> Option<NonNull<u8>> {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.memory);
        // SAFETY: inside the mapping.
        inside.then(|| unsafe { self.start.add(self.memory_at + at as usize) })
    }

    /// Puts a request into the ring. The caller has fewer than the ring's entries in flight.
    #[inline]
    pub(crate) fn submit(&self, entry: &Entry) {
        let tail = self.word(Word::Submitted);
        let position = tail.load(Ordering::Relaxed);
        let [first, offset, at, file] = self.request(position);
        let op = match entry.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Flush => 2u64,
        };
        let packed = op << 56 | u64::from(entry.slot) << 32;
        first.store(packed | u64::from(entry.len), Ordering::Relaxed);
        offset.store(entry.offset, Ordering::Relaxed);
        at.store(entry.at, Ordering::Relaxed);
        file.store(u64::from(entry.file.0), Ordering::Relaxed);
        tail.store(position.wrapping_add(1), Ordering::Release);
    }

    /// Wakes up to `fresh` of the server's threads, if any sleep.
    #[inline]
    pub(crate) fn kick(&self, fresh: u32) {
        fence(Ordering::SeqCst);
        let sleepers = self.word(Word::Sleepers).load(Ordering::Relaxed);
        if sleepers > 0 && fresh > 0 {
            let _ = futex::wake(self.word(Word::Submitted), futex::Flags::empty(), fresh.min(sleepers));
        }
    }

    /// Takes the next request, sleeping until there is one; `None` when the threads are to end.
    pub(crate) fn take(&self) -> Option<Entry> {
        let (head, tail) = (self.word(Word::Taken), self.word(Word::Submitted));
        loop {
            let position = head.load(Ordering::Acquire);
            let submitted = tail.load(Ordering::Acquire);
            if position != submitted {
                // Read first: when somebody else takes it meanwhile, what was read is thrown away.
                let words = self
                    .request(position)
                    .each_ref()
                    .map(|word| word.load(Ordering::Relaxed));
                let next = position.wrapping_add(1);
                if head
                    .compare_exchange(position, next, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
                {
                    return Some(unpack(words));
                }
                continue;
            }
            if self.word(Word::Stop).load(Ordering::Acquire) != 0 {
                return None;
            }
            self.word(Word::Sleepers).fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if tail.load(Ordering::Acquire) == submitted && self.word(Word::Stop).load(Ordering::Acquire) == 0 {
                // Woken, changed meanwhile, interrupted: looked at again in each case.
                let _ = futex::wait(tail, futex::Flags::empty(), submitted, None);
            }
            self.word(Word::Sleepers).fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Puts a completion into the ring; true when the collector must be woken.
    #[inline]
    pub(crate) fn complete(&self, slot: u16, result: Result<(), IoFault>) -> bool {
        let status = match result {
            Ok(()) => 0,
            Err(IoFault::Errno(errno)) => errno.unsigned_abs().clamp(1, SHORT - 1),
            Err(IoFault::Short { got, .. }) => SHORT | got.min(SHORT - 1),
        };
        let ended = self.word(Word::Ended);
        let position = ended.fetch_add(1, Ordering::AcqRel);
        let value = self.lap(position) << 48 | u64::from(slot) << 32 | u64::from(status);
        self.completion(position).store(value, Ordering::Release);
        fence(Ordering::SeqCst);
        let waiting = self.word(Word::Waiting);
        if waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let wanted = self.word(Word::WakeAt).load(Ordering::Acquire);
        let enough = ended.load(Ordering::Acquire).wrapping_sub(wanted) < SHORT;
        enough && waiting.swap(0, Ordering::AcqRel) != 0
    }

    /// The completion at this position of the ring, when it is there: the slot and what became of it.
    #[inline]
    pub(crate) fn collect(&self, position: u32) -> Option<(u16, Result<(), IoFault>)> {
        let value = self.completion(position).load(Ordering::Acquire);
        if value >> 48 != self.lap(position) {
            return None;
        }
        let status = value as u32;
        let result = match status {
            0 => Ok(()),
            s if s & SHORT != 0 => Err(IoFault::Short {
                got: s & !SHORT,
                wanted: 0,
            }),
            errno => Err(IoFault::Errno(errno as i32)),
        };
        Some(((value >> 32) as u16, result))
    }

    /// The collector is about to sleep until this position has ended.
    pub(crate) fn will_wait(&self, until: u32) {
        self.word(Word::WakeAt).store(until, Ordering::Release);
        self.word(Word::Waiting).store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// The collector does not sleep, or no longer.
    pub(crate) fn is_awake(&self) {
        self.word(Word::Waiting).store(0, Ordering::Release);
    }

    /// Ends the server's threads, after what was submitted.
    pub(crate) fn stop(&self) {
        self.word(Word::Stop).store(1, Ordering::SeqCst);
        // Who says from now on that he will sleep sees the word above. Who said it before may have looked before too,
        // and lie down at any later time, for ever: so they are woken until none is left, however long the kernel keeps
        // one from running.
        loop {
            let _ = futex::wake(self.word(Word::Submitted), futex::Flags::empty(), i32::MAX as u32);
            if self.word(Word::Sleepers).load(Ordering::SeqCst) == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn unpack([first, offset, at, file]: [u64; 4]) -> Entry {
    Entry {
        op: match first >> 56 {
            0 => Op::Read,
            1 => Op::Write,
            _ => Op::Flush,
        },
        file: FileId(file as u16),
        slot: (first >> 32) as u16,
        len: first as u32,
        offset,
        at,
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        // SAFETY: our mapping; nothing of it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::fd::OwnedFd;
    use std::sync::{Arc, Barrier};
    use std::thread::JoinHandle;

    fn rings(depth: u32, memory: u64) -> Arc<Rings> {
        let shape = PortShape { memory, depth };
        let fd = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&fd, bytes_needed(shape)).unwrap();
        Arc::new(Rings::map(fd, shape).unwrap())
    }

    fn entry(slot: u16) -> Entry {
        Entry {
            op: Op::Write,
            // More files than a byte can number.
            file: FileId(300),
            slot,
            len: 8192,
            offset: 1 << 40 | u64::from(slot),
            at: 4096,
        }
    }

    #[test]
    fn what_is_submitted_is_taken_and_what_ends_is_collected_once() {
        let rings = rings(4, 8192);
        for lap in 0..5u32 {
            rings.submit(&entry(2));
            assert_eq!(rings.take(), Some(entry(2)));
            assert_eq!(rings.collect(lap), None);
            rings.complete(2, Err(IoFault::Short { got: 7, wanted: 9 }));
            assert_eq!(rings.collect(lap), Some((2, Err(IoFault::Short { got: 7, wanted: 0 }))));
        }
        assert!(rings.place(8192, 1).is_none() && rings.place(u64::MAX, 2).is_none() && rings.place(0, 8192).is_some());
    }

    /// Threads that do what is submitted until the rings stop, and ring the bell where they must.
    fn workers(rings: &Arc<Rings>, bell: &Arc<OwnedFd>) -> Vec<JoinHandle<()>> {
        let work = |_| {
            let (rings, bell) = (Arc::clone(rings), Arc::clone(bell));
            std::thread::spawn(move || {
                while let Some(taken) = rings.take() {
                    if rings.complete(taken.slot, Err(IoFault::Errno(i32::from(taken.slot) + 1))) {
                        rustix::io::write(&*bell, &1u64.to_ne_bytes()).unwrap();
                    }
                }
            })
        };
        (0..4).map(work).collect()
    }

    /// Sleeps as a port does; a bell that does not ring within ten seconds was lost.
    fn sleep(bell: &OwnedFd) {
        let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
        let rang = poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&limit)).unwrap();
        assert_eq!(rang, 1, "what was waited for has ended, and nobody rang");
        rustix::io::read(bell, &mut [0; 8]).unwrap();
    }

    #[test]
    fn many_threads_lose_and_double_nothing_and_wake_who_sleeps() {
        const DEPTH: u32 = 16;
        const ROUNDS: u32 = 20_000;
        let rings = rings(DEPTH, 4096);
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let threads = workers(&rings, &bell);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(20);
        let (mut free, mut collected): (Vec<u16>, u32) = ((0..DEPTH as u16).collect(), 0);
        let (mut submitted, mut slept) = (0, 0);
        while collected < ROUNDS {
            let batch = 1 + random.next_u32() % DEPTH;
            let mut fresh = 0;
            while submitted < ROUNDS
                && fresh < batch
                && let Some(slot) = free.pop()
            {
                rings.submit(&entry(slot));
                submitted += 1;
                fresh += 1;
            }
            rings.kick(fresh);
            let wanted = 1 + random.next_u32() % (submitted - collected);
            let until = collected.wrapping_add(wanted);
            loop {
                rings.will_wait(until);
                while let Some((slot, result)) = rings.collect(collected) {
                    assert_eq!(result, Err(IoFault::Errno(i32::from(slot) + 1)));
                    assert!(!free.contains(&slot), "slot {slot} came back twice");
                    free.push(slot);
                    collected += 1;
                }
                if collected >= until {
                    break;
                }
                sleep(&bell);
                slept += 1;
            }
            rings.is_awake();
        }
        assert!(slept > 0, "the collector never slept, so nobody had to wake it");
        rings.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(rings.collect(collected), None);
    }

    #[test]
    fn a_thread_that_lies_down_late_is_woken_by_the_stop() {
        let rings = rings(4, 4096);
        let looked = Arc::new(Barrier::new(2));
        let (sleeper, at) = (Arc::clone(&rings), Arc::clone(&looked));
        // As `take` does it, with the kernel taking the processor away between the look and the sleep.
        let late = std::thread::spawn(move || {
            let tail = sleeper.word(Word::Submitted);
            sleeper.word(Word::Sleepers).fetch_add(1, Ordering::SeqCst);
            assert_eq!(sleeper.word(Word::Stop).load(Ordering::SeqCst), 0);
            at.wait();
            std::thread::sleep(Duration::from_millis(100));
            let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
            let woken = futex::wait(tail, futex::Flags::empty(), 0, Some(&limit));
            sleeper.word(Word::Sleepers).fetch_sub(1, Ordering::SeqCst);
            woken
        });
        looked.wait();
        rings.stop();
        assert_eq!(late.join().unwrap(), Ok(()), "it would have slept for ever");
    }
}
