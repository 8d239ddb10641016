//! A connection that waits: for making databases, loading, counting and checking, and the first half of every session.
//!
//! Takes an [`Address`], gives a [`Connection`] that has logged in (trust, password or SCRAM-SHA-256). Prevents: a session that
//! begins before its server is ready for it.

use super::address::{Address, Host};
use super::error::{PostgresError, cure_of};
use super::wire::{self, Failure};
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;
/// Longest wait for each answer while logging in: what listens there may be no server at all.
const LOGIN_PATIENCE: Duration = Duration::from_secs(30);
/// Lines of the server's log that are quoted.
const LOG_LINES: usize = 6;

/// What a line of the log says that is the cause of the lines after it.
const CAUSES: [&str; 4] = [
    "PANIC",
    "No space left",
    "was terminated by signal",
    "exited with exit code",
];

/// What it says when it was told to stop.
const ORDERS: [&str; 3] = ["received smart", "received fast", "received immediate"];

/// A stream of either kind.
#[derive(Debug)]
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Stream::Unix(s) => s.write_all(bytes),
            Stream::Tcp(s) => s.write_all(bytes),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Unix(s) => s.read(into),
            Stream::Tcp(s) => s.read(into),
        }
    }

    fn wait_at_most(&self, time: Option<Duration>) -> std::io::Result<()> {
        match self {
            Stream::Unix(s) => s.set_read_timeout(time),
            Stream::Tcp(s) => s.set_read_timeout(time),
        }
    }

    pub(super) fn set_nonblocking(&self) -> std::io::Result<()> {
        match self {
            Stream::Unix(s) => s.set_nonblocking(true),
            Stream::Tcp(s) => s.set_nonblocking(true),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(s) => s.as_fd(),
            Stream::Tcp(s) => s.as_fd(),
        }
    }
}

/// A connection that waits for its answers.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    address: Address,
    /// Bytes that came and were not taken, from `at`.
    incoming: Vec<u8>,
    at: usize,
    out: Vec<u8>,
    logged_in: bool,
}

/// Rows as text; a cell may be empty.
pub type TextRows = Vec<Vec<Option<String>>>;

impl Connection {
    /// Connects and logs in. `options`: settings of this session.
    ///
    /// # Errors
    /// No server there, one that is not ready, or that does not let us in.
    pub fn open(address: &Address, options: &[(&str, &str)]) -> Result<Self, PostgresError> {
        let failed = |e: std::io::Error| PostgresError::Gone {
            address: address.to_string(),
            what: format!("can't connect: {e}"),
            cure: "is the server up, and is this its address?".to_owned(),
        };
        let stream = match &address.host {
            Host::Unix(_) => {
                let socket = address.socket().unwrap_or_default();
                if socket.as_os_str().len() > super::server::SOCKET_BYTES_MAX {
                    return Err(PostgresError::SocketPath { path: socket });
                }
                Stream::Unix(UnixStream::connect(socket).map_err(failed)?)
            }
            Host::Tcp(host) => {
                let stream = TcpStream::connect((host.as_str(), address.port)).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                Stream::Tcp(stream)
            }
        };
        let mut connection = Connection {
            stream,
            address: address.clone(),
            incoming: Vec::new(),
            at: 0,
            out: Vec::new(),
            logged_in: false,
        };
        connection.stream.wait_at_most(Some(LOGIN_PATIENCE)).map_err(failed)?;
        connection.log_in(options)?;
        connection.stream.wait_at_most(None).map_err(failed)?;
        connection.logged_in = true;
        Ok(connection)
    }

    fn log_in(&mut self, options: &[(&str, &str)]) -> Result<(), PostgresError> {
        let (user, database) = (self.address.user.clone(), self.address.database.clone());
        let mut parameters = vec![
            ("user", user.as_str()),
            ("database", database.as_str()),
            ("client_encoding", "UTF8"),
            ("application_name", "assay"),
        ];
        parameters.extend_from_slice(options);
        wire::startup(&mut self.out, &parameters);
        self.send()?;
        let mut scram = None;
        loop {
            let (tag, body) = self.receive()?;
            match tag {
                b'R' => self.authenticate(&body, &mut scram)?,
                b'Z' => return Ok(()),
                b'S' | b'K' | b'N' | b'v' => {}
                b'E' => {
                    let during = format!("log in at {}", self.address);
                    return Err(self.refused(&during, wire::failure(&body)));
                }
                tag => return Err(unexpected("log in", tag)),
            }
        }
    }

    fn authenticate(&mut self, body: &[u8], scram: &mut Option<ScramSha256>) -> Result<(), PostgresError> {
        let (method, rest) = body.split_first_chunk::<4>().unwrap_or((&[255; 4], &[]));
        let method = u32::from_be_bytes(*method);
        if method == 0 {
            return Ok(());
        }
        if !matches!(method, 3 | 10 | 11 | 12) {
            let what = format!("the server wants a way to log in that this client does not speak (number {method})");
            return Err(self.gone(what, "use scram-sha-256, password or trust in the server's pg_hba.conf"));
        }
        let Some(password) = self.address.password().map(str::to_owned) else {
            return Err(self.gone("the server wants a password".to_owned(), "set PGPASSWORD"));
        };
        let bad = |e: std::io::Error| PostgresError::Gone {
            address: self.address.to_string(),
            what: format!("SCRAM: {e}"),
            cure: "is the password right?".to_owned(),
        };
        match method {
            3 => wire::message(&mut self.out, Some(b'p'), |out| wire::text(out, &password)),
            10 => {
                let state = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
                let first = state.message().to_vec();
                wire::message(&mut self.out, Some(b'p'), |out| {
                    wire::text(out, SCRAM_SHA_256);
                    out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                    out.extend_from_slice(&first);
                });
                *scram = Some(state);
            }
            11 => {
                let state = scram.as_mut().ok_or_else(|| unexpected("log in", b'R'))?;
                state.update(rest).map_err(bad)?;
                let next = state.message().to_vec();
                wire::message(&mut self.out, Some(b'p'), |out| out.extend_from_slice(&next));
            }
            _ => {
                let state = scram.as_mut().ok_or_else(|| unexpected("log in", b'R'))?;
                return state.finish(rest).map_err(bad);
            }
        }
        self.send()
    }

    /// Runs statements separated by semicolons; gives the rows of all of them, as text.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub fn run(&mut self, sql: &str) -> Result<TextRows, PostgresError> {
        wire::query(&mut self.out, sql);
        self.send()?;
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            let (tag, body) = self.receive()?;
            match tag {
                b'D' => {
                    let text = |cell: Option<&[u8]>| cell.map(|c| String::from_utf8_lossy(c).into_owned());
                    rows.push(wire::cells(&body).map(text).collect());
                }
                b'E' => failure = failure.or(Some(wire::failure(&body))),
                b'Z' => break,
                b'T' | b'C' | b'I' | b'N' | b'S' | b'A' => {}
                tag => return Err(unexpected("a statement", tag)),
            }
        }
        match failure {
            Some(failure) => Err(self.refused(&shortened(sql), failure)),
            None => Ok(rows),
        }
    }

    /// Runs a query that gives one number.
    ///
    /// # Errors
    /// As [`Connection::run`], or another answer.
    pub fn number(&mut self, sql: &str) -> Result<i64, PostgresError> {
        let rows = self.run(sql)?;
        let cell = rows.first().and_then(|row| row.first()).cloned().flatten();
        cell.and_then(|text| text.parse().ok())
            .ok_or_else(|| PostgresError::Protocol {
                during: "a query of one number",
                got: "something else".to_owned(),
            })
    }

    /// Version of the server, as in 150018 for 15.18.
    ///
    /// # Errors
    /// As [`Connection::number`].
    pub fn version(&mut self) -> Result<u32, PostgresError> {
        Ok(self.number("SHOW server_version_num")? as u32)
    }

    /// Prepares statements: number, text and types of each; waits for all of them.
    pub(super) fn prepare<'a>(
        &mut self,
        statements: impl Iterator<Item = (u8, String, &'a [crate::order_entry::Kind])>,
    ) -> Result<(), PostgresError> {
        for (number, sql, takes) in statements {
            wire::parse(&mut self.out, number, &sql, takes);
        }
        wire::sync(&mut self.out);
        self.send()?;
        let mut failure = None;
        loop {
            match self.receive()? {
                (b'1' | b'N' | b'S' | b'A', _) => {}
                (b'E', body) => failure = Some(wire::failure(&body)),
                (b'Z', _) => break,
                (tag, _) => return Err(unexpected("prepare", tag)),
            }
        }
        match failure {
            Some(failure) => Err(self.refused("prepare the statements", failure)),
            None => Ok(()),
        }
    }

    /// Where messages are put before [`Connection::send`].
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub(super) fn send(&mut self) -> Result<(), PostgresError> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        match sent {
            Ok(()) => Ok(()),
            // What the server said before it hung up tells more.
            Err(e) => match self.receive() {
                Ok((b'E', body)) => Err(self.refused("send", wire::failure(&body))),
                Ok(_) => Err(self.broken(&e.to_string())),
                Err(said) => Err(said),
            },
        }
    }

    /// The next message.
    pub(super) fn receive(&mut self) -> Result<(u8, Vec<u8>), PostgresError> {
        loop {
            if let Some((message, bytes)) = wire::first(&self.incoming[self.at..]) {
                let taken = (message.tag, message.body.to_vec());
                self.at += bytes;
                return Ok(taken);
            }
            self.incoming.drain(..self.at);
            self.at = 0;
            let had = self.incoming.len();
            self.incoming.resize(had + READ_BYTES, 0);
            let got = self.stream.read(&mut self.incoming[had..]);
            self.incoming.truncate(had + *got.as_ref().unwrap_or(&0));
            match got {
                Ok(0) => return Err(self.broken("the server closed the connection")),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if !self.logged_in && matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(self.broken(&format!("no answer within {} s", LOGIN_PATIENCE.as_secs())));
                }
                Err(e) => return Err(self.broken(&e.to_string())),
            }
        }
    }

    /// Its stream, for a session that does not wait. Nothing may be under way.
    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    pub(super) fn broken(&self, what: &str) -> PostgresError {
        if !self.logged_in && self.address.log.is_none() {
            let cure = "is it PostgreSQL that listens there? if it is, see its log";
            return self.gone(format!("while logging in: {what}"), cure);
        }
        broken(&self.address, what)
    }

    fn gone(&self, what: String, cure: &str) -> PostgresError {
        PostgresError::Gone {
            address: self.address.to_string(),
            what,
            cure: cure.to_owned(),
        }
    }

    pub(super) fn refused(&self, during: &str, failure: Failure) -> PostgresError {
        refused(&self.address, during, failure)
    }
}

/// The error for what a server said no to; one that says that it goes down is told with its log.
pub(super) fn refused(address: &Address, during: &str, failure: Failure) -> PostgresError {
    if matches!(failure.code.as_str(), "57P01" | "57P02") {
        return broken(address, &failure.message);
    }
    PostgresError::Refused {
        during: during.to_owned(),
        cure: cure_of(&failure.code),
        severity: failure.severity,
        code: failure.code,
        message: failure.message,
    }
}

/// The error for a connection that broke: with the end of the server's log where it is ours.
pub(super) fn broken(address: &Address, what: &str) -> PostgresError {
    match &address.log {
        Some(log) => {
            await_cause(log);
            PostgresError::Died {
                what: format!("broke off ({what})"),
                log: log_end(log),
                cure: "the phase is void; if nobody stopped the server, look at the kernel log (dmesg) too".to_owned(),
            }
        }
        None => PostgresError::Gone {
            address: address.to_string(),
            what: what.to_owned(),
            cure: "see the server's log".to_owned(),
        },
    }
}

/// Waits until the cause stands in the log: a process of the server that dies breaks its connection at once, and the server writes why
/// when it gets to it. A server that is stopped in an orderly way writes none.
fn await_cause(log: &std::path::Path) {
    const STEP: std::time::Duration = std::time::Duration::from_millis(50);
    const STEPS: u32 = 60;
    for _ in 0..STEPS {
        std::thread::sleep(STEP);
        let text = std::fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if CAUSES.iter().chain(&ORDERS).any(|words| text.contains(words)) {
            return;
        }
    }
}

/// The last lines of a log, indented; says so where there are none.
pub(super) fn log_end(log: &std::path::Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let end = lines.len().saturating_sub(LOG_LINES);
    // What began it may have been followed by many a word of others, of the server's own recovery among them.
    let began = lines[..end]
        .iter()
        .rposition(|line| CAUSES.iter().any(|cause| line.contains(cause)));
    let last: Vec<&str> = began
        .map(|at| lines[at])
        .into_iter()
        .chain(lines[end..].iter().copied())
        .collect();
    match last.is_empty() {
        true => format!("    (nothing in {})", log.display()),
        false => last.iter().map(|l| format!("    {l}")).collect::<Vec<_>>().join("\n"),
    }
}

pub(super) fn unexpected(during: &'static str, tag: u8) -> PostgresError {
    PostgresError::Protocol {
        during,
        got: format!("with a message {:?}", char::from(tag)),
    }
}

fn shortened(sql: &str) -> String {
    match sql.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &sql[..at]),
        None => sql.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_end_is_told_however_much_the_server_says_after_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = vec!["LOG:  database system is ready to accept connections".to_owned()];
        log.push("LOG:  server process (PID 7) was terminated by signal 9: Killed".into());
        log.extend((0..2 * LOG_LINES).map(|nth| format!("LOG:  recovery, step {nth}")));
        std::fs::write(file.path(), log.join("\n")).unwrap();
        let told = log_end(file.path());
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), LOG_LINES + 1, "{told}");
        assert!(lines[0].contains("signal 9"), "{told}");
        assert!(lines[LOG_LINES].ends_with("step 11"), "{told}");
        // The cause among the last lines is told once.
        std::fs::write(file.path(), log[..3].join("\n")).unwrap();
        assert_eq!(log_end(file.path()).matches("signal 9").count(), 1);
    }
}
