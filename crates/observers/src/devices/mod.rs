//! Block devices: what lies under a place, their counters, errors and facts, and whether they have come to rest.
//!
//! Prevents: a counter of one device taken for that of the device below it.

pub(crate) mod counters;
pub(crate) mod delta;
pub(crate) mod descent;
pub(crate) mod errors;
pub(crate) mod facts;
pub(crate) mod idle;
pub(crate) mod lineage;
pub(crate) mod mountinfo;
pub(crate) mod topology;
pub(crate) mod trace;
pub(crate) mod trace_lines;
