//! Room `diskgroup`: disks given whole to the database, striped and mirrored by extent maps that the database itself
//! holds.
//!
//! [`Group`] owns the metadata: it makes and opens groups, makes, grows and deletes files, takes disks in and lets them
//! go, and checks. [`GroupPort`] is a worker's window on files of a group; it is a [`targets::Port`] over a port, so an
//! engine runs on it unchanged. [`Upkeep`] moves extents when disks come and go, copies what a disk missed while it was
//! away, and mends bad copies.
//!
//! Several processes may have a group open: one owns it, the others have it open frozen and follow ([`Follower`]).
//!
//! What holds it together: every change of metadata is one transaction of a journal; a write is acknowledged when all
//! live copies have it, or the journal says which one has not. The layout on disk stands in the doc comments of the
//! types that are written, and in `docs/disk-group.md`.

mod error;
mod group;
mod layout;
mod metadata;
mod planted;
mod port;
#[doc(hidden)]
pub mod readers;
mod sharing;
mod upkeep;
mod uuid;
mod verify;

pub use error::GroupError;
pub use group::{DiskInfo, FileInfo, Group, GroupInfo, Inspected, inspect};
pub use layout::block::{FORMAT_VERSION, Flaw};
pub use layout::file::FILE_NAME_BYTES;
pub use layout::geometry::{AU_BYTES, Geometry};
pub use layout::header::DISKS_MAX;
pub use layout::journal::JOURNAL_BLOCKS;
pub use metadata::check::CheckReport;
pub use metadata::core::Redundancy;
pub use metadata::create::{DiskSpec, GroupSpec};
pub use metadata::files::{FileSpec, Stripe};
pub use metadata::finding::{Contradiction, Finding, FindingKind, FoundAt};
pub use metadata::mount::{MountOptions, Mounted};
pub use metadata::store::MEMORY_MIN;
pub use planted::Planted;
pub use port::GroupPort;
pub use sharing::telling::Follower;
pub use upkeep::{Progress, Step, Upkeep};
pub use uuid::Uuid;
pub use verify::Verify;
