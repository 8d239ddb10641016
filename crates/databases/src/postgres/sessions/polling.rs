//! One wait for all sessions of a worker.
//!
//! Takes the sockets that are watched and a time, gives those that have something to say. Prevents: a worker that waits
//! for ever, when its phase is over, for a server that has stopped answering.

use crate::postgres::connection::broken;
use crate::postgres::error::PostgresError;
use crate::postgres::login::address::Address;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use targets::{Nanos, monotonic_ns};

/// A transaction takes seconds, on storage that stands still minutes; a server that says nothing to anybody for longer
/// is gone.
const SILENCE_NS_MAX: u64 = 600 * 1_000_000_000;

/// Waits up to `until`, or for as long as a server may be silent.
pub(crate) fn wait(
    epoll: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    until: Option<Nanos>,
    address: &Address,
) -> Result<(), PostgresError> {
    let ns = until.map_or(SILENCE_NS_MAX, |until| until.saturating_sub(monotonic_ns()));
    let left = Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (ns % 1_000_000_000) as i64,
    };
    events.clear();
    match epoll::wait(epoll, spare_capacity(events), Some(&left)) {
        Ok(0) if until.is_none() => {
            let what = format!("no answer within {} s", SILENCE_NS_MAX / 1_000_000_000);
            Err(broken(address, &what))
        }
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(PostgresError::path(
            "wait on",
            "epoll",
            e.into(),
            "look at the kernel log (dmesg)",
        )),
    }
}
