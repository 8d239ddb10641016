//! OpenZFS's library: loading it, its devices, pools, files and counters. Everything in here runs in the server
//! process.

pub(crate) mod counters;
pub(crate) mod device;
pub(crate) mod extents;
pub(crate) mod file;
pub(crate) mod handover;
pub(crate) mod heap;
pub(crate) mod layout;
pub(crate) mod library;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod patch;
pub(crate) mod pool;
