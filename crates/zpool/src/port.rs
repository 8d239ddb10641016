//! A worker's window on files of pools in the server process: the `Port` contract over shared memory.
//!
//! Requests and completions are words in two rings, the buffers lie in the same mapping, and OpenZFS copies straight
//! into and out of them: nothing is sent. A system call is paid only to wake a side that sleeps. Prevents: a data path
//! whose cost is that of the talk between processes.
#![allow(unsafe_code)]

use crate::error::ZpoolError;
use crate::message::{Answer, Ask, FileName, PortShape};
use crate::process::Process;
use crate::rings::{self, Entry, Rings};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::MemfdFlags;
use std::cell::Cell;
use std::sync::Arc;
use targets::{Completion, Extent, FileId, IoFault, Nanos, Port, Request, TargetError, Waker, monotonic_ns};

/// What the device layer and the records of a pool allow: requests need no more than this alignment of bytes.
const ALIGNMENT: u32 = 512;

/// A port on files in pools. Made by [`crate::Zpool::open`].
pub struct ZpoolPort {
    rings: Rings,
    process: Arc<Process>,
    id: u64,
    files: Vec<FileName>,
    sizes: Vec<u64>,
    depth: usize,
    /// Tokens and lengths of what is in flight, by slot.
    tokens: Vec<(u64, u32)>,
    free: Vec<u16>,
    /// Submitted since the server was last told.
    fresh: u32,
    /// The next completion's place in the ring.
    collected: u32,
    /// The server rings it.
    bell: OwnedFd,
    /// Other threads of this process ring it.
    waker: Arc<OwnedFd>,
    has_waker: Cell<bool>,
}

fn layer(error: ZpoolError) -> TargetError {
    TargetError::Layer(Box::new(error))
}

impl ZpoolPort {
    pub(crate) fn open(
        process: Arc<Process>,
        files: &[FileName],
        memory: u64,
        depth: usize,
    ) -> Result<ZpoolPort, ZpoolError> {
        let call = |what| move |e: rustix::io::Errno| ZpoolError::Call { what, source: e.into() };
        let depth = depth.clamp(1, rings::DEPTH_MAX as usize);
        let shape = PortShape {
            memory,
            depth: depth as u32,
        };
        let shared = rustix::fs::memfd_create("port", MemfdFlags::CLOEXEC).map_err(call("make a memory file"))?;
        rustix::fs::ftruncate(&shared, rings::bytes_needed(shape)).map_err(call("size a port's memory"))?;
        let rings = Rings::map(&shared, shape).map_err(|source| ZpoolError::Call {
            what: "map a port's memory",
            source,
        })?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(call("make an eventfd"))?;
        let waker = Arc::new(eventfd(0, flags).map_err(call("make an eventfd"))?);
        let ask = Ask::OpenPort {
            files: files.to_vec(),
            shape,
        };
        let Answer::Port { id, sizes } = process.ask(&ask, &[shared.as_fd(), bell.as_fd()])? else {
            return Err(process.gone());
        };
        Ok(ZpoolPort {
            rings,
            process,
            id,
            files: files.to_vec(),
            sizes,
            depth,
            tokens: vec![(0, 0); depth],
            free: (0..depth as u16).rev().collect(),
            fresh: 0,
            collected: 0,
            bell,
            waker,
            has_waker: Cell::new(false),
        })
    }

    /// Hands out what has ended; how many.
    fn collect(&mut self, done: &mut Vec<Completion>) -> usize {
        let before = self.collected;
        while let Some((slot, result)) = self.rings.collect(self.collected) {
            let (token, wanted) = self.tokens[usize::from(slot)];
            let result = match result {
                Err(IoFault::Short { got, .. }) => Err(IoFault::Short { got, wanted }),
                other => other,
            };
            done.push(Completion { token, result });
            self.free.push(slot);
            self.collected = self.collected.wrapping_add(1);
        }
        self.collected.wrapping_sub(before) as usize
    }

    /// Sleeps until the server, another thread, or the time rings; the process's end is an error. True: another thread
    /// rang.
    fn sleep(&self, until: Option<Nanos>) -> Result<bool, TargetError> {
        let left = until.map(|until| until.saturating_sub(monotonic_ns()));
        let span = left.map(|ns| Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (ns % 1_000_000_000) as i64,
        });
        let mut fds = [
            PollFd::new(&self.bell, PollFlags::IN),
            PollFd::from_borrowed_fd(self.process.pidfd(), PollFlags::IN),
            PollFd::new(&self.waker, PollFlags::IN),
        ];
        let looked = if self.has_waker.get() { 3 } else { 2 };
        match poll(&mut fds[..looked], span.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => {
                return Err(layer(ZpoolError::Call {
                    what: "wait for completions",
                    source: e.into(),
                }));
            }
        }
        let rang = |nth: usize| !fds[nth].revents().is_empty();
        let mut count = [0u8; 8];
        if rang(0) {
            let _ = rustix::io::read(&self.bell, &mut count);
        }
        if rang(1) {
            return Err(layer(self.process.gone()));
        }
        Ok(rang(2) && rustix::io::read(&*self.waker, &mut count).is_ok())
    }
}

impl Port for ZpoolPort {
    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn memory(&self) -> u64 {
        self.rings.memory()
    }

    #[inline]
    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        let place = self
            .rings
            .place(at, len as u64)
            .expect("a range inside the port's memory");
        // SAFETY: inside the mapping, which lives as long as `self`; that no read is in flight there is the caller's
        // part.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), len) }
    }

    #[inline]
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        let place = self
            .rings
            .place(at, len as u64)
            .expect("a range inside the port's memory");
        // SAFETY: as for `bytes`; `&mut self` makes the slice the only one of this process.
        unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), len) }
    }

    fn alignment(&self) -> u32 {
        ALIGNMENT
    }

    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.depth - self.free.len()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let Some(slot) = self.free.pop() else {
            return Err(TargetError::TooDeep { depth: self.depth });
        };
        self.tokens[usize::from(slot)] = (request.token, request.len);
        self.rings.submit(&Entry {
            op: request.op,
            file: request.file,
            slot,
            len: request.len,
            offset: request.offset,
            at: request.at,
        });
        self.fresh += 1;
        Ok(())
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.rings.kick(std::mem::take(&mut self.fresh));
        let idle = self.in_flight() == 0;
        let mut got = self.collect(done);
        if got >= min || (idle && until.is_none()) {
            return Ok(());
        }
        // What will never come cannot be waited for.
        let wanted = if idle { min } else { min.min(got + self.in_flight()) };
        loop {
            self.rings.will_wait(self.collected.wrapping_add((wanted - got) as u32));
            got += self.collect(done);
            if got >= wanted {
                self.rings.is_awake();
                return Ok(());
            }
            let woken = self.sleep(until);
            self.rings.is_awake();
            got += self.collect(done);
            if got >= wanted || woken? || until.is_some_and(|until| monotonic_ns() >= until) {
                return Ok(());
            }
        }
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.process
            .size(&Ask::Size(self.files[usize::from(file.0)].clone()))
            .map_err(layer)
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        let nth = usize::from(file.0);
        if size > self.sizes[nth] {
            self.sizes[nth] = self
                .process
                .size(&Ask::Grow(self.files[nth].clone(), size))
                .map_err(layer)?;
        }
        Ok(())
    }

    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        self.process.extents(&self.files[usize::from(file.0)]).map_err(layer)
    }

    fn waker(&self) -> Waker {
        self.has_waker.set(true);
        Waker::ringing(Arc::clone(&self.waker))
    }
}

impl Drop for ZpoolPort {
    fn drop(&mut self) {
        // The server's threads end what was submitted; a server that has gone has no threads.
        self.process.close_port(self.id);
    }
}
