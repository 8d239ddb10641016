//! The laboratory through its own binary, on result files that `assay run` writes.
//!
//! Prevents: a table of what is owed that says "kept" of something else than what was asked.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod belief;
mod bench;
mod protocols;
mod schedules;
mod twins;
