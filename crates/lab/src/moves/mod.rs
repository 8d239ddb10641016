//! What moves a database: a copy to another stack, disks that join or leave its group.

pub(crate) mod copying;
pub(crate) mod rebalance;
