//! What moves a database: a copy to another stack, LUNs that join or leave its group or volume.

pub(crate) mod copying;
pub(crate) mod rebalance;
pub(crate) mod volumes;
