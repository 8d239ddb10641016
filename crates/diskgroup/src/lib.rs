//! Room `diskgroup`: disks given whole to the database, striped and mirrored by extent maps that the database itself holds.
//!
//! [`Group`] owns the metadata: it makes and opens groups, makes, grows and deletes files, takes disks in and lets them go, and
//! checks. [`GroupPort`] is a worker's window on files of a group; it is a [`targets::Port`] over a port, so an engine runs on it
//! unchanged. [`Upkeep`] moves extents when disks come and go, copies what a disk missed while it was away, and mends bad copies.
//!
//! What holds it together: every change of metadata is one transaction of a journal; a write is acknowledged when all live
//! copies have it, or the journal says which one has not. The layout on disk stands in the doc comments of the types that are
//! written, and in `docs/disk-group.md`.

mod block;
mod board;
mod check;
mod core;
mod create;
mod disk;
mod distrust;
mod error;
mod faults;
mod file;
mod files;
mod geometry;
mod group;
mod header;
mod jobs;
mod journal;
mod map;
mod members;
mod mount;
mod placement;
mod plan;
mod planted;
mod port;
mod port_beside;
mod port_flush;
mod port_open;
mod port_read;
mod port_write;
mod publish;
#[doc(hidden)]
pub mod readers;
mod reading;
mod repair;
mod root;
mod settle;
mod slot;
mod space;
mod store;
mod upkeep;
mod upkeep_io;
mod uuid;
mod verify;

pub use block::FORMAT_VERSION;
pub use check::{CheckReport, Finding};
pub use core::Redundancy;
pub use create::{DiskSpec, GroupSpec};
pub use error::GroupError;
pub use file::FILE_NAME_BYTES;
pub use files::{FileSpec, Stripe};
pub use geometry::{AU_BYTES, Geometry};
pub use group::{DiskInfo, FileInfo, Group, GroupInfo, Inspected, inspect};
pub use header::DISKS_MAX;
pub use journal::JOURNAL_BLOCKS;
pub use mount::{MountOptions, Mounted};
pub use planted::Planted;
pub use port::GroupPort;
pub use store::MEMORY_MIN;
pub use upkeep::{Progress, Step, Upkeep};
pub use uuid::Uuid;
pub use verify::Verify;
