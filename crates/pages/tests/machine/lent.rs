//! A port that is lent to an engine and stays with the test: an engine that dies in its recovery must not take the
//! disks along.

use targets::{Completion, Extent, FileId, ModelPort, Nanos, Port, Request, TargetError, Waker};

/// A borrowed model port.
pub(crate) struct Lent<'a>(pub(crate) &'a mut ModelPort);

impl Port for Lent<'_> {
    fn now(&self) -> Nanos {
        self.0.now()
    }

    fn memory(&self) -> u64 {
        self.0.memory()
    }

    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.0.bytes(at, len)
    }

    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.0.bytes_mut(at, len)
    }

    fn alignment(&self) -> u32 {
        self.0.alignment()
    }

    fn depth(&self) -> usize {
        self.0.depth()
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.0.submit(request)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.0.wait(min, until, done)
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.0.size(file)
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        self.0.grow(file, size)
    }

    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        self.0.extents(file)
    }

    fn waker(&self) -> Waker {
        self.0.waker()
    }
}
