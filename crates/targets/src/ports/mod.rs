//! The ports: on a ring, on `pread`, in memory, on nothing, and two that wrap another.
//!
//! Prevents: an engine that knows which of them it runs on.

pub(crate) mod bell;
pub(crate) mod counted;
pub(crate) mod fault;
pub(crate) mod pause;
pub(crate) mod prompt;
pub(crate) mod psync;
pub(crate) mod queues;
pub(crate) mod ring;
pub(crate) mod uring;
