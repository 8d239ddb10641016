//! The owner of the metadata: making and opening a group, its files, its disks, its units, and checking them all.
//!
//! Every change goes through [`core::Core::commit`]. Prevents: a second way to change what a group says of itself.

pub(crate) mod check;
pub(crate) mod core;
pub(crate) mod create;
pub(crate) mod directory;
pub(crate) mod distrust;
pub(crate) mod faults;
pub(crate) mod files;
pub(crate) mod finding;
pub(crate) mod members;
pub(crate) mod meta_uses;
pub(crate) mod mount;
pub(crate) mod placement;
pub(crate) mod reading;
pub(crate) mod space;
pub(crate) mod store;
