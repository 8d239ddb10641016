//! Room `targets`: block I/O and the clock.
//!
//! Owns the contract that engines see ([`Port`]) and what implements it: [`UringPort`] and [`PsyncPort`] on files and
//! block devices, [`NullPort`] for the bare loop's own ceiling and [`StoredPort`] for the engine's, [`ModelPort`] for
//! simulated disks, and two that wrap any of them, [`FaultPort`] and [`CountedPort`]. Also what the kernel really gave
//! ([`observe`]) and which of ring and `pread` is faster on a place ([`choose`]).

mod checksum;
mod choose;
mod clock;
mod counts;
mod error;
mod granted;
mod kernel;
mod measure;
mod memory;
mod model;
mod one_of;
mod open;
mod planted;
mod port;
mod ports;
mod prefetch;

pub use checksum::{Crc32cJoin, crc32c, crc32c_append};
pub use choose::{Choice, Method, choose};
pub use clock::monotonic_ns;
pub use error::{IoFault, TargetError};
pub use granted::{Granted, Way, observe};
pub use kernel::{Unplaced, extents};
pub use measure::{Measured, Until, measure_places, measure_reads};
pub use memory::{Memory, give_back_freed_memory, keep_little_freed_memory};
pub use model::{Disks, Model, ModelPort, Moved, PowerFails};
pub use one_of::BasePort;
pub use open::{Access, Inside, OpenSpec, Which};
pub use port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
pub use ports::counted::{CountedPort, Counts};
pub use ports::fault::{Delay, Fault, FaultPort, FaultRule, When};
pub use ports::prompt::{NullPort, PromptPort, StoredPort};
pub use ports::psync::PsyncPort;
pub use ports::ring::RingGrant;
pub use ports::uring::UringPort;
pub use prefetch::{PREFETCH_BYTES, prefetch};
