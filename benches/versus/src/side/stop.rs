//! A port whose clock jumps to the end of time after so many requests: ends a loop that runs by the clock after a count.
//!
//! Prevents: counting instructions over a time, in which the number of requests differs from run to run.

use targets::{Completion, Extent, FileId, Nanos, Port, Request, TargetError, Waker};

/// Passes everything on to the port inside.
pub(crate) struct StopAfter<P> {
    inner: P,
    left: u64,
}

impl<P> StopAfter<P> {
    /// `requests` `None`: never.
    pub(crate) fn new(inner: P, requests: Option<u64>) -> StopAfter<P> {
        StopAfter {
            inner,
            left: requests.unwrap_or(u64::MAX),
        }
    }
}

impl<P: Port> Port for StopAfter<P> {
    #[inline]
    fn now(&self) -> Nanos {
        if self.left == 0 {
            Nanos::MAX / 2
        } else {
            self.inner.now()
        }
    }
    fn memory(&self) -> u64 {
        self.inner.memory()
    }
    #[inline]
    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.inner.bytes(at, len)
    }
    #[inline]
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.inner.bytes_mut(at, len)
    }
    fn alignment(&self) -> u32 {
        self.inner.alignment()
    }
    fn depth(&self) -> usize {
        self.inner.depth()
    }
    #[inline]
    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }
    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.left = self.left.saturating_sub(1);
        self.inner.submit(request)
    }
    #[inline]
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.inner.wait(min, until, done)
    }
    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.inner.size(file)
    }
    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        self.inner.grow(file, size)
    }
    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        self.inner.extents(file)
    }
    fn waker(&self) -> Waker {
        self.inner.waker()
    }
}
