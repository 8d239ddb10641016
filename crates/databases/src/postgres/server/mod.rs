//! A server of our own: which are installed, its settings, its process, its counters.
//!
//! Prevents: a server that outlives us.

pub(crate) mod cluster;
pub(crate) mod counters;
pub(crate) mod image;
pub(crate) mod installs;
pub(crate) mod process;
pub(crate) mod settings;
