//! A series of readings while something runs: the thread, its open files, its samples.
//!
//! Prevents: a sampler that costs more than it measures.

pub(crate) mod sample;
pub(crate) mod sources;
pub(crate) mod watch;
