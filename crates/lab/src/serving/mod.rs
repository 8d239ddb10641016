//! File serving: a tree of files on a stack, its users, and a ramp of loads.
//!
//! Takes stacks that stand; gives rows of the ledger. Prevents: a load point whose tree, observation or end is another
//! than the next one's.

mod ceiling;
mod cut;
mod place;
mod point;
mod ramp;
mod rows;
mod server;
mod tree;
pub(crate) mod trial;
mod work;

pub(crate) use place::unable;
