//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod counting;
mod ganesha;
mod local;
mod protocol;
mod results;
mod server;
