//! The engine: a worker with its cache, log, writers and checkpoint, the instance above them, and recovery.
//!
//! Prevents: a lock between workers; each owns what it touches.

pub(crate) mod cache;
pub(crate) mod checkpoint;
pub(crate) mod commit;
pub(crate) mod instance;
pub(crate) mod log;
pub(crate) mod overwritten;
pub(crate) mod recovery;
pub(crate) mod stages;
pub(crate) mod worker;
pub(crate) mod writers;
