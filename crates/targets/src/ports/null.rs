//! A port that moves nothing: every request is done as soon as it is waited for.
//!
//! Takes requests, gives completions, leaves memory as it is. What a generator reaches on it is the generator's own
//! ceiling. Prevents a slow generator from passing for slow storage.

use crate::clock::monotonic_ns;
use crate::error::{IoFault, TargetError};
use crate::memory::Memory;
use crate::port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
use crate::ports::bell::Bell;

/// A port without storage, on the real clock unless it was given another.
pub struct NullPort<C = fn() -> Nanos> {
    sizes: Vec<u64>,
    memory: Memory,
    depth: usize,
    finished: Vec<Completion>,
    clock: C,
    bell: Bell,
}

impl NullPort {
    /// Files of these sizes in bytes; reads leave the memory untouched (zeros, unless the caller wrote there).
    pub fn open(sizes: &[u64], memory_bytes: u64, depth: usize) -> Result<NullPort, TargetError> {
        NullPort::with_clock(sizes, memory_bytes, depth, monotonic_ns as fn() -> Nanos)
    }
}

impl<C: Fn() -> Nanos> NullPort<C> {
    /// The same on a clock of the caller's: one that counts its calls makes every run the same. A wait for a time that
    /// has not come sleeps by the machine's own clock.
    pub fn with_clock(sizes: &[u64], memory_bytes: u64, depth: usize, clock: C) -> Result<NullPort<C>, TargetError> {
        Ok(NullPort {
            sizes: sizes.to_vec(),
            memory: Memory::new(memory_bytes, true)?,
            depth,
            finished: Vec::with_capacity(depth),
            clock,
            bell: Bell::new()?,
        })
    }
}

impl<C: Fn() -> Nanos> Port for NullPort<C> {
    #[inline]
    fn now(&self) -> Nanos {
        (self.clock)()
    }

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.memory.bytes(at, len)
    }

    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.memory.bytes_mut(at, len)
    }

    fn alignment(&self) -> u32 {
        512
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.finished.len()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.finished.len() >= self.depth {
            return Err(TargetError::TooDeep { depth: self.depth });
        }
        let size = self.sizes[usize::from(request.file.0)];
        let left = size.saturating_sub(request.offset);
        let result = if request.op == Op::Flush || left >= u64::from(request.len) {
            Ok(())
        } else {
            Err(IoFault::Short {
                got: left as u32,
                wanted: request.len,
            })
        };
        self.finished.push(Completion {
            token: request.token,
            result,
        });
        Ok(())
    }

    #[inline]
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let enough = self.finished.len() >= min;
        done.append(&mut self.finished);
        if !enough
            && let Some(until) = until
            && let Some(left) = until.checked_sub((self.clock)())
        {
            self.bell.sleep(monotonic_ns() + left);
        }
        Ok(())
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        Ok(self.sizes[usize::from(file.0)])
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        let held = &mut self.sizes[usize::from(file.0)];
        *held = size.max(*held);
        Ok(())
    }

    fn extents(&self, _file: FileId) -> Result<Vec<Extent>, TargetError> {
        Ok(Vec::new())
    }

    fn waker(&self) -> Waker {
        self.bell.waker()
    }
}
