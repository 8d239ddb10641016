//! Somebody who plays a PostgreSQL server: a listener that says what a test tells it to, to one client.
//!
//! It ends when its client goes, which a test can count on: a client waits no longer than its url says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// One message of a server.
pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// A request or answer of the login.
pub(crate) fn authentication(method: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&method.to_be_bytes(), rest].concat())
}

pub(crate) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

pub(crate) fn error(text: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0VERROR\0C42601\0M{text}\0\0").as_bytes())
}

pub(crate) fn notice() -> Vec<u8> {
    message(
        b'N',
        &[b"SNOTICE\0VNOTICE\0C00000\0M", vec![b'x'; 60_000].as_slice(), b"\0\0"].concat(),
    )
}

/// The client of somebody who plays.
pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    /// What the client says first; `None` when it has gone.
    pub(crate) fn startup(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).ok()?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.0.read_exact(&mut body).ok()?;
        Some(body)
    }

    pub(crate) fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut tag = [0];
        self.0.read_exact(&mut tag).ok()?;
        Some((tag[0], self.startup()?))
    }

    /// Whether the client was still there to take it.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Lets the client in without a question.
    pub(crate) fn let_in(&mut self) {
        self.startup();
        self.say(&[authentication(0, b""), ready()].concat());
    }

    /// Reads, and says nothing, until the client goes.
    pub(crate) fn until_gone(mut self) {
        let mut piece = [0; 4096];
        while let Ok(1..) = self.0.read(&mut piece) {}
    }
}

/// Plays for so many clients, one after another; gives the port, and what ends with them.
pub(crate) fn play(clients: usize, part: impl Fn(Client) + Send + 'static) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let played = std::thread::spawn(move || {
        for _ in 0..clients {
            part(Client(listener.accept().unwrap().0));
        }
    });
    (port, played)
}
