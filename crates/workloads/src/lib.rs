//! Room `workloads`: the hot loop. Sessions, pacing, stamps and histograms over a generic [`Operation`].
//!
//! A worker hands its operation, a [`Pacing`] and a seed to [`drive`] and gets an [`Outcome`]; the outcomes of several
//! workers become one by [`merge`], those of stints that followed each other by [`in_stints`]. [`Ceiling`] is the
//! operation that does nothing: what the loop itself can do.
//!
//! Workers whose operations block take the due times of an open arrival from one schedule: [`Arrivals`]. There are
//! hundreds of them, so they count their latencies in one place: [`Latencies`].
//!
//! Prevents: latency that leaves out the time an operation waited before it was sent (three stamps: due, start, done),
//! and an instrument that is slower than what it measures without anybody knowing.

mod arrivals;
mod busy;
mod ceiling;
mod drive;
mod latencies;
mod operation;
mod outcome;
mod pacing;
mod schedule;
mod stints;
mod tally;

pub use arrivals::Arrivals;
pub use busy::Busy;
pub use ceiling::Ceiling;
pub use drive::{BYTES_PER_SESSION, drive, drive_shared};
pub use latencies::Latencies;
pub use operation::{Done, Operation, Started};
pub use outcome::{ClassOutcome, LATENCY_NS_MAX, LATENCY_RANGE, Outcome, SLICES_MAX, Slice, merge};
pub use pacing::{Arrival, Pacing, PacingError, Schedule, Stop, Think};
pub use stints::in_stints;
