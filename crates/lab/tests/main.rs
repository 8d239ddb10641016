//! The tests of what spans rooms, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod book;
mod killed;
#[allow(dead_code)] // no test is alone on the machine here
#[path = "../../luns/tests/machine/mod.rs"]
mod machine;
/// What a run and its instances tell each other of a rebalance travels so between the processes of these tests too.
#[allow(dead_code)] // nobody waits here until all know all
#[path = "../src/instances/notices.rs"]
mod notices;
mod sharing;
mod stage;
mod two_instances;
