//! Room `stacks`: building storage stacks out of LUNs, and taking them down again whatever happens.
//!
//! Owns the child processes of storage tools and what needs root. Every step that leaves something behind is written to
//! a [`Journal`] *before* it is taken, as the [`Undo`] that takes it back: undone at the end, on an error, on Ctrl-C,
//! and by [`clean`] after a kill. [`build`] hands over plain facts; it never meets what runs on them.

mod build;
mod built;
mod clean;
mod device;
mod error;
mod filesystem;
mod forced_down;
mod ground;
mod held;
mod host;
mod journal;
mod memory;
mod nfs;
mod places;
mod probe;
mod revive;
mod run;
mod serving;
mod tool;
mod undo;
mod volume;
mod zfs;

pub use build::{build, loaded, teardown};
pub use built::Built;
pub use clean::{CleanReport, CleanedRun, Leftover, Orphaned, clean, clean_run, is_left, leftovers};
pub use device::pool_name;
pub use error::StackError;
pub use forced_down::force_down;
pub use ground::{FilePair, Ground};
pub use host::process::is_root;
pub use journal::{Journal, Mark, NotUndone, StepNumber, state_dir};
pub use memory::{Enforcement, MemoryLimit, drop_caches, may_drop_caches, memory_limit};
pub use nfs::{Dialer, FileServerHere, FileService, file_servers};
pub use places::{Owners, Places};
pub use probe::{Buildable, probe, probe_those};
pub use revive::{make_anew, power_off, power_on};
pub use tool::VOLUME_PLACES;
pub use undo::Undo;
pub use volume::{
    Exchange, Told, checked_by_others, exchange, lost_members, said, settle, stale_parity, volume_unable,
};
pub use zfs::{ArcCounted, MountedPool, PoolCounted, WayHere, zfs_ways};
