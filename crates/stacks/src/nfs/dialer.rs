//! Connections into the network namespace of a server.
//!
//! A socket belongs to the namespace in which it was made, and is good everywhere afterwards. A thread goes there,
//! connects, and ends; the other threads stay where they are. Prevents: a server that has to listen on the host's
//! network to be reached by its own users.

use rustix::fs::{CWD, Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens connections to one server. It holds the network of the server, not the server.
#[derive(Clone, Debug)]
pub struct Dialer {
    network: Arc<OwnedFd>,
}

impl Dialer {
    /// To the network of this process.
    pub(super) fn of(pid: u32) -> io::Result<Dialer> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let network = rustix::fs::openat(CWD, format!("/proc/{pid}/ns/net"), flags, Mode::empty())?;
        Ok(Dialer {
            network: Arc::new(network),
        })
    }

    /// Connects to an address of that network.
    ///
    /// # Errors
    /// Nobody listens there; this process may not enter the network.
    pub fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let network = Arc::clone(&self.network);
        let there = std::thread::spawn(move || {
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
            TcpStream::connect_timeout(&address, PATIENCE)
        });
        there.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
