//! Waiting for sockets until a moment, to the nanosecond.
//!
//! Takes the epoll set and the time that is left, gives events. Prevents: an operation that leaves up to a millisecond
//! after it was due, and is counted as response (`epoll_wait` takes whole milliseconds, rounded up).

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use targets::Nanos;

/// From here on whole milliseconds will do: what is left of them is waited for in the next turn, ns.
const COARSE: Nanos = 2_000_000;
const MILLISECOND: Nanos = 1_000_000;

/// Events of the set, none if `left` is over. It may return up to a millisecond early, never as much late.
pub(super) fn events<'room>(
    set: &OwnedFd,
    room: &'room mut [MaybeUninit<epoll::Event>],
    left: Nanos,
) -> Result<&'room mut [epoll::Event], Errno> {
    let mut span = left - left % MILLISECOND;
    if left < COARSE {
        if left > 0 && poll(&mut [PollFd::new(set, PollFlags::IN)], Some(&timespec(left)))? == 0 {
            return Ok(&mut []);
        }
        span = 0;
    }
    epoll::wait(set, room, Some(&timespec(span))).map(|(events, _)| events)
}

fn timespec(span: Nanos) -> Timespec {
    Timespec {
        tv_sec: (span / 1_000_000_000) as i64,
        tv_nsec: (span % 1_000_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use targets::monotonic_ns;

    #[test]
    fn a_short_wait_is_never_cut_short_and_what_has_come_is_seen_at_once() {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let (mut near, far) = UnixStream::pair().unwrap();
        epoll::add(&set, &far, epoll::EventData::new_u64(7), epoll::EventFlags::IN).unwrap();
        let mut room = [MaybeUninit::uninit(); 4];
        for left in [0, 1_000, 300_000, 1_999_999] {
            let began = monotonic_ns();
            assert!(events(&set, &mut room, left).unwrap().is_empty());
            assert!(monotonic_ns() - began >= left);
        }
        near.write_all(b"x").unwrap();
        for left in [0, 300_000, 3_600_000_000_000] {
            assert_eq!(events(&set, &mut room, left).unwrap()[0].data.u64(), 7);
        }
    }
}
