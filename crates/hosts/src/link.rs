//! One other rank, as a stream of bytes each way.
//!
//! What is written and flushed travels as one message, and is read there as bytes. So whoever speaks with a process by
//! pipes speaks with a rank in the same way. Prevents: a reader that spins while it waits, and a message that is too
//! long for the other side.

use crate::has_mpi::HasMpi;
use crate::note::{MESSAGE_MAX, weight};
use crate::post::Command;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Both ways to another rank.
#[derive(Debug)]
pub struct Link {
    /// Its number.
    pub rank: u32,
    /// What it is told. It reads the end of its stream when this is dropped.
    pub to: Outgoing,
    /// What it says.
    pub from: Incoming,
}

/// To another rank: bytes are kept until they are flushed, and travel as one message.
#[derive(Debug)]
pub struct Outgoing {
    pub(crate) rank: u32,
    pub(crate) open: Vec<u8>,
    pub(crate) post: Sender<Command>,
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.open.len() + bytes.len()) as u64 > MESSAGE_MAX {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a message of more than 64 MiB"));
        }
        self.open.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let (to, bytes) = (self.rank, std::mem::take(&mut self.open));
        let gone = |_| io::Error::from(ErrorKind::BrokenPipe);
        self.post.send(Command::Send { to, bytes }).map_err(gone)
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let _ = self.post.send(Command::Close { to: self.rank });
    }
}

/// From another rank. Whoever reads sleeps until there is something.
#[derive(Debug)]
pub struct Incoming {
    pub(crate) messages: Receiver<Vec<u8>>,
    /// Weight of the messages that came and were not read.
    pub(crate) unread: Arc<AtomicU64>,
    /// What is left of a message of which a part was read.
    pub(crate) rest: io::Cursor<Vec<u8>>,
    pub(crate) _has_mpi: HasMpi,
}

impl Incoming {
    /// The next message whole. `None`: the other side says no more.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        self.messages.recv().ok().map(|message| self.taken(message))
    }

    /// The next message, if it comes in this time.
    ///
    /// # Errors
    /// None came; or the other side says no more.
    pub fn message_within(&mut self, patience: Duration) -> Result<Vec<u8>, RecvTimeoutError> {
        let message = self.messages.recv_timeout(patience)?;
        Ok(self.taken(message))
    }

    fn taken(&self, message: Vec<u8>) -> Vec<u8> {
        self.unread.fetch_sub(weight(message.len() as u64), Ordering::Relaxed);
        message
    }
}

impl Read for Incoming {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.rest.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            match self.message() {
                Some(message) => self.rest = io::Cursor::new(message),
                None => return Ok(0),
            }
        }
    }
}
