//! The tests of what spans rooms, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod book;
mod sharing;
mod stage;
mod two_instances;
