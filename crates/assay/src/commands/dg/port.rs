//! The port that the commands on disk groups work through: the ring, or `pread` where the kernel refuses the ring.
//!
//! Prevents: a machine without io_uring on which a group cannot even be looked at. The choice between them is paid per
//! I/O here, which commands can afford and engines cannot.

use targets::{Completion, Extent, FileId, Nanos, OpenSpec, Port, PsyncPort, Request, TargetError, UringPort, Waker};

/// A ring or `pread`.
pub(super) enum DiskPort {
    Ring(Box<UringPort>),
    Pread(Box<PsyncPort>),
}

impl DiskPort {
    /// Opens disks with `memory_bytes` of buffers and room for `depth` requests.
    pub(super) fn open(specs: &[OpenSpec], memory_bytes: u64, depth: usize) -> Result<DiskPort, TargetError> {
        match UringPort::open(specs, memory_bytes, depth) {
            Ok(ring) => Ok(DiskPort::Ring(Box::new(ring))),
            Err(TargetError::Ring { .. }) => {
                let pread = PsyncPort::open(specs, memory_bytes, depth)?;
                Ok(DiskPort::Pread(Box::new(pread)))
            }
            Err(other) => Err(other),
        }
    }
}

/// The same call on whichever it is.
macro_rules! on {
    ($port:expr, $inner:ident => $call:expr) => {
        match $port {
            DiskPort::Ring($inner) => $call,
            DiskPort::Pread($inner) => $call,
        }
    };
}

impl Port for DiskPort {
    fn now(&self) -> Nanos {
        on!(self, p => p.now())
    }
    fn memory(&self) -> u64 {
        on!(self, p => p.memory())
    }
    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        on!(self, p => p.bytes(at, len))
    }
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        on!(self, p => p.bytes_mut(at, len))
    }
    fn alignment(&self) -> u32 {
        on!(self, p => p.alignment())
    }
    fn depth(&self) -> usize {
        on!(self, p => p.depth())
    }
    fn in_flight(&self) -> usize {
        on!(self, p => p.in_flight())
    }
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        on!(self, p => p.submit(request))
    }
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        on!(self, p => p.wait(min, until, done))
    }
    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        on!(self, p => p.size(file))
    }
    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        on!(self, p => p.grow(file, size))
    }
    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        on!(self, p => p.extents(file))
    }
    fn waker(&self) -> Waker {
        on!(self, p => p.waker())
    }
}
