//! What an engine is asked to do: random work, scans, commits alone, loading, ageing and moving a database.
//!
//! Prevents: a workload that reaches into the engine's state by a way of its own.

pub(crate) mod ageing;
pub(crate) mod copy;
pub(crate) mod load;
pub(crate) mod random;
pub(crate) mod redo;
pub(crate) mod scan;
pub(crate) mod work;
