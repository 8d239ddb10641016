//! The layout on disk: blocks, headers, the root, the journal, and what the tables of disks and files hold.
//!
//! Each type says in its documentation how its bytes lie. Prevents: two places that know where a field is.

pub(crate) mod block;
pub(crate) mod disk;
pub(crate) mod file;
pub(crate) mod geometry;
pub(crate) mod header;
pub(crate) mod journal;
pub(crate) mod root;
