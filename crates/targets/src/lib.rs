//! Room `targets`: block I/O and the clock.
//!
//! Owns the contract that engines see ([`Port`]) and what implements it: [`UringPort`] and [`PsyncPort`] on files and block
//! devices, [`NullPort`] for the bare loop's own ceiling and [`StoredPort`] for the engine's, [`ModelPort`] for simulated
//! disks, and two that wrap any of them, [`FaultPort`] and [`CountedPort`]. Also what the kernel really gave ([`observe`])
//! and which of ring and `pread` is faster on a place ([`choose`]).

mod bell;
mod choose;
mod clock;
mod counted;
mod error;
mod fault;
mod granted;
mod kernel;
mod measure;
mod memory;
mod model;
mod null;
mod one_of;
mod open;
mod pause;
mod port;
mod psync;
mod queues;
mod ring;
mod stored;
mod uring;

pub use choose::{Choice, Method, choose};
pub use clock::monotonic_ns;
pub use counted::{CountedPort, Counts};
pub use error::{IoFault, TargetError};
pub use fault::{Delay, Fault, FaultPort, FaultRule, When};
pub use granted::{Granted, Way, observe};
pub use measure::{Measured, Until, measure_places, measure_reads};
pub use memory::{Memory, give_back_freed_memory};
pub use model::{Disks, Model, ModelPort, Moved, PowerFails};
pub use null::NullPort;
pub use one_of::BasePort;
pub use open::{Access, Inside, OpenSpec};
pub use port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
pub use psync::PsyncPort;
pub use ring::RingGrant;
pub use stored::StoredPort;
pub use uring::UringPort;
