//! PostgreSQL: a server of our own on a place of the stack under test, or one that is already there, and a client for it.
//!
//! [`installs`] finds servers, [`Cluster`] makes and starts one, [`Connection`] speaks to it and waits, [`Terminals`] speaks to it
//! as hundreds of users on one thread without waiting; [`load`], [`check`] and [`ServerCounters`] do the work around a phase.
//!
//! Prevents: a server that outlives us, a password in a message, and a client whose own work hides the server's.

mod address;
mod bulk;
mod certificate;
mod check;
mod connection;
mod copy;
mod counters;
mod encryption;
mod error;
mod installs;
mod load;
mod login;
mod messages;
mod open;
mod phase;
mod polling;
mod process;
#[doc(hidden)]
pub mod readers;
mod response;
mod scattered;
mod scattered_phase;
mod server;
mod session;
mod settings;
mod stream;
mod terminals;
mod tls;
mod wire;

pub use address::{Address, Host, PARAMETERS};
pub use bulk::BulkConnection;
pub use check::{Broken, check};
pub use connection::{Connection, TextRows};
pub use counters::ServerCounters;
pub use error::PostgresError;
pub use installs::{Install, OLDEST_MAJOR, choose, installs};
pub use load::{LoadReport, create, load};
pub use phase::{Phase, PhaseReport, run_phase};
pub use process::RunAs;
pub use scattered::{Scattered, ScatteredSpec, load_scattered};
pub use scattered_phase::run_scattered;
pub use server::{Cluster, Server, ServerFacts, recorded_settings};
pub use session::{Isolation, SessionCounts};
pub use settings::{Preset, RecordedSetting, Settings};
pub use terminals::{Terminals, TerminalsSpec};
