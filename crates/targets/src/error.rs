//! What can go wrong below the contract: faults of single I/Os, and errors of files and ports.

use std::path::PathBuf;

/// Why one I/O was not done. Small and `Copy`: it travels in every completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IoFault {
    /// The kernel (or the model) refused with this errno.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    /// The file ended before the request did.
    #[error("only {got} of {wanted} bytes were moved: the file or device ends there")]
    Short {
        /// Bytes moved.
        got: u32,
        /// Bytes asked.
        wanted: u32,
    },
}

/// An error of a file or of a port as a whole.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// The act: "open", "grow" ...
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do about it.
        cure: &'static str,
    },
    /// The ring could not be made or driven.
    #[error(
        "io_uring: {what}: {source}\n  use `io = \"pread\"` in the study, or allow io_uring (sysctl kernel.io_uring_disabled)"
    )]
    Ring {
        /// The act.
        what: &'static str,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// Memory for buffers could not be had.
    #[error("{bytes} bytes of buffer memory: {source}\n  lower `database.cache` or the memory budget")]
    Memory {
        /// Bytes asked.
        bytes: u64,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// The simulated machine lost its power: nothing more will complete.
    #[error("the modelled device lost its power")]
    PowerCut,
    /// A layer that is itself a port, above one of this room's, failed.
    #[error("{0}")]
    Layer(Box<dyn std::error::Error + Send + Sync>),
    /// More requests than the port's depth.
    #[error("more than {depth} requests in flight")]
    TooDeep {
        /// The port's depth.
        depth: usize,
    },
}
