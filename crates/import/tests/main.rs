//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod any_text;
mod choices;
mod layouts;
mod limits;
mod reports;
mod seeds;
mod tools;
mod versions;
mod whole;
