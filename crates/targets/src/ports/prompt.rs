//! Ports that need no device: every request is done when it is submitted, and handed out as soon as it is waited for.
//!
//! Takes a clock and what stands for the files: nothing but their sizes ([`NullPort`]), or memory ([`StoredPort`]).
//! What a generator reaches on the first is its own ceiling; an engine that verifies what it reads needs bytes that
//! are right, so its ceiling is measured on the second. With a clock that only counts its calls, a run does the same
//! work each time. Prevents a slow generator from passing for slow storage, and a ceiling that leaves verification
//! out.

use crate::clock::monotonic_ns;
use crate::error::{IoFault, TargetError};
use crate::left_to;
use crate::memory::Memory;
use crate::port::{Completion, Extent, FileId, Nanos, Op, Port, Request};
use crate::ports::bell::Bell;

/// What stands for a file.
pub trait Store {
    /// Bytes.
    fn size(&self) -> u64;
    /// Makes it at least so long.
    fn grow(&mut self, size: u64) -> Result<(), TargetError>;
    /// Does a request that ends before the end of the file.
    fn perform(&mut self, request: &Request, memory: &mut Memory);
}

/// A file of which only the size is known.
pub struct Size(u64);

impl Store for Size {
    fn size(&self) -> u64 {
        self.0
    }

    fn grow(&mut self, size: u64) -> Result<(), TargetError> {
        self.0 = size.max(self.0);
        Ok(())
    }

    #[inline]
    fn perform(&mut self, _: &Request, _: &mut Memory) {}
}

impl Store for Memory {
    fn size(&self) -> u64 {
        self.len()
    }

    /// Files in memory have the size they were made with: a larger one is refused.
    fn grow(&mut self, size: u64) -> Result<(), TargetError> {
        if size <= self.len() {
            return Ok(());
        }
        Err(TargetError::Memory {
            bytes: size,
            source: std::io::ErrorKind::Unsupported.into(),
        })
    }

    #[inline]
    fn perform(&mut self, request: &Request, memory: &mut Memory) {
        let (len, at, offset) = (request.len as usize, request.at, request.offset);
        match request.op {
            Op::Read => memory.bytes_mut(at, len).copy_from_slice(self.bytes(offset, len)),
            Op::Write => self.bytes_mut(offset, len).copy_from_slice(memory.bytes(at, len)),
            Op::Flush => {}
        }
    }
}

/// A port that does requests when they are submitted. Its files belong to it alone and go with it.
pub struct PromptPort<F, C> {
    files: Vec<F>,
    memory: Memory,
    depth: usize,
    finished: Vec<Completion>,
    clock: C,
    bell: Bell,
}

/// A port without storage, on the real clock unless it was given another.
pub type NullPort<C = fn() -> Nanos> = PromptPort<Size, C>;

/// A port on files in memory.
pub type StoredPort<C> = PromptPort<Memory, C>;

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
        PromptPort::new(sizes.iter().copied().map(Size).collect(), memory_bytes, depth, clock)
    }
}

impl<C: Fn() -> Nanos> StoredPort<C> {
    /// Files of these sizes in bytes, all zeros; they can't grow. `clock`: nanoseconds from any origin, never running
    /// backwards; a wait for a time that has not come sleeps by the machine's own clock.
    pub fn open(sizes: &[u64], memory_bytes: u64, depth: usize, clock: C) -> Result<StoredPort<C>, TargetError> {
        let files: Result<Vec<Memory>, _> = sizes.iter().map(|bytes| Memory::new(*bytes, true)).collect();
        PromptPort::new(files?, memory_bytes, depth, clock)
    }
}

impl<F: Store, C: Fn() -> Nanos> PromptPort<F, C> {
    fn new(files: Vec<F>, memory_bytes: u64, depth: usize, clock: C) -> Result<PromptPort<F, C>, TargetError> {
        Ok(PromptPort {
            files,
            memory: Memory::new(memory_bytes, true)?,
            depth,
            finished: Vec::with_capacity(depth),
            clock,
            bell: Bell::new()?,
        })
    }
}

impl<F: Store, C: Fn() -> Nanos> Port for PromptPort<F, C> {
    left_to!(memory: bytes, bytes_mut);
    left_to!(bell: waker);

    #[inline]
    fn now(&self) -> Nanos {
        (self.clock)()
    }

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    fn alignment(&self) -> u32 {
        512
    }

    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.finished.len()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.finished.len() >= self.depth {
            return Err(TargetError::TooDeep { depth: self.depth });
        }
        let file = &mut self.files[usize::from(request.file.0)];
        let left = file.size().saturating_sub(request.offset);
        let result = if request.op == Op::Flush || left >= u64::from(request.len) {
            file.perform(&request, &mut self.memory);
            Ok(())
        } else {
            Err(IoFault::Short {
                got: left as u32,
                wanted: request.len,
            })
        };
        let token = request.token;
        self.finished.push(Completion { token, result });
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
        Ok(self.files[usize::from(file.0)].size())
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        self.files[usize::from(file.0)].grow(size)
    }

    fn extents(&self, _file: FileId) -> Result<Vec<Extent>, TargetError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset: u64, at: u64) -> Request {
        Request {
            op,
            file: FileId(0),
            offset,
            at,
            len: 4096,
            token: offset,
        }
    }

    #[test]
    fn what_was_written_is_read_and_over_the_end_is_short() {
        let mut port = StoredPort::open(&[8192], 8192, 2, || 7).unwrap();
        port.bytes_mut(0, 4096).fill(9);
        port.submit(request(Op::Write, 4096, 0)).unwrap();
        port.submit(request(Op::Read, 4096, 4096)).unwrap();
        assert!(matches!(
            port.submit(request(Op::Read, 0, 0)),
            Err(TargetError::TooDeep { depth: 2 })
        ));
        let mut done = Vec::new();
        port.wait(2, None, &mut done).unwrap();
        assert!(done.iter().all(|c| c.result.is_ok()), "{done:?}");
        assert!(port.bytes(4096, 4096).iter().all(|&b| b == 9));
        port.submit(request(Op::Read, 8192, 0)).unwrap();
        port.wait(1, None, &mut done).unwrap();
        let wanted = Err(IoFault::Short { got: 0, wanted: 4096 });
        assert_eq!(done[2].result, wanted);
        assert!(port.grow(FileId(0), 8193).is_err() && port.grow(FileId(0), 1).is_ok());
    }
}
