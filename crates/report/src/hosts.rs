//! The hosts that a study ran on, where there are several.
//!
//! Takes the gathered file, gives a [`HostOfStudy`] each. Prevents: a rate of several hosts by a reader who takes them
//! for one.

use crate::history::Book;
use ledger::HostRow;
use schemars::JsonSchema;
use serde::Serialize;

/// One host of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostOfStudy {
    /// Its rank; 0 is the run's own.
    pub rank: u32,
    /// The host's name.
    pub host: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Processors that are online.
    pub processors: u32,
    /// Processors that the rank may use.
    pub processors_usable: u32,
    /// SHA-256 of the program's file, in hexadecimal.
    pub program_sha256: String,
}

/// By rank; nothing of a study on one host.
pub(crate) fn hosts(book: &Book) -> Vec<HostOfStudy> {
    let of = |row: &HostRow| HostOfStudy {
        rank: row.rank,
        host: row.host.clone(),
        kernel: row.kernel.clone(),
        processors: row.cores,
        processors_usable: row.usable,
        program_sha256: row.binary.clone(),
    };
    book.hosts.iter().map(of).collect()
}
