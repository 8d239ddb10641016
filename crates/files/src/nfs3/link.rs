//! One TCP connection with any number of calls on their way: what is queued goes out in one send, what came is read
//! where it lies.
//!
//! Prevents: an end of the connection that is taken for "nothing came", and memory that a server names.

use crate::rpc::Records;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// How long a receiving call waits by itself; see [`Link::receive`].
pub(super) const PATIENCE: Duration = Duration::from_millis(40);

/// One connection.
pub(super) struct Link {
    pub(super) stream: TcpStream,
    pub(super) out: Vec<u8>,
    sent: usize,
    pub(super) records: Records,
    /// Whether the socket is watched for room to send.
    pub(super) watched_for_room: bool,
    /// An answer came since it was made.
    pub(super) heard: bool,
}

impl Link {
    pub(super) fn new(stream: TcpStream, longest_reply: usize) -> io::Result<Link> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Link {
            stream,
            out: Vec::new(),
            sent: 0,
            records: Records::new(longest_reply),
            watched_for_room: false,
            heard: false,
        })
    }

    /// Something waits to be sent.
    pub(super) fn is_full(&self) -> bool {
        !self.out.is_empty()
    }

    /// Sends what is queued, as far as the socket takes it. Counts system calls.
    pub(super) fn flush(&mut self, sends: &mut u64) -> io::Result<()> {
        while self.sent < self.out.len() {
            *sends += 1;
            match rustix::net::send(
                &self.stream,
                &self.out[self.sent..],
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            ) {
                Ok(sent) => self.sent += sent,
                Err(Errno::AGAIN) => {
                    // What was sent makes room for what comes.
                    self.out.drain(..self.sent);
                    self.sent = 0;
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Receives once. `None`: nothing was there. `true`: there may be more. `waits`: up to [`PATIENCE`] for the first
    /// byte, which saves the call that would wait for it.
    pub(super) fn receive(&mut self, waits: bool, receives: &mut u64) -> io::Result<Option<bool>> {
        let flags = if waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let room = self.records.room();
        let most = room.len();
        *receives += 1;
        match rustix::net::recv(&self.stream, room, flags) {
            Ok((_, 0)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((got, _)) => {
                self.records.received(got);
                Ok(Some(got == most))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
