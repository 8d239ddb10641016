//! A port whose files are memory: every request is done when it is submitted, by a copy.
//!
//! Takes a clock, gives completions as soon as they are waited for. An engine that verifies what it reads needs bytes
//! that are right, so its own ceiling is measured here and not on [`NullPort`](crate::NullPort); with a clock that only
//! counts its calls, a run does the same work each time. Prevents a generator's ceiling that leaves verification out.

use crate::error::{IoFault, TargetError};
use crate::memory::Memory;
use crate::port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
use crate::ports::bell::Bell;

/// A port on files in memory. They belong to this port alone and go with it.
pub struct StoredPort<C> {
    files: Vec<Memory>,
    memory: Memory,
    depth: usize,
    finished: Vec<Completion>,
    clock: C,
    bell: Bell,
}

impl<C: Fn() -> Nanos> StoredPort<C> {
    /// Files of these sizes in bytes, all zeros; they can't grow. `clock`: nanoseconds from any origin, never running
    /// backwards; a wait for a time that has not come sleeps by the machine's own clock.
    pub fn open(sizes: &[u64], memory_bytes: u64, depth: usize, clock: C) -> Result<StoredPort<C>, TargetError> {
        Ok(StoredPort {
            files: sizes
                .iter()
                .map(|bytes| Memory::new(*bytes, true))
                .collect::<Result<_, _>>()?,
            memory: Memory::new(memory_bytes, true)?,
            depth,
            finished: Vec::with_capacity(depth),
            clock,
            bell: Bell::new()?,
        })
    }

    #[inline]
    fn perform(&mut self, request: &Request) -> Result<(), IoFault> {
        let file = &mut self.files[usize::from(request.file.0)];
        let left = file.len().saturating_sub(request.offset);
        if request.op != Op::Flush && left < u64::from(request.len) {
            return Err(IoFault::Short {
                got: left as u32,
                wanted: request.len,
            });
        }
        let (len, at, offset) = (request.len as usize, request.at, request.offset);
        match request.op {
            Op::Read => self.memory.bytes_mut(at, len).copy_from_slice(file.bytes(offset, len)),
            Op::Write => file.bytes_mut(offset, len).copy_from_slice(self.memory.bytes(at, len)),
            Op::Flush => {}
        }
        Ok(())
    }
}

impl<C: Fn() -> Nanos> Port for StoredPort<C> {
    #[inline]
    fn now(&self) -> Nanos {
        (self.clock)()
    }

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    #[inline]
    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.memory.bytes(at, len)
    }

    #[inline]
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.memory.bytes_mut(at, len)
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
        let result = self.perform(&request);
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
            self.bell.sleep(crate::clock::monotonic_ns() + left);
        }
        Ok(())
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        Ok(self.files[usize::from(file.0)].len())
    }

    /// Files in memory have the size they were made with: a larger one is refused.
    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        let held = self.size(file)?;
        if size <= held {
            return Ok(());
        }
        Err(TargetError::Memory {
            bytes: size,
            source: std::io::ErrorKind::Unsupported.into(),
        })
    }

    fn extents(&self, _file: FileId) -> Result<Vec<Extent>, TargetError> {
        Ok(Vec::new())
    }

    fn waker(&self) -> Waker {
        self.bell.waker()
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
