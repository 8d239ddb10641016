//! A connection that waits: for making databases, loading, counting and checking, and the first half of every session.
//!
//! Takes statements, gives what the server answers; [`crate::postgres::login::open`] is the way to one. Prevents: an
//! answer without end that takes all memory, and a server's death that is told as a broken connection.

use super::error::{PostgresError, cure_of, malformed, shown};
use crate::postgres::login::address::Address;
use crate::postgres::login::stream::Stream;
use crate::postgres::wire::messages::{self, ANSWER_BYTES_MAX, Failure, Malformed, Message};
use crate::postgres::wire::requests;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Instant;

const READ_BYTES: usize = 64 << 10;
/// Lines of the server's log that are quoted.
const LOG_LINES: usize = 6;
/// Bytes of its end that are read. A server may write its log without end, and root reads it.
const LOG_BYTES_MAX: u64 = 256 << 10;
/// Rows that [`Connection::each_row`] asks for at once.
const ROWS_AT_ONCE: usize = 10_000;

/// What a line of the log says that is the cause of the lines after it.
const CAUSES: [&str; 4] = [
    "PANIC",
    "No space left",
    "was terminated by signal",
    "exited with exit code",
];

/// What it says when it was told to stop.
const ORDERS: [&str; 3] = ["received smart", "received fast", "received immediate"];

/// A connection that waits for its answers.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    address: Address,
    /// Bytes that came and were not taken, from `at`.
    incoming: Vec<u8>,
    at: usize,
    out: Vec<u8>,
    /// Bytes that came since something was sent.
    answered: usize,
    /// The end of the login, while it is under way.
    deadline: Option<Instant>,
}

/// A message that came.
#[derive(Debug)]
pub(super) struct Came {
    tag: u8,
    body: Vec<u8>,
}

impl Came {
    pub(super) fn message(&self) -> Message<'_> {
        Message {
            tag: self.tag,
            body: &self.body,
        }
    }
}

/// Rows as text; a cell may be empty.
pub type TextRows = Vec<Vec<Option<String>>>;

impl Connection {
    /// One that has to log in, up to a time.
    pub(super) fn begin(stream: Stream, address: &Address, deadline: Instant) -> Self {
        Connection {
            stream,
            address: address.clone(),
            incoming: Vec::new(),
            at: 0,
            out: Vec::new(),
            answered: 0,
            deadline: Some(deadline),
        }
    }

    /// It is in: from here on it waits as long as the server works.
    pub(super) fn logged_in(&mut self) -> std::io::Result<()> {
        self.deadline = None;
        self.stream.wait_until(None)
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Version and cipher suite of TLS, where the connection is encrypted.
    pub fn encryption(&self) -> Option<String> {
        match &self.stream {
            Stream::Tls(stream) => Some(stream.describe()),
            Stream::Unix(_) | Stream::Tcp(_) => None,
        }
    }

    /// Runs statements separated by semicolons; gives the rows of all of them, as text.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub fn run(&mut self, sql: &str) -> Result<TextRows, PostgresError> {
        requests::query(&mut self.out, sql);
        self.send()?;
        let mut rows = Vec::new();
        let mut failure = None;
        let mut columns = None;
        let doubted = |found| malformed("a statement", found);
        loop {
            let came = self.receive()?;
            let message = came.message();
            match message.tag {
                b'T' => columns = Some(message.columns().map_err(doubted)?),
                b'D' => {
                    let mut cells = message.cells().map_err(doubted)?;
                    if columns != Some(cells.left()) {
                        return Err(doubted(Malformed::Fields { tag: b'D' }));
                    }
                    message.check().map_err(doubted)?;
                    let mut row = Vec::with_capacity(cells.left().into());
                    while cells.left() > 0 {
                        let cell = cells.take().map_err(doubted)?;
                        row.push(cell.map(|c| String::from_utf8_lossy(c).into_owned()));
                    }
                    rows.push(row);
                }
                b'E' => {
                    let said = message.failure().map_err(doubted)?;
                    failure.get_or_insert(said);
                }
                b'Z' => {
                    message.check().map_err(doubted)?;
                    break;
                }
                b'C' | b'I' | b'N' | b'S' | b'A' => message.check().map_err(doubted)?,
                tag => return Err(doubted(Malformed::Kind { tag })),
            }
        }
        match failure {
            Some(failure) => Err(self.refused(&shortened(sql), failure)),
            None => Ok(rows),
        }
    }

    /// Gives each row of one query, as text, to `take`. Takes more rows than one answer may hold: it asks for 10,000 at
    /// once, so the mean row may have 1,600 bytes. No transaction may be open.
    ///
    /// # Errors
    /// As [`Connection::run`], or the error of `take`. A transaction is then open: drop the connection.
    pub fn each_row<E: From<PostgresError>>(
        &mut self,
        query: &str,
        mut take: impl FnMut(&[Option<String>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.run(&format!("BEGIN; DECLARE assay_rows NO SCROLL CURSOR FOR {query}"))?;
        loop {
            let rows = self.run(&format!("FETCH {ROWS_AT_ONCE} FROM assay_rows"))?;
            for row in &rows {
                take(row)?;
            }
            if rows.len() < ROWS_AT_ONCE {
                self.run("COMMIT")?;
                return Ok(());
            }
        }
    }

    /// Runs a query that gives one number.
    ///
    /// # Errors
    /// As [`Connection::run`], or another answer.
    pub fn number(&mut self, sql: &str) -> Result<i64, PostgresError> {
        Ok(self.numbers(sql, 1)?[0])
    }

    /// Runs a query that gives one row of so many numbers.
    ///
    /// # Errors
    /// As [`Connection::run`], or another answer.
    pub(crate) fn numbers(&mut self, sql: &str, many: usize) -> Result<Vec<i64>, PostgresError> {
        let rows = self.run(sql)?;
        let row = rows.first().filter(|row| row.len() == many);
        let numbers = row.and_then(|row| row.iter().map(|cell| cell.as_deref()?.parse().ok()).collect());
        numbers.ok_or_else(|| PostgresError::Protocol {
            during: "a query of numbers",
            got: "something else".to_owned(),
        })
    }

    /// Version of the server, as in 150018 for 15.18.
    ///
    /// # Errors
    /// As [`Connection::number`].
    pub fn version(&mut self) -> Result<u32, PostgresError> {
        let version = self.number("SHOW server_version_num")?;
        u32::try_from(version).map_err(|_| PostgresError::Protocol {
            during: "a query of its version",
            got: format!("with {version}"),
        })
    }

    /// The same as the server calls itself: "15.18 (Debian 15.18-0+deb12u1)".
    ///
    /// # Errors
    /// As [`Connection::run`].
    pub fn version_name(&mut self) -> Result<String, PostgresError> {
        let rows = self.run("SHOW server_version")?;
        let name = rows.first().and_then(|row| row.first()).cloned().flatten();
        Ok(shown(&name.unwrap_or_default()))
    }

    /// Prepares statements: number, text and types of each; waits for all of them.
    pub(super) fn prepare<'a>(
        &mut self,
        statements: impl Iterator<Item = (u8, String, &'a [crate::order_entry::Kind])>,
    ) -> Result<(), PostgresError> {
        for (number, sql, takes) in statements {
            requests::parse(&mut self.out, number, &sql, takes);
        }
        requests::sync(&mut self.out);
        self.send()?;
        match self.end_of_answer("prepare", b"1")? {
            Some(failure) => Err(self.refused("prepare the statements", failure)),
            None => Ok(()),
        }
    }

    /// Reads up to the server's being ready; gives the first failure. `kinds`: messages that may come, beside those
    /// that always may.
    pub(super) fn end_of_answer(
        &mut self,
        during: &'static str,
        kinds: &[u8],
    ) -> Result<Option<Failure>, PostgresError> {
        let doubted = |found| malformed(during, found);
        let mut failure = None;
        loop {
            let came = self.receive()?;
            let message = came.message();
            match message.tag {
                // Of several the first is the cause.
                b'E' => {
                    let said = message.failure().map_err(doubted)?;
                    failure.get_or_insert(said);
                }
                b'Z' => return message.check().map(|()| failure).map_err(doubted),
                tag if b"NSA".contains(&tag) || kinds.contains(&tag) => message.check().map_err(doubted)?,
                tag => return Err(doubted(Malformed::Kind { tag })),
            }
        }
    }

    /// Where messages are put before [`Connection::send`].
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub(super) fn send(&mut self) -> Result<(), PostgresError> {
        self.answered = 0;
        if self.deadline.is_none() {
            // What came before the request would count as its answer.
            let found = messages::unasked(&self.incoming[self.at..], &mut 0);
            found.map_err(|found| malformed("a request", found))?;
        }
        let sent = self
            .stream
            .wait_for(self.deadline)
            .and_then(|()| self.stream.write_all(&self.out));
        self.out.clear();
        let Err(e) = sent else { return Ok(()) };
        // What the server said before it hung up tells more.
        let came = self.receive()?;
        match came.message().failure() {
            Ok(failure) if came.tag == b'E' => Err(self.refused("send", failure)),
            _ => Err(self.broken_by(&e)),
        }
    }

    /// The next message.
    pub(super) fn receive(&mut self) -> Result<Came, PostgresError> {
        loop {
            if let Some(came) = self.next_whole()? {
                return Ok(came);
            }
            self.fill()?;
        }
    }

    /// The next message if it has come; waits for none.
    pub(super) fn said(&mut self) -> Result<Option<Came>, PostgresError> {
        loop {
            let came = self.next_whole()?;
            if came.is_some() || !self.stream.speaks() {
                return Ok(came);
            }
            self.fill()?;
        }
    }

    /// Takes the next message from the bytes that are here.
    fn next_whole(&mut self) -> Result<Option<Came>, PostgresError> {
        let first = messages::first(&self.incoming[self.at..]);
        let Some((message, bytes)) = first.map_err(|found| self.doubted(found))? else {
            return Ok(None);
        };
        self.answered += bytes;
        if self.answered > ANSWER_BYTES_MAX {
            return Err(self.doubted(Malformed::Endless));
        }
        let came = Came {
            tag: message.tag,
            body: message.body.to_vec(),
        };
        self.at += bytes;
        Ok(Some(came))
    }

    /// Reads once, and waits where nothing is there; may read nothing.
    fn fill(&mut self) -> Result<(), PostgresError> {
        self.incoming.drain(..self.at);
        self.at = 0;
        let had = self.incoming.len();
        self.incoming.resize(had + READ_BYTES, 0);
        let got = self
            .stream
            .wait_for(self.deadline)
            .and_then(|()| self.stream.read(&mut self.incoming[had..]));
        self.incoming.truncate(had + *got.as_ref().unwrap_or(&0));
        match got {
            Ok(0) => Err(self.broken("the server closed the connection")),
            Ok(_) => Ok(()),
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(self.broken_by(&e)),
        }
    }

    /// Its stream and what it has said beside answers, for a session that does not wait. Nothing may be under way.
    pub(super) fn into_stream(mut self) -> (Stream, Vec<u8>) {
        self.incoming.drain(..self.at);
        (self.stream, self.incoming)
    }

    fn doubted(&self, found: Malformed) -> PostgresError {
        match self.deadline {
            Some(_) => self.broken(&format!("the server answered {found}")),
            None => malformed("an answer", found),
        }
    }

    fn broken_by(&self, error: &Error) -> PostgresError {
        match self.deadline {
            Some(_) => broken_at_login(&self.address, error),
            None => broken(&self.address, &shown(&error.to_string())),
        }
    }

    pub(super) fn broken(&self, what: &str) -> PostgresError {
        match self.deadline {
            Some(_) => broken_at_login(&self.address, &Error::other(what)),
            None => broken(&self.address, what),
        }
    }

    pub(super) fn refused(&self, during: &str, failure: Failure) -> PostgresError {
        refused(&self.address, during, failure)
    }
}

/// The error for a connection that broke before we were in.
pub(super) fn broken_at_login(address: &Address, error: &Error) -> PostgresError {
    let what = match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            format!("no answer within {} s", address.connect_patience().as_secs())
        }
        _ => shown(&error.to_string()),
    };
    if address.log.is_some() {
        return broken(address, &what);
    }
    let usual = "is it PostgreSQL that listens there? if it is, see its log";
    PostgresError::Gone {
        address: address.to_string(),
        what: format!("while logging in: {what}"),
        cure: crate::postgres::login::tls::cure_of(error).unwrap_or(usual).to_owned(),
    }
}

/// The error for what a server said no to; one that says that it goes down is told with its log.
pub(super) fn refused(address: &Address, during: &str, failure: Failure) -> PostgresError {
    if matches!(failure.code.as_str(), "57P01" | "57P02") {
        return broken(address, &shown(&failure.message));
    }
    PostgresError::Refused {
        during: during.to_owned(),
        cure: cure_of(&failure.code),
        severity: shown(&failure.severity),
        code: failure.code,
        message: shown(&failure.message),
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

/// Waits until the cause stands in the log: a process of the server that dies breaks its connection at once, and the
/// server writes why when it gets to it. A server that is stopped in an orderly way writes none.
fn await_cause(log: &Path) {
    const STEP: std::time::Duration = std::time::Duration::from_millis(50);
    const STEPS: u32 = 60;
    for _ in 0..STEPS {
        std::thread::sleep(STEP);
        let text = tail(log);
        if CAUSES.iter().chain(&ORDERS).any(|words| text.contains(words)) {
            return;
        }
    }
}

/// The end of a log, at most [`LOG_BYTES_MAX`] of it; nothing where it can't be read.
fn tail(log: &Path) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(end.saturating_sub(LOG_BYTES_MAX)))?;
        let mut bytes = Vec::new();
        // The server writes on meanwhile.
        file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok::<_, Error>(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The last lines of a log, indented; says so where there are none.
pub(super) fn log_end(log: &Path) -> String {
    let text = tail(log);
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let end = lines.len().saturating_sub(LOG_LINES);
    // What began it may have been followed by many a word of others, of the server's own recovery among them.
    // One cause may follow from another: a server that panics for want of space is then terminated by a signal.
    let last_with = |cause: &&str| lines[..end].iter().rposition(|line| line.contains(*cause));
    let began: BTreeSet<usize> = CAUSES.iter().filter_map(last_with).collect();
    let last: Vec<&str> = began
        .into_iter()
        .map(|at| lines[at])
        .chain(lines[end..].iter().copied())
        .collect();
    match last.is_empty() {
        true => format!("    (nothing in {})", log.display()),
        false => last
            .iter()
            .map(|l| format!("    {}", shown(l)))
            .collect::<Vec<_>>()
            .join("\n"),
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
        log.push("PANIC:  could not write to file: No space left on device".into());
        log.push("LOG:  server process (PID 7) was terminated by signal 6: Aborted".into());
        log.extend((0..2 * LOG_LINES).map(|nth| format!("LOG:  recovery, step {nth}")));
        std::fs::write(file.path(), log.join("\n")).unwrap();
        let told = log_end(file.path());
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), LOG_LINES + 2, "{told}");
        assert!(lines[0].contains("PANIC") && lines[1].contains("signal 6"), "{told}");
        assert!(lines[LOG_LINES + 1].ends_with("step 11"), "{told}");
        // However much there is before, only the end is read.
        let long = log[1].clone() + "\n" + &"LOG:  noise\n".repeat(LOG_BYTES_MAX as usize / 4);
        std::fs::write(file.path(), long + &log.join("\n")).unwrap();
        assert_eq!(tail(file.path()).len() as u64, LOG_BYTES_MAX);
        assert_eq!(log_end(file.path()), told);
        // The cause among the last lines is told once.
        std::fs::write(file.path(), log[..3].join("\n")).unwrap();
        assert_eq!(log_end(file.path()).matches("signal 6").count(), 1);
    }
}
