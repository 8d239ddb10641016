//! `pread`, `pwrite` and `fdatasync`, one at a time: the port for devices that complete inside the call.
//!
//! Takes requests, does them in the order submitted during [`Port::wait`], and hands each out as soon as the caller has
//! what it asked for. Prevents a short transfer from passing for a whole one: what the kernel left is asked for again.

use crate::clock::monotonic_ns;
use crate::error::{IoFault, TargetError};
use crate::left_to;
use crate::memory::Memory;
use crate::open::{Files, OpenSpec};
use crate::port::{Completion, Nanos, Op, Port, Request};
use crate::ports::bell::Bell;
use rustix::io::Errno;
use std::collections::VecDeque;

/// A port that does its I/O in the calling thread.
pub struct PsyncPort {
    files: Files,
    memory: Memory,
    depth: usize,
    queue: VecDeque<Request>,
    bell: Bell,
}

impl PsyncPort {
    /// Opens files and devices, with `memory_bytes` of buffer memory and room for `depth` requests.
    pub fn open(specs: &[OpenSpec], memory_bytes: u64, depth: usize) -> Result<PsyncPort, TargetError> {
        Ok(PsyncPort {
            files: Files::open(specs)?,
            memory: Memory::new(memory_bytes, true)?,
            depth,
            queue: VecDeque::with_capacity(depth),
            bell: Bell::new()?,
        })
    }

    fn perform(&mut self, request: &Request) -> Result<(), IoFault> {
        let (op, file, len) = (request.op, request.file, request.len);
        let fd = self.files.fd(file);
        let mut got = 0;
        while got < len || op == Op::Flush {
            let (place, left) = (request.at + u64::from(got), (len - got) as usize);
            let from = request.offset + u64::from(got);
            let moved = match op {
                Op::Read => rustix::io::pread(fd, self.memory.bytes_mut(place, left), from),
                Op::Write => rustix::io::pwrite(fd, self.memory.bytes(place, left), from),
                Op::Flush => match rustix::fs::fdatasync(fd) {
                    Ok(()) => return Ok(()),
                    Err(e) => Err(e),
                },
            };
            match moved {
                Ok(moved) => {
                    got += moved as u32;
                    // Direct I/O stops off its alignment only at the end of a file, and can't be continued there.
                    if moved == 0 || (got < len && !got.is_multiple_of(self.files.alignment_of(file))) {
                        return Err(IoFault::Short { got, wanted: len });
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(e) => return Err(IoFault::Errno(e.raw_os_error())),
            }
        }
        Ok(())
    }
}

impl Port for PsyncPort {
    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    left_to!(memory: bytes, bytes_mut);
    left_to!(files: alignment, size, grow, extents);
    left_to!(bell: waker);

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.queue.len()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.queue.len() >= self.depth {
            return Err(TargetError::TooDeep { depth: self.depth });
        }
        self.queue.push_back(request);
        Ok(())
    }

    /// Does queued requests until `min` of them (at least one, so that a caller that only looks gets on) are done or
    /// `until` has come.
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        while let Some(request) = self.queue.pop_front() {
            let result = self.perform(&request);
            done.push(Completion {
                token: request.token,
                result,
            });
            let enough = done.len() - before >= min;
            if enough || (self.bell.asked() && self.bell.taken()) || until.is_some_and(|until| monotonic_ns() >= until)
            {
                return Ok(());
            }
        }
        if done.len() - before < min
            && let Some(until) = until
        {
            self.bell.sleep(until);
        }
        Ok(())
    }
}
