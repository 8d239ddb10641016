//! Where the files are: an NFS server, a directory, or nowhere.
//!
//! Prevents: a connection that is made in the wrong network namespace (the caller makes them all).

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Opens a TCP connection. It is called for each connection, and again when one ended. A caller whose server is in a
/// network namespace opens the socket there and hands it over: a socket belongs to the namespace in which it was made.
pub type Dial = Box<dyn FnMut(SocketAddr) -> io::Result<TcpStream> + Send>;

/// A server of NFS version 3 over TCP.
pub struct NfsServer {
    /// Its address.
    pub host: IpAddr,
    /// Port of NFS; `None`: the port mapper is asked.
    pub nfs_port: Option<u16>,
    /// Port of MOUNT; `None`: the port mapper is asked.
    pub mount_port: Option<u16>,
    /// The path that is mounted.
    pub export: String,
    /// Connections; sessions are dealt to them in turn.
    pub connections: u32,
    /// After so long without any answer, calls under way, the phase ends with an error.
    pub patience: Duration,
    /// Its client takes stable writes and COMMIT for done and does not ask for them: a planted loss.
    pub flush_lost: bool,
    /// Opens connections.
    pub dial: Dial,
}

impl NfsServer {
    /// Connections of this thread's own network namespace, of root from reserved ports; an answer within a minute.
    pub fn new(host: IpAddr, export: &str, connections: u32) -> NfsServer {
        NfsServer {
            host,
            nfs_port: None,
            mount_port: None,
            export: export.to_owned(),
            connections,
            patience: Duration::from_secs(60),
            flush_lost: false,
            dial: Box::new(super::dial::dial),
        }
    }
}

impl fmt::Debug for NfsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NfsServer")
            .field("host", &self.host)
            .field("nfs_port", &self.nfs_port)
            .field("mount_port", &self.mount_port)
            .field("export", &self.export)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// A directory of this host.
#[derive(Debug)]
pub struct LocalDirectory {
    /// Held by descriptor: whoever renames its path changes nothing.
    pub directory: OwnedFd,
    /// Reads and writes go past the page cache (`O_DIRECT`). Transfers and sizes are then whole 4 KiB.
    pub direct: bool,
    /// Threads, each with one call at a time and with its share of the tree.
    pub threads: u32,
}

/// Where the files are.
#[derive(Debug)]
pub enum Place {
    /// On an NFS server.
    Nfs3(NfsServer),
    /// In a directory of this host.
    Posix(LocalDirectory),
    /// Nowhere: calls are answered at once. What the instrument itself can do.
    Null,
    /// The same with so many threads, each with a session: what the instrument of [`Place::Posix`] can do.
    NullThreads(u32),
}
