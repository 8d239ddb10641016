//! What lies on storage and where: pages, their contents, the control block, the redo log.
//!
//! Prevents: an address or a byte that two parts of the engine compute in two ways.

pub(crate) mod content;
pub(crate) mod control;
pub(crate) mod keys;
pub(crate) mod layout;
pub(crate) mod page;
pub(crate) mod redo;
pub(crate) mod shape;
