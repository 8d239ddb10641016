//! What is known of the stacks beside their figures: capacity of arrays, databases, facts that differ, layouts, memory,
//! modelled devices, prices.
//!
//! Takes the gathered file, gives rows of the analysis. Prevents: two stacks compared that differ in what nobody said.

pub(crate) mod capacity;
pub(crate) mod cost;
pub(crate) mod databases;
pub(crate) mod differences;
pub(crate) mod layouts;
pub(crate) mod memory;
pub(crate) mod modelled;
pub(crate) mod priced;
