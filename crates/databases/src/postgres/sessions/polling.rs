//! One wait for all sessions of a worker.
//!
//! Takes the sockets that are watched and a time, gives those that have something to say. Prevents: a worker that waits
//! for ever, when its phase is over, for a server that has stopped answering.

use crate::postgres::connection::broken;
use crate::postgres::error::PostgresError;
use crate::postgres::login::address::Address;
use crate::postgres::login::stream::Stream;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use targets::{Nanos, monotonic_ns};

/// A transaction takes seconds, on storage that stands still minutes; a server that says nothing to anybody for longer
/// is gone.
const SILENCE_NS_MAX: u64 = 600 * 1_000_000_000;

/// Sockets looked at in one call.
const EVENTS: usize = 256;

/// The sockets of a worker's sessions, each by the number of its session.
pub(crate) struct Watch {
    pub(crate) address: Address,
    epoll: OwnedFd,
    /// Those that have something to say since the last wait.
    pub(crate) events: Vec<epoll::Event>,
}

fn refused(error: Errno) -> PostgresError {
    PostgresError::path(
        "make",
        "epoll",
        error.into(),
        "raise the limit of open files (ulimit -n)",
    )
}

impl Watch {
    pub(crate) fn new(address: &Address) -> Result<Watch, PostgresError> {
        Ok(Watch {
            address: address.clone(),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused)?,
            events: Vec::with_capacity(EVENTS),
        })
    }

    /// Watches a socket from now on; it no longer waits by itself.
    pub(crate) fn add(&self, stream: &Stream, nth: u32) -> Result<(), PostgresError> {
        // Asked for only then: it waits for the end of the server's log.
        let broke = |_| broken(&self.address, "the socket can't be made to not wait");
        stream.set_nonblocking().map_err(broke)?;
        let data = epoll::EventData::new_u64(nth.into());
        epoll::add(&self.epoll, stream, data, epoll::EventFlags::IN).map_err(refused)
    }

    /// Watches a socket for something else.
    pub(crate) fn change(&self, stream: &Stream, nth: usize, flags: epoll::EventFlags) -> Result<(), Errno> {
        epoll::modify(&self.epoll, stream, epoll::EventData::new_u64(nth as u64), flags)
    }

    /// Waits up to `until`, or for as long as a server may be silent.
    pub(crate) fn wait(&mut self, until: Option<Nanos>) -> Result<(), PostgresError> {
        let ns = until.map_or(SILENCE_NS_MAX, |until| until.saturating_sub(monotonic_ns()));
        let left = Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (ns % 1_000_000_000) as i64,
        };
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&left)) {
            Ok(0) if until.is_none() => {
                let what = format!("no answer within {} s", SILENCE_NS_MAX / 1_000_000_000);
                Err(broken(&self.address, &what))
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
}
