//! What databases did: order entry, decision support, bulk loads, and each of several instances.
//!
//! Each file takes a phase of its kind and gives blocks. Prevents: a section that grows with each kind of work.

pub(in crate::sections) mod bulk;
pub(in crate::sections) mod instances;
pub(in crate::sections) mod orders;
pub(in crate::sections) mod questions;
