//! The eventfd behind a [`Waker`]: how another thread ends a real port's wait.
//!
//! Prevents a cost to ports that nobody wakes (they never look at it), and a wake that comes before the wait from being
//! lost (the kernel keeps the count).

use crate::clock::span_until;
use crate::error::TargetError;
use crate::port::{Nanos, Waker};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use std::cell::Cell;
use std::sync::Arc;

pub(crate) struct Bell {
    fd: Arc<OwnedFd>,
    asked: Cell<bool>,
}

impl Bell {
    pub(crate) fn new() -> Result<Bell, TargetError> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| TargetError::Ring {
            what: "make an eventfd for its waker",
            source: e.into(),
        })?;
        Ok(Bell {
            fd: Arc::new(fd),
            asked: Cell::new(false),
        })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.asked.set(true);
        Waker(Some(Arc::clone(&self.fd)))
    }

    /// Whether anybody holds, or held, a waker.
    #[inline]
    pub(crate) fn asked(&self) -> bool {
        self.asked.get()
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Takes the wakes that came; true when there were any.
    pub(crate) fn taken(&self) -> bool {
        let mut count = [0u8; 8];
        rustix::io::read(&*self.fd, &mut count).is_ok()
    }

    /// Sleeps until a wake (taken) or `until`.
    pub(crate) fn sleep(&self, until: Nanos) {
        loop {
            let mut fds = [PollFd::new(&*self.fd, PollFlags::IN)];
            match poll(&mut fds, Some(&span_until(until))) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    self.taken();
                    return;
                }
            }
        }
    }
}
