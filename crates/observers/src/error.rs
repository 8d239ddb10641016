//! Everything that can go wrong while observing, each with the path or device and, on its last line, the cure.
//!
//! Prevents: a source that is simply not there on this kernel being an error (that is `None` at the caller), and a
//! source that must be there being ignored (that is one of these).

use std::io;
use std::path::PathBuf;

/// Why something could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A source that every Linux has could not be read.
    #[error("cannot read {path}: {source}\n{cure}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// What to do.
        cure: &'static str,
    },
    /// A source was read and its text is in no known form.
    #[error("{path} is in no known form: {what}\nreport this kernel's version together with that file")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The part that was not understood.
        what: String,
    },
    /// A device was asked for that the kernel does not list.
    #[error(
        "block device {device} is not known to the kernel (looked in {path})\nname a device as in /proc/diskstats, \
         without /dev/"
    )]
    NoDevice {
        /// As asked for.
        device: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A place could not be looked at.
    #[error("cannot look at {path}: {source}\ncheck that it exists and may be read by this user")]
    Place {
        /// File, directory or device.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Making what was written durable failed.
    #[error(
        "cannot sync the file system of {path}: {source}\nlook into the kernel log: data may be lost, do not trust \
         this phase"
    )]
    Sync {
        /// The place given.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel's tracing file system is not mounted.
    #[error("{path} is not a mounted tracefs\nmount it as root: mount -t tracefs tracefs /sys/kernel/tracing")]
    TracingAbsent {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A tracing file could not be written or read.
    #[error("tracing: {path}: {source}\nblock tracepoints need root and a kernel with CONFIG_BLK_DEV_IO_TRACE")]
    Trace {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Tracepoints give whole disks only.
    #[error("{device} is a partition; its requests are traced under its disk {disk}\ntrace {disk}")]
    TracePartition {
        /// As asked for.
        device: String,
        /// Its disk.
        disk: String,
    },
    /// The sampler's thread could not be started.
    #[error("cannot start the sampling thread: {source}\nraise the limit of threads (ulimit -u, pids.max)")]
    Thread {
        /// The system's reason.
        source: io::Error,
    },
}
