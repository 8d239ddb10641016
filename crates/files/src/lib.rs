//! Room `files`: file serving. POSIX and NFS clients, the tree they work on, and the mixes of calls.
//!
//! # For who uses it
//!
//! A [`Config`] says what the users do: a [`Mix`] of calls (`sfs97`, `sfs93`, `build`, a table of one's own) or
//! [`Steps`] in a row (fileserver, varmail, webserver), the [`Sizes`] of files, and shares. A [`Place`] says where the
//! files are: on an [`NfsServer`], in a [`LocalDirectory`], or nowhere. [`Serving`] is both together:
//!
//! 1. [`Serving::begin`] connects and makes the directory of the run,
//! 2. [`Serving::grow_to`] makes files until the tree has so many bytes: before the first phase, and between points,
//! 3. [`Serving::run`] is one phase or load point under a [`workloads::Pacing`], closed or open; its [`Point`] has
//!    counts and histograms by [`Class`], bytes, what was unsent, wrong, tried again, drawn again,
//! 4. [`Serving::audit`] reads everything and says what is lost, after a cut, a kill, or nothing at all.
//!
//! What was acknowledged is remembered in this process, outside of the stack, so that a cut or a kill takes none of it.
//!
//! Sockets are made by the caller ([`Dial`]), so that a server in a network namespace of its own can be reached.
//!
//! # Inside
//!
//! A [`Client`] carries out calls; everything above is the same for all of them. Every answer is checked against a
//! model of the tree: names, sizes, identities, listings, and each KiB of data.
//!
//! Prevents: a fast answer that is a wrong one, and a client whose own cost is taken for the server's.

mod client;
mod error;
mod grain;
mod load;
pub mod nfs;
mod nfs3;
mod null;
mod posix;
pub mod rpc;
mod serving;
mod status;
mod tree;
mod users;

pub use client::{Answer, Call, Client, Entries, Entry, Found, Identity, Kept, Listed, Node, PlainEntry, Traffic};
pub use error::FilesError;
pub use grain::{Content, GRAIN, Pool, Wrong};
pub use load::{CLASS_COUNT, Class, Config, Mix, Sizes, Steps, Work};
pub use serving::{
    After, Audit, Counts, Dial, Filled, LocalDirectory, NfsServer, Place, Point, Serving, TreeSize, WrongAnswers, reach,
};
pub use status::Status;
