//! Room `stacks`: building storage stacks out of LUNs, and taking them down again whatever happens.
//!
//! Owns the child processes of storage tools and what needs root. Every step that leaves something behind is written to
//! a [`Journal`] *before* it is taken, as the [`Undo`] that takes it back: undone at the end, on an error, on Ctrl-C,
//! and by [`clean`] after a kill. [`build`] hands over plain facts; it never meets what runs on them.

mod build;
mod cgroup;
mod clean;
mod device;
mod error;
mod filesystem;
mod forced_down;
mod ground;
mod journal;
mod memory;
mod mounts;
mod pool;
mod probe;
mod process;
mod revive;
mod serving;
mod tool;
mod undo;
mod zfs;

pub use build::{Built, Places, build, teardown};
pub use clean::{CleanReport, CleanedRun, Leftover, clean, leftovers};
pub use error::StackError;
pub use forced_down::force_down;
pub use ground::{FilePair, Ground, Owners};
pub use journal::{Journal, Mark, NotUndone, StepNumber, state_dir};
pub use memory::{Enforcement, MemoryLimit, drop_caches, memory_limit};
pub use pool::pool_name;
pub use probe::{Buildable, is_root, probe};
pub use revive::{make_anew, power_off, power_on};
pub use undo::Undo;
pub use zfs::{ArcCounted, MountedPool, PoolCounted, WayHere, zfs_ways};
