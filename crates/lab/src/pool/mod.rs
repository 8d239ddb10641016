//! Pools of ZFS: the ways to it on this machine, one in a process of its own, what they count.

pub(crate) mod arc_counts;
pub(crate) mod counted;
pub(crate) mod pooled;
pub mod zfs_ways;
