//! Several instances of the page engine on one stack, each in a process of its own.
//!
//! The run's own process is instance 1. It makes the database, keeps its own workers, and gives the others to processes
//! that it starts, here or on other hosts. All phases begin at a moment that all were told.

mod end;
mod error;
pub(crate) mod heard;
mod letters;
mod lines;
mod member;
pub(crate) mod notices;
pub(crate) mod others;
pub(crate) mod process;
pub(crate) mod proof;
pub(crate) mod rank;
pub(crate) mod ranks;
mod remote;
pub(crate) mod settled;
pub(crate) mod shares;
pub(crate) mod stand;
pub(crate) mod wire;
