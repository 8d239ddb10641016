//! Room `targets`: block I/O and the clock.
//!
//! Owns the contract that engines see ([`Port`]) and what implements it.

mod error;
mod port;

pub use error::{IoFault, TargetError};
pub use port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
