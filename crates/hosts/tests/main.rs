//! The tests of room `hosts`, in one binary.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test says why it skips and what it saw, and panics where it cannot go on"
)]

#[cfg(feature = "mpi")]
mod under_mpi;
