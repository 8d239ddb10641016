//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod arrival;
#[path = "postgres/between.rs"]
mod between;
mod decision_support;
#[allow(dead_code)] // each room uses a part of it
#[path = "../../luns/tests/machine/mod.rs"]
mod machine;
#[path = "postgres/place.rs"]
mod place;
#[path = "postgres/played.rs"]
mod played;
mod postgres;
mod postgres_bulk;
mod postgres_hostile;
mod postgres_server;
mod postgres_tls;
#[path = "postgres/sealed.rs"]
mod sealed;
mod sqlite_power;
mod sqlite_same;
mod storm;
mod temporary_files;
