//! A TCP connection from this thread's own network namespace, from a reserved port where root asks for it.
//!
//! Prevents: an export that answers the kernel's client and refuses ours (servers trust ports below 1024, unless an
//! export says `insecure`).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Reserved ports that the kernel's own client takes (`sunrpc.min_resvport`): below them lie those of services.
const RESERVED: std::ops::RangeInclusive<u16> = 665..=1023;

/// Opens a connection. Root has a reserved port as long as one is free; others may not have one.
pub(super) fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    if rustix::process::geteuid().is_root()
        && let Some(bound) = bound(address, RESERVED.rev())
    {
        match connect(bound, address) {
            // The same two ports were connected a moment ago.
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            done => return done,
        }
    }
    TcpStream::connect_timeout(&address, PATIENCE)
}

/// A socket on the first port that is free.
fn bound(address: SocketAddr, mut ports: impl Iterator<Item = u16>) -> Option<OwnedFd> {
    let (family, any) = match address {
        SocketAddr::V4(_) => (AddressFamily::INET, IpAddr::from(Ipv4Addr::UNSPECIFIED)),
        SocketAddr::V6(_) => (AddressFamily::INET6, IpAddr::from(Ipv6Addr::UNSPECIFIED)),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None).ok()?;
    ports
        .find(|port| rustix::net::bind(&socket, &SocketAddr::new(any, *port)).is_ok())
        .map(|_| socket)
}

/// Connects a socket that does not block, and lets it block from then on.
fn connect(socket: OwnedFd, address: SocketAddr) -> io::Result<TcpStream> {
    match rustix::net::connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            let patience = Timespec {
                tv_sec: PATIENCE.as_secs() as i64,
                tv_nsec: 0,
            };
            let mut room = [PollFd::new(&socket, PollFlags::OUT)];
            if retry_on_intr(|| poll(&mut room, Some(&patience)))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn a_connection_comes_from_a_port_that_is_free_and_blocks() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = server.local_addr().unwrap();
        // The first two ports are taken: by the server, and by a socket of our own.
        let other = bound(address, std::iter::once(0)).unwrap();
        let taken = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let ports = [taken.local_addr().unwrap().port(), 0];
        let near = bound(address, ports.into_iter()).unwrap();
        drop(other);
        let mut near = connect(near, address).unwrap();
        assert_ne!(near.local_addr().unwrap().port(), ports[0]);
        let (mut far, _) = server.accept().unwrap();
        let answer = std::thread::spawn(move || {
            let mut room = [0; 3];
            near.read_exact(&mut room).map(|()| room)
        });
        far.write_all(b"yes").unwrap();
        assert_eq!(&answer.join().unwrap().unwrap(), b"yes");
        assert!(bound(address, std::iter::empty()).is_none());
    }

    #[test]
    fn root_has_a_reserved_port_and_a_refusal_is_told() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = server.local_addr().unwrap();
        let port = dial(address).unwrap().local_addr().unwrap().port();
        if rustix::process::geteuid().is_root() {
            assert!(RESERVED.contains(&port), "{port}");
        }
        drop(server);
        assert_eq!(dial(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
