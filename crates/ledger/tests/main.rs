//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod databases;
mod documented;
mod hosts;
mod imported;
mod kill;
mod result_file;
mod rows;
mod sealed;
mod serving;
mod strangers;
