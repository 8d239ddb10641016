//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod ageing;
mod copy;
mod crash;
mod engine;
mod instructions;
mod machine;
mod parts;
#[cfg(feature = "planted")]
mod planted;
mod together;
