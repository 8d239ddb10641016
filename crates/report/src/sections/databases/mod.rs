//! What databases in SQL did: order entry, decision support, bulk loads.
//!
//! Each file takes a phase of its kind and gives blocks. Prevents: a section that grows with each kind of work.

pub(in crate::sections) mod bulk;
pub(in crate::sections) mod orders;
pub(in crate::sections) mod questions;
