//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod bad_input;
mod crafted;
mod crash;
mod faults;
mod frozen;
mod going_back;
mod group;
mod machine;
#[cfg(feature = "planted")]
mod planted;
mod repairs;
mod seeds;
mod sharing;
mod two_groups;
