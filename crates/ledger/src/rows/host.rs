//! Row type of a host: what each of several hosts of a study is.
//!
//! Plain data, shared by writers and readers. A study on one host has no rows: its facts say it. Prevents: a sum over
//! hosts of which nobody can say later whether they were alike.

use super::columns::columns;

/// One of several hosts that a study ran on by MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// Its rank; 0 is the run's own.
    pub rank: u32,
    /// The host's name.
    pub host: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Processors that are online.
    pub cores: u32,
    /// Processors that the rank may use: a launcher may bind it to a few.
    pub usable: u32,
    /// SHA-256 of the program's file, in hexadecimal.
    pub binary: String,
}

columns!(HostRow: rank, host, kernel, cores, usable, binary);
