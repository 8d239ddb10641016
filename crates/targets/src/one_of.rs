//! One of several ports as a port: an enum whose every call goes to the port inside, without a box.
//!
//! Takes the enum's variants, gives its [`Port`](crate::Port). An engine over it is compiled once, and which port a
//! run has is chosen when it is opened; what that costs is held by `crates/pages/tests/instructions.rs`. [`BasePort`]
//! is the one of this room. Prevents: an engine compiled again for every way to storage, and the choice among them
//! written down wherever one is opened.

use crate::choose::Method;
use crate::error::TargetError;
use crate::open::OpenSpec;
use crate::ports::fault::FaultPort;
use crate::ports::psync::PsyncPort;
use crate::ports::uring::UringPort;

/// Defines an enum of ports and makes it a [`Port`](crate::Port). The first is the way that is taken most.
#[macro_export]
macro_rules! one_of_ports {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident $(<$inner:ident: $bound:path>)? {
            $(#[$first_doc:meta])* $first:ident($first_port:ty)
            $(, $(#[$doc:meta])* $variant:ident($port:ty))* $(,)?
        }
    ) => {
        $(#[$meta])*
        $visible enum $name $(<$inner: $bound>)? {
            $(#[$first_doc])* $first($first_port)
            $(, $(#[$doc])* $variant($port))*
        }

        // These three are called for each page. The first way is found by one comparison; the others are out of line.
        impl $(<$inner: $bound>)? $name $(<$inner>)? {
            #[inline(never)]
            fn now_elsewhere(&self) -> $crate::Nanos {
                match self {
                    $name::$first(port) => $crate::Port::now(port),
                    $($name::$variant(port) => $crate::Port::now(port)),*
                }
            }
            #[inline(never)]
            fn bytes_elsewhere(&self, at: u64, len: usize) -> &[u8] {
                match self {
                    $name::$first(port) => $crate::Port::bytes(port, at, len),
                    $($name::$variant(port) => $crate::Port::bytes(port, at, len)),*
                }
            }
            #[inline(never)]
            fn submit_elsewhere(&mut self, request: $crate::Request) -> Result<(), $crate::TargetError> {
                match self {
                    $name::$first(port) => $crate::Port::submit(port, request),
                    $($name::$variant(port) => $crate::Port::submit(port, request)),*
                }
            }
        }

        impl $(<$inner: $bound>)? $crate::Port for $name $(<$inner>)? {
            #[inline(always)]
            fn now(&self) -> $crate::Nanos {
                if let $name::$first(port) = self {
                    return port.now();
                }
                self.now_elsewhere()
            }
            #[inline]
            fn memory(&self) -> u64 {
                match self {
                    $name::$first(port) => port.memory(),
                    $($name::$variant(port) => port.memory()),*
                }
            }
            #[inline(always)]
            fn bytes(&self, at: u64, len: usize) -> &[u8] {
                if let $name::$first(port) = self {
                    return port.bytes(at, len);
                }
                self.bytes_elsewhere(at, len)
            }
            #[inline]
            fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
                match self {
                    $name::$first(port) => port.bytes_mut(at, len),
                    $($name::$variant(port) => port.bytes_mut(at, len)),*
                }
            }
            #[inline]
            fn alignment(&self) -> u32 {
                match self {
                    $name::$first(port) => port.alignment(),
                    $($name::$variant(port) => port.alignment()),*
                }
            }
            #[inline]
            fn depth(&self) -> usize {
                match self {
                    $name::$first(port) => port.depth(),
                    $($name::$variant(port) => port.depth()),*
                }
            }
            #[inline]
            fn in_flight(&self) -> usize {
                match self {
                    $name::$first(port) => port.in_flight(),
                    $($name::$variant(port) => port.in_flight()),*
                }
            }
            #[inline(always)]
            fn submit(&mut self, request: $crate::Request) -> Result<(), $crate::TargetError> {
                if let $name::$first(port) = self {
                    return port.submit(request);
                }
                self.submit_elsewhere(request)
            }
            #[inline]
            fn wait(
                &mut self,
                min: usize,
                until: Option<$crate::Nanos>,
                done: &mut Vec<$crate::Completion>,
            ) -> Result<(), $crate::TargetError> {
                match self {
                    $name::$first(port) => port.wait(min, until, done),
                    $($name::$variant(port) => port.wait(min, until, done)),*
                }
            }
            fn size(&self, file: $crate::FileId) -> Result<u64, $crate::TargetError> {
                match self {
                    $name::$first(port) => port.size(file),
                    $($name::$variant(port) => port.size(file)),*
                }
            }
            fn grow(&mut self, file: $crate::FileId, size: u64) -> Result<(), $crate::TargetError> {
                match self {
                    $name::$first(port) => port.grow(file, size),
                    $($name::$variant(port) => port.grow(file, size)),*
                }
            }
            fn extents(&self, file: $crate::FileId) -> Result<Vec<$crate::Extent>, $crate::TargetError> {
                match self {
                    $name::$first(port) => port.extents(file),
                    $($name::$variant(port) => port.extents(file)),*
                }
            }
            fn waker(&self) -> $crate::Waker {
                match self {
                    $name::$first(port) => port.waker(),
                    $($name::$variant(port) => port.waker()),*
                }
            }
        }
    };
}

one_of_ports! {
    /// A port on files and devices of this machine, by the method that was chosen.
    #[allow(clippy::large_enum_variant, reason = "a box would be followed at every request")]
    pub enum BasePort {
        /// By io_uring.
        Ring(UringPort),
        /// By pread and pwrite.
        Pread(PsyncPort),
        /// By io_uring, with faults over it.
        FaultyRing(FaultPort<UringPort>),
        /// By pread and pwrite, with faults over it.
        FaultyPread(FaultPort<PsyncPort>),
    }
}

impl BasePort {
    /// Opens the files by this method.
    ///
    /// # Errors
    /// As of the method's own port.
    pub fn open(method: Method, files: &[OpenSpec], memory: u64, depth: usize) -> Result<BasePort, TargetError> {
        Ok(match method {
            Method::Ring => BasePort::Ring(UringPort::open(files, memory, depth)?),
            Method::Pread => BasePort::Pread(PsyncPort::open(files, memory, depth)?),
        })
    }
}
