//! Processes: this one, a server with its descendants, a control group, and those that take a share beside us.
//!
//! Prevents: work of a child that nobody counts.

pub(crate) mod cgroup;
pub(crate) mod family;
pub(crate) mod neighbours;
pub(crate) mod own;
pub(crate) mod tasks;
