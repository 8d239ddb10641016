//! The socket under a connection: of this host, of the network, or of the network and sealed.
//!
//! Takes a place and how it is to be reached, gives a [`Stream`]. One that is not sealed costs a comparison more than
//! its socket. Prevents: bytes that somebody slipped in before TLS began and that would count as the server's
//! (CVE-2021-23222).

use crate::postgres::login::tls::TlsStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A message without a kind: its length, and the number that asks for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// A peer that is gone without a word is noticed after this long and nine tries more.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(60);

/// A stream of any kind.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Reads what is there. Of a socket that does not wait: [`ErrorKind::WouldBlock`] where nothing is.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Unix(s) => Ok(rustix::io::read(s, into)?),
            Stream::Tcp(s) => Ok(rustix::io::read(s, into)?),
            Stream::Tls(s) => s.read(into),
        }
    }

    /// Sends what there is room for. What is left of sealed bytes goes with [`Stream::flush`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Stream::Unix(s) => Ok(rustix::net::send(s, bytes, SendFlags::NOSIGNAL)?),
            Stream::Tcp(s) => Ok(rustix::net::send(s, bytes, SendFlags::NOSIGNAL)?),
            Stream::Tls(s) => s.write(bytes),
        }
    }

    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        match self {
            Stream::Unix(_) | Stream::Tcp(_) => Ok(()),
            Stream::Tls(s) => s.flush(),
        }
    }

    /// There is more to read of which the socket will not speak again.
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Stream::Unix(_) | Stream::Tcp(_) => false,
            Stream::Tls(s) => s.has_more(),
        }
    }

    /// There is something to read now. A socket that says nothing more counts too: its end is read.
    pub(crate) fn speaks(&self) -> bool {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A poll that failed says nothing of the socket; the next read tells.
        self.has_more() || matches!(poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&NOW)), Ok(1..))
    }

    /// There is something to send that the socket had no room for.
    pub(crate) fn owes(&self) -> bool {
        match self {
            Stream::Unix(_) | Stream::Tcp(_) => false,
            Stream::Tls(s) => s.owes(),
        }
    }

    /// The same where there is one; without it nothing is changed.
    pub(crate) fn wait_for(&self, deadline: Option<Instant>) -> Result<()> {
        deadline.map_or(Ok(()), |deadline| self.wait_until(Some(deadline)))
    }

    /// Reads and writes wait at most up to `deadline`, or for ever.
    pub(crate) fn wait_until(&self, deadline: Option<Instant>) -> Result<()> {
        let left = deadline.map(left).transpose()?;
        match self {
            Stream::Unix(s) => s.set_read_timeout(left).and_then(|()| s.set_write_timeout(left)),
            Stream::Tcp(s) => tcp_waits(s, left),
            Stream::Tls(s) => tcp_waits(s.socket(), left),
        }
    }

    pub(crate) fn set_nonblocking(&self) -> Result<()> {
        match self {
            Stream::Unix(s) => s.set_nonblocking(true),
            Stream::Tcp(s) => s.set_nonblocking(true),
            Stream::Tls(s) => s.socket().set_nonblocking(true),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(s) => s.as_fd(),
            Stream::Tcp(s) => s.as_fd(),
            Stream::Tls(s) => s.socket().as_fd(),
        }
    }
}

/// Time up to `deadline`.
fn left(deadline: Instant) -> Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn tcp_waits(socket: &TcpStream, time: Option<Duration>) -> Result<()> {
    socket
        .set_read_timeout(time)
        .and_then(|()| socket.set_write_timeout(time))
}

/// Waits of a socket end at `deadline`.
pub(crate) fn tcp_until(socket: &TcpStream, deadline: Instant) -> Result<()> {
    tcp_waits(socket, Some(left(deadline)?))
}

/// A connection over the network: the first of the name's addresses that takes one.
pub(crate) fn connect_tcp(host: &str, port: u16, deadline: Instant) -> Result<TcpStream> {
    let mut failed = Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
                rustix::net::sockopt::set_tcp_keepidle(&socket, KEEP_ALIVE_AFTER)?;
                return Ok(socket);
            }
            Err(e) => failed = e,
        }
    }
    Err(failed)
}

/// How a server answers when it is asked for TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// TLS begins.
    Tls,
    /// It goes on without.
    Plain,
    /// The answer is none.
    Other(u8),
    /// More came than the answer: somebody wants it to be taken for the server's.
    Injected,
}

/// Asks a server for TLS, before anything else is said.
pub(crate) fn ask_for_tls(socket: &mut TcpStream, deadline: Instant) -> Result<Offer> {
    tcp_until(socket, deadline)?;
    socket.write_all(&SSL_REQUEST)?;
    // One more than the answer has.
    let mut answer = [0; 2];
    let got = loop {
        match socket.read(&mut answer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            got => break got?,
        }
    };
    offer(&answer[..got]).ok_or_else(|| Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"))
}

/// What the bytes say that came in answer.
pub(crate) fn offer(answer: &[u8]) -> Option<Offer> {
    match *answer {
        [] => None,
        [b'S'] => Some(Offer::Tls),
        [b'N'] => Some(Offer::Plain),
        [b'S' | b'N', ..] => Some(Offer::Injected),
        [other, ..] => Some(Offer::Other(other)),
    }
}

/// Whether a call would have had to wait.
pub(crate) fn is_later(error: &Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw_os_error),
        Some(Errno::AGAIN | Errno::INTR)
    ) || matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
