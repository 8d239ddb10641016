//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod any_text;
mod broken;
mod controls;
mod declared;
mod files;
mod good;
mod hostile;
mod hostile_studies;
mod printed;
mod quantities;
mod schedule;
mod slob;
mod temporary;
mod volumes;
