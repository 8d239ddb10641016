//! The contract between an engine and storage: a [`Port`] is one worker's window on its open files.
//!
//! The contract is per *set* of files, not per file: a worker that waits for a page and for its redo log at once needs
//! one place to wait. A plain file, a raw device, a disk-group file or a file served by another process is a [`FileId`]
//! here; engines know nothing else. Ports are generic parameters of engines, never boxed: the call is paid per I/O.
//!
//! Prevents: a short transfer taken for a full one (a [`Completion`] is whole or an error, nothing between), a buffer
//! that is not aligned for direct I/O (all memory belongs to the port), and a clock that differs between storage and
//! engine.

use crate::error::{IoFault, TargetError};

/// Nanoseconds since the origin of a port's clock. Real ports: the monotonic clock. The model: virtual time from 0.
pub type Nanos = u64;

/// An open file of a port, by the order it was opened in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u16);

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Storage to memory.
    Read,
    /// Memory to storage. Durable only after a later flush that was submitted when the write had completed.
    Write,
    /// Make every completed write of the file durable (`fdatasync`); `offset`, `at` and `len` are ignored.
    Flush,
}

/// One I/O. `at` is a place in the port's own memory; it and `offset` and `len` keep to [`Port::alignment`].
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Read, write or flush.
    pub op: Op,
    /// The file.
    pub file: FileId,
    /// Byte offset in the file.
    pub offset: u64,
    /// Byte offset in the port's memory.
    pub at: u64,
    /// Bytes.
    pub len: u32,
    /// Returned in the completion, untouched. Below 2^62: a port that stands on another keeps the two highest bits for
    /// itself.
    pub token: u64,
}

/// The end of one request: all of it was done, or it failed.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The request's own.
    pub token: u64,
    /// `Ok` only when all `len` bytes were moved.
    pub result: Result<(), IoFault>,
}

/// A run of a file's bytes on the device below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Byte offset in the file.
    pub logical: u64,
    /// Byte offset on what lies below (the file system's device; the meaning of a multi-device file system's own space
    /// is its own).
    pub physical: u64,
    /// Bytes.
    pub length: u64,
    /// Allocated but never written (reads zeros without touching the device).
    pub unwritten: bool,
    /// Compressed: below it takes fewer bytes than `length`, and nobody tells how many.
    pub packed: bool,
}

/// A worker's window on its open files. Not `Sync`: one port, one thread.
pub trait Port {
    /// The clock that all stamps of this worker come from.
    fn now(&self) -> Nanos;

    /// Size of the port's memory in bytes, fixed at opening, zeroed, aligned to at least 4 KiB.
    fn memory(&self) -> u64;

    /// `len` bytes of memory from `at`. Panics outside the memory. Must not overlap a read in flight.
    fn bytes(&self, at: u64, len: usize) -> &[u8];

    /// The same to write. Must not overlap any request in flight.
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8];

    /// Offsets, lengths and memory places of requests are multiples of this many bytes (1 when buffered).
    fn alignment(&self) -> u32;

    /// Most requests that may be in flight; a submit over it is an error of the caller's.
    fn depth(&self) -> usize;

    /// Requests submitted and not yet handed out by [`wait`](Port::wait).
    fn in_flight(&self) -> usize;

    /// Queues a request. It may be sent now or with the next [`wait`](Port::wait).
    fn submit(&mut self, request: Request) -> Result<(), TargetError>;

    /// Sends what is queued, appends what has finished to `done`, and returns when at least `min` were appended by this
    /// call, or `until` has come, or the port's [`Waker`] was used. `min` 0 never blocks. With nothing in flight it
    /// waits for `until` or the waker alone, and returns at once when `until` is `None`.
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError>;

    /// Size of a file in bytes.
    fn size(&self, file: FileId) -> Result<u64, TargetError>;

    /// Makes the file at least `size` bytes long and durable in that length (new bytes read as zeros).
    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError>;

    /// Where the file lies; empty where it can't be told (devices, the model without extents).
    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError>;

    /// A handle by which another thread ends this port's [`wait`](Port::wait).
    fn waker(&self) -> Waker;
}

/// Methods of [`Port`] that a port leaves to one of its fields: written inside `impl Port`, named one by one, so that
/// one that is forgotten does not compile.
#[macro_export]
macro_rules! left_to {
    ($field:ident: $($method:ident),+) => { $($crate::left_to!(@ $field $method);)+ };
    (@ $field:ident now) => {
        #[inline]
        fn now(&self) -> $crate::Nanos {
            self.$field.now()
        }
    };
    (@ $field:ident memory) => {
        fn memory(&self) -> u64 {
            self.$field.memory()
        }
    };
    (@ $field:ident bytes) => {
        #[inline]
        fn bytes(&self, at: u64, len: usize) -> &[u8] {
            self.$field.bytes(at, len)
        }
    };
    (@ $field:ident bytes_mut) => {
        #[inline]
        fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
            self.$field.bytes_mut(at, len)
        }
    };
    (@ $field:ident alignment) => {
        fn alignment(&self) -> u32 {
            self.$field.alignment()
        }
    };
    (@ $field:ident depth) => {
        fn depth(&self) -> usize {
            self.$field.depth()
        }
    };
    (@ $field:ident in_flight) => {
        #[inline]
        fn in_flight(&self) -> usize {
            self.$field.in_flight()
        }
    };
    (@ $field:ident size) => {
        fn size(&self, file: $crate::FileId) -> Result<u64, $crate::TargetError> {
            self.$field.size(file)
        }
    };
    (@ $field:ident grow) => {
        fn grow(&mut self, file: $crate::FileId, size: u64) -> Result<(), $crate::TargetError> {
            self.$field.grow(file, size)
        }
    };
    (@ $field:ident extents) => {
        fn extents(&self, file: $crate::FileId) -> Result<Vec<$crate::Extent>, $crate::TargetError> {
            self.$field.extents(file)
        }
    };
    (@ $field:ident waker) => {
        fn waker(&self) -> $crate::Waker {
            self.$field.waker()
        }
    };
}

/// Ends another thread's [`Port::wait`]. Cheap to clone; a wake before the wait is not lost.
#[derive(Clone, Default)]
pub struct Waker(pub(crate) Option<std::sync::Arc<rustix::fd::OwnedFd>>);

impl Waker {
    /// A waker of a port outside this room: it adds 1 to this eventfd, which the port's wait looks at.
    pub fn ringing(eventfd: std::sync::Arc<rustix::fd::OwnedFd>) -> Waker {
        Waker(Some(eventfd))
    }

    /// Wakes the port; no-op for ports that never block (the model).
    pub fn wake(&self) {
        if let Some(fd) = &self.0 {
            // An eventfd write of 1 fails only when the counter is full, and then the port is awake anyway.
            let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
        }
    }
}
