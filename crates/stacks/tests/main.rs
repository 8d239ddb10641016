//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod held;
mod journal;
#[allow(dead_code)] // each room uses a part of it
#[path = "../../luns/tests/machine/mod.rs"]
mod machine;
mod nfs;
mod stacks;
mod volumes;
mod zfs_fuse;
