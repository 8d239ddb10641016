//! The host: its processors, memory, clocks, pressure and kernel threads.
//!
//! Prevents: a cost of the machine that is counted for one process.

pub(crate) mod affinity;
pub(crate) mod clocks;
pub(crate) mod cpu;
pub(crate) mod facts;
pub(crate) mod kernel_threads;
pub(crate) mod memory;
pub(crate) mod pressure;
