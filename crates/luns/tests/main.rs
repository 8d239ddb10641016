//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod devices;
mod disk;
mod driving;
mod limits;
#[allow(dead_code)] // each room uses a part of it
mod machine;
mod models;
mod real_time;
mod serve;
