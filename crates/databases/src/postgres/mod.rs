//! PostgreSQL: a server of our own on a place of the stack under test, or one that is already there, and a client for
//! it.
//!
//! [`installs`] finds servers, [`Cluster`] makes and starts one, [`Connection`] speaks to it and waits, [`Terminals`]
//! speaks to it as hundreds of users on one thread without waiting; [`load`], [`check`] and [`ServerCounters`] do the
//! work around a phase.
//!
//! Prevents: a server that outlives us, a password in a message, and a client whose own work hides the server's.

mod bulk;
mod check;
mod connection;
mod error;
mod load;
mod login;
mod questions;
#[doc(hidden)]
pub mod readers;
mod refresh;
mod server;
mod sessions;
mod wire;

pub use bulk::BulkConnection;
pub use check::{Broken, check};
pub use connection::{Connection, TextRows};
pub use error::PostgresError;
pub use load::{LoadReport, create, load};
pub use login::address::{Address, Host, PARAMETERS};
pub use questions::{
    Questions, ask_questions, decision_support_checksums, load_decision_support, make_temp_tablespace,
};
pub use refresh::run_refresh;
pub use server::cluster::{Cluster, Server, ServerFacts, recorded_settings};
pub use server::counters::ServerCounters;
pub use server::image::ClusterImage;
pub use server::installs::{Install, OLDEST_MAJOR, choose, installs};
pub use server::process::RunAs;
pub use server::settings::{Preset, RecordedSetting, Settings};
pub use sessions::phase::{Phase, PhaseReport, run_phase};
pub use sessions::scattered::{Scattered, ScatteredSpec, load_scattered};
pub use sessions::scattered_phase::run_scattered;
pub use sessions::session::{Isolation, SessionCounts};
pub use sessions::terminals::{Terminals, TerminalsSpec};
