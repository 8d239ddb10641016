//! Messages between the run and another host, about the process of an instance there.
//!
//! The first byte says what the rest is. The other host hands the rest on and does not look into it: orders and answers
//! are the same lines as between two processes. Prevents: bytes for one instance that reach the next one.

use hosts::Outgoing;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of one message: a long line is several.
pub(super) const PIECE: usize = 64 << 10;

/// From the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Down {
    /// Start a process. One more byte: 1 where it follows the owner of a disk group.
    Begin,
    /// For its standard input.
    Orders,
    /// What the owner of its disk group moves.
    Notices,
    /// It has opened its pipes: nobody else needs to hold them.
    Opened,
    /// Its orders end; it is ended where it does not end by itself.
    End,
}

/// From the other host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Up {
    /// The process has started. JSON: where it finds its pipes, or null.
    Begun,
    /// From its standard output.
    Answers,
    /// From its standard error.
    Words,
    /// Its answers to notices.
    Followed,
    /// It has ended: how, in words. Nothing else follows.
    Ended,
}

/// A kind of message, as its first byte.
pub(super) trait Kind: Copy + 'static {
    const ALL: &'static [(u8, Self)];
}

impl Kind for Down {
    const ALL: &'static [(u8, Down)] = &[
        (b'b', Down::Begin),
        (b'o', Down::Orders),
        (b'n', Down::Notices),
        (b'h', Down::Opened),
        (b'e', Down::End),
    ];
}

impl Kind for Up {
    const ALL: &'static [(u8, Up)] = &[
        (b'b', Up::Begun),
        (b'a', Up::Answers),
        (b'w', Up::Words),
        (b'f', Up::Followed),
        (b'e', Up::Ended),
    ];
}

/// What a message is, and its bytes. `None`: it is none of these.
pub(super) fn read<K: Kind>(message: &[u8]) -> Option<(K, &[u8])> {
    let (first, bytes) = message.split_first()?;
    let (_, kind) = K::ALL.iter().find(|(byte, _)| byte == first)?;
    Some((*kind, bytes))
}

/// Where messages to another host go in. Several threads have it.
#[derive(Clone, Debug)]
pub(super) struct Outbox(Arc<Mutex<Outgoing>>);

impl Outbox {
    pub(super) fn new(to: Outgoing) -> Outbox {
        Outbox(Arc::new(Mutex::new(to)))
    }

    pub(super) fn send<K: Kind + PartialEq>(&self, kind: K, bytes: &[u8]) -> io::Result<()> {
        self.send_unless(kind, bytes, None)
    }

    /// Nothing is sent any more where the flag is set. It is set by whoever holds the box.
    fn send_unless<K: Kind + PartialEq>(&self, kind: K, bytes: &[u8], over: Option<&AtomicBool>) -> io::Result<()> {
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if over.is_some_and(|over| over.load(Ordering::Relaxed)) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let byte = K::ALL.iter().find(|(_, one)| *one == kind).map(|(byte, _)| *byte);
        to.write_all(&[byte.unwrap_or_default()])?;
        to.write_all(bytes)?;
        to.flush()
    }

    /// Hands on all that comes, in pieces, until it ends; stops where the other side takes nothing.
    pub(super) fn hand_on<K: Kind + PartialEq>(&self, kind: K, mut from: impl Read) {
        let mut piece = vec![0; PIECE];
        while let Some(read) = next(&mut from, &mut piece) {
            if self.send(kind, &piece[..read]).is_err() {
                return;
            }
        }
    }
}

/// Bytes that were read; `None`: no more come.
fn next(from: &mut impl Read, piece: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(piece) {
            Ok(0) => return None,
            Ok(read) => return Some(read),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// The way to one instance on another host, until its orders end.
#[derive(Clone, Debug)]
pub(super) struct Way {
    to: Outbox,
    over: Arc<AtomicBool>,
}

impl Way {
    pub(super) fn new(to: Outbox) -> Way {
        Way {
            to,
            over: Arc::default(),
        }
    }

    pub(super) fn send(&self, kind: Down, bytes: &[u8]) -> io::Result<()> {
        self.to.send_unless(kind, bytes, Some(&self.over))
    }

    /// For the next instance there.
    pub(super) fn outbox(&self) -> Outbox {
        self.to.clone()
    }

    /// Ends its orders. Nothing that comes later reaches the next instance there.
    pub(super) fn end(&self) {
        let _ = self.send(Down::End, &[]);
        // Others wait for the box and look then.
        let _held = self.to.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.store(true, Ordering::Relaxed);
    }

    /// Hands notices on until they or the orders end.
    pub(super) fn hand_on_notices(&self, mut from: impl Read) {
        let mut piece = vec![0; PIECE];
        while let Some(read) = next(&mut from, &mut piece) {
            if self.send(Down::Notices, &piece[..read]).is_err() {
                return;
            }
        }
    }
}

/// Orders to an instance on another host, as they go to the standard input of a process here. Dropped, they end.
pub(super) struct Orders {
    way: Way,
    open: Vec<u8>,
}

impl Orders {
    pub(super) fn new(way: Way) -> Orders {
        Orders { way, open: Vec::new() }
    }
}

impl Write for Orders {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let open = std::mem::take(&mut self.open);
        open.chunks(PIECE)
            .try_for_each(|piece| self.way.send(Down::Orders, piece))
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        self.way.end();
    }
}

/// Pieces that come one by one, read as one stream.
pub(super) struct Pieces {
    from: Receiver<Vec<u8>>,
    rest: io::Cursor<Vec<u8>>,
}

impl Pieces {
    pub(super) fn new(from: Receiver<Vec<u8>>) -> Pieces {
        Pieces {
            from,
            rest: io::Cursor::default(),
        }
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.rest.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            match self.from.recv() {
                Ok(piece) => self.rest = io::Cursor::new(piece),
                Err(_) => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_message_is_known_by_its_first_byte() {
        assert_eq!(read::<Down>(b"oline"), Some((Down::Orders, &b"line"[..])));
        assert_eq!(read::<Up>(b"e"), Some((Up::Ended, &b""[..])));
        assert_eq!(
            (read::<Down>(b""), read::<Down>(b"xyz"), read::<Up>(b"o")),
            (None, None, None)
        );
        for (byte, kind) in Down::ALL {
            assert_eq!(read::<Down>(&[*byte]), Some((*kind, &b""[..])));
        }
        for (byte, kind) in Up::ALL {
            assert_eq!(read::<Up>(&[*byte]), Some((*kind, &b""[..])));
        }
    }

    #[test]
    fn pieces_are_one_stream() {
        let (to, from) = channel();
        for piece in [&b"on"[..], b"", b"e\ntwo\n"] {
            to.send(piece.to_vec()).unwrap();
        }
        drop(to);
        let mut whole = String::new();
        Pieces::new(from).read_to_string(&mut whole).unwrap();
        assert_eq!(whole, "one\ntwo\n");
    }
}
