//! Room `files`: file serving. POSIX and NFS clients, the tree they work on, and the mixes of calls.
//!
//! A [`Client`] carries out calls; everything above is the same for all of them. Every answer is checked against a
//! model of the tree: names, sizes, identities, listings, and each KiB of data.
//!
//! Prevents: a fast answer that is a wrong one, and a client whose own cost is taken for the server's.

mod client;
mod error;
mod grain;
pub mod nfs;
pub mod rpc;
mod status;

pub use client::{Answer, Call, Client, Entries, Entry, Found, Identity, Kept, Listed, Node, PlainEntry};
pub use error::FilesError;
pub use grain::{Content, GRAIN, Pool, Wrong};
pub use status::Status;
