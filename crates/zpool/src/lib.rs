//! Room `zpool`: OpenZFS in user space, for machines whose kernel has no ZFS.
//!
//! The real OpenZFS code (libzpool: what its own tests and zdb run on) is loaded at run time in a **process of its
//! own**, started from here; the lab talks to it over a control socket and, for data, over memory that both share.
//! [`Zpool`] is that process with its pools, [`ZpoolPort`] a worker's window on files in them. Nothing of OpenZFS is
//! part of this program: no header, no code, no link; where it is not installed, everything but [`Zpool::start`] is as
//! it was.
//!
//! The server side ([`serve_standard_input`]) is in this crate too, so that one program can be both: it starts itself
//! again.

mod error;
mod handle;
mod heard;
mod message;
mod openzfs;
mod port;
mod process;
mod rings;
mod serve;
mod serving;
mod wire;

/// Where OpenZFS's library may be named, instead of by its usual name.
pub(crate) const LIBRARY_VARIABLE: &str = "ASSAY_LIBZPOOL";

pub use error::{Refused, ZpoolError};
pub use handle::{Zpool, probe};
#[doc(hidden)]
pub use heard::{Spoken, heard, spoken};
pub use message::{
    ArcCounts, Counted, DeviceCounts, DeviceFault, DeviceOp, FaultDone, FileCounts, FileName, FileSpec, Imported,
    PoolCounts, PoolSpec, Redundancy, Tuning,
};
pub use port::ZpoolPort;
pub use process::Launch;
pub use serve::serve_standard_input;
