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

/// Defines an enum of ports and makes it a [`Port`](crate::Port).
#[macro_export]
macro_rules! one_of_ports {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident $(<$inner:ident: $bound:path>)? {
            $($(#[$doc:meta])* $variant:ident($port:ty)),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $visible enum $name $(<$inner: $bound>)? {
            $($(#[$doc])* $variant($port)),+
        }

        impl $(<$inner: $bound>)? $crate::Port for $name $(<$inner>)? {
            #[inline]
            fn now(&self) -> $crate::Nanos {
                match self { $($name::$variant(port) => port.now()),+ }
            }
            #[inline]
            fn memory(&self) -> u64 {
                match self { $($name::$variant(port) => port.memory()),+ }
            }
            #[inline]
            fn bytes(&self, at: u64, len: usize) -> &[u8] {
                match self { $($name::$variant(port) => port.bytes(at, len)),+ }
            }
            #[inline]
            fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
                match self { $($name::$variant(port) => port.bytes_mut(at, len)),+ }
            }
            #[inline]
            fn alignment(&self) -> u32 {
                match self { $($name::$variant(port) => port.alignment()),+ }
            }
            #[inline]
            fn depth(&self) -> usize {
                match self { $($name::$variant(port) => port.depth()),+ }
            }
            #[inline]
            fn in_flight(&self) -> usize {
                match self { $($name::$variant(port) => port.in_flight()),+ }
            }
            #[inline]
            fn submit(&mut self, request: $crate::Request) -> Result<(), $crate::TargetError> {
                match self { $($name::$variant(port) => port.submit(request)),+ }
            }
            #[inline]
            fn wait(
                &mut self,
                min: usize,
                until: Option<$crate::Nanos>,
                done: &mut Vec<$crate::Completion>,
            ) -> Result<(), $crate::TargetError> {
                match self { $($name::$variant(port) => port.wait(min, until, done)),+ }
            }
            fn size(&self, file: $crate::FileId) -> Result<u64, $crate::TargetError> {
                match self { $($name::$variant(port) => port.size(file)),+ }
            }
            fn grow(&mut self, file: $crate::FileId, size: u64) -> Result<(), $crate::TargetError> {
                match self { $($name::$variant(port) => port.grow(file, size)),+ }
            }
            fn extents(&self, file: $crate::FileId) -> Result<Vec<$crate::Extent>, $crate::TargetError> {
                match self { $($name::$variant(port) => port.extents(file)),+ }
            }
            fn waker(&self) -> $crate::Waker {
                match self { $($name::$variant(port) => port.waker()),+ }
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
