//! Hundreds of users on one thread: sessions that never wait, driven by room `workloads`.
//!
//! Takes an address and what the users are; gives an [`Operation`]. Each session is a socket and a transaction's state;
//! a batch goes out in one send and its answer is read in place, mostly from one receive. Once warm nothing is
//! allocated, and a thread sleeps in one call for all of its sessions. Prevents: a client that costs as much as the
//! server it measures.

use crate::order_entry::{Answer, Batch, CLASSES, Ending, Home, Query, Scale, Step, Terminal, Transaction};
use crate::postgres::connection::{Connection, broken, refused};
use crate::postgres::error::{PostgresError, malformed, shown};
use crate::postgres::login::address::Address;
use crate::postgres::login::stream::is_later;
use crate::postgres::sessions::polling::Watch;
use crate::postgres::sessions::session::{BEGIN, COMMIT, Expected, Isolation, ROLLBACK, Session, SessionCounts};
use crate::postgres::wire::messages::{self, Failure, Malformed};
use crate::postgres::wire::requests;
use crate::postgres::wire::response::{self, Went};
use rustix::event::epoll;
use targets::{Nanos, monotonic_ns};
use workloads::{Done, Operation, Started};

/// An answer is read in pieces of this size; most take one.
const SCRATCH_BYTES: usize = 128 << 10;
/// A transaction that is refused this often in a row will never end.
const REFUSED_MAX: u32 = 1_000;

/// The users of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalsSpec {
    /// Size of the company, as it was loaded.
    pub scale: Scale,
    /// Where users work.
    pub home: Home,
    /// Seed of the load.
    pub load_seed: u64,
    /// Seed of this run.
    pub run_seed: u64,
    /// How strictly transactions are kept apart.
    pub isolation: Isolation,
    /// Users think and type as the specification says; otherwise they never pause.
    pub pauses: bool,
    /// Number of the first user of this worker among all, from 0.
    pub first: u32,
    /// Users of this worker.
    pub sessions: u32,
    /// The time of day at the beginning, microseconds since 1970: it stands in the rows that are written.
    pub now_us: i64,
}

/// The sessions of one worker.
pub struct Terminals {
    watch: Watch,
    sessions: Vec<Session>,
    batch: Batch,
    answer: Answer,
    out: Vec<u8>,
    scratch: Vec<u8>,
    pauses: bool,
    counts: SessionCounts,
    /// Time of day less the clock, microseconds.
    day_us: i64,
}

impl Terminals {
    /// Connects all sessions, one after another, and prepares their statements.
    ///
    /// # Errors
    /// No server, no room for the sessions, or no tables.
    pub fn connect(address: &Address, spec: &TerminalsSpec) -> Result<Self, PostgresError> {
        let watch = Watch::new(address)?;
        let mut sessions = Vec::with_capacity(spec.sessions as usize);
        for nth in 0..spec.sessions {
            let session = connect(address, spec, spec.first + nth)?;
            watch.add(&session.stream, nth)?;
            sessions.push(session);
        }
        Ok(Terminals {
            watch,
            sessions,
            batch: Batch::new(),
            answer: Answer::new(),
            out: Vec::with_capacity(16 << 10),
            scratch: vec![0; SCRATCH_BYTES],
            pauses: spec.pauses,
            counts: SessionCounts::default(),
            day_us: spec.now_us - (monotonic_ns() / 1000) as i64,
        })
    }

    /// What they did so far.
    pub fn counts(&self) -> SessionCounts {
        self.counts
    }

    /// The next step of a session, with the answer to its last one.
    fn step(&mut self, nth: usize, roll_back_first: bool, done: &mut Vec<Done>) -> Result<(), PostgresError> {
        self.batch.clear();
        let session = &mut self.sessions[nth];
        match session.transaction.step(&self.answer, &mut self.batch)? {
            Step::Run => {
                self.out.clear();
                let encoded = session.expected.encode(&self.batch, roll_back_first, &mut self.out);
                encoded.map_err(|_| PostgresError::Protocol {
                    during: "a transaction",
                    got: "with a number that has no room in its column".to_owned(),
                })?;
                self.counts.round_trips += 1;
                self.counts.statements += session.expected.calls.len() as u64;
                self.send(nth)
            }
            Step::Ended(ending) => {
                self.counts.rolled_back += u64::from(ending == Ending::RolledBack);
                done.push(Done {
                    session: nth as u32,
                    class: session.transaction.class(),
                    at: monotonic_ns(),
                    units: u64::from(ending == Ending::Committed),
                });
                Ok(())
            }
        }
    }

    /// Sends what is in `out`; keeps what the socket has no room for.
    fn send(&mut self, nth: usize) -> Result<(), PostgresError> {
        let session = &mut self.sessions[nth];
        session.waiting = true;
        let sent = match session.stream.write(&self.out) {
            Ok(sent) => sent,
            Err(e) if is_later(&e) => 0,
            Err(e) => return Err(self.lost(nth, &shown(&e.to_string()))),
        };
        if sent < self.out.len() || session.stream.owes() {
            session.outgoing.extend_from_slice(&self.out[sent..]);
            self.watch(nth)?;
        }
        Ok(())
    }

    /// Watches for room in the socket too, as long as there is something to send.
    fn watch(&mut self, nth: usize) -> Result<(), PostgresError> {
        let session = &self.sessions[nth];
        let mut flags = epoll::EventFlags::IN;
        if !session.outgoing.is_empty() || session.stream.owes() {
            flags |= epoll::EventFlags::OUT;
        }
        let changed = self.watch.change(&session.stream, nth, flags);
        changed.map_err(|e| self.lost(nth, &std::io::Error::from(e).to_string()))
    }

    fn send_rest(&mut self, nth: usize) -> Result<(), PostgresError> {
        let session = &mut self.sessions[nth];
        let sent = match session.outgoing.is_empty() {
            true => session.stream.flush().map(|()| 0),
            false => session.stream.write(&session.outgoing),
        };
        match sent {
            Ok(sent) => {
                session.outgoing.drain(..sent);
            }
            Err(e) if is_later(&e) => return Ok(()),
            Err(e) => return Err(self.lost(nth, &shown(&e.to_string()))),
        }
        match session.outgoing.is_empty() && !session.stream.owes() {
            true => self.watch(nth),
            false => Ok(()),
        }
    }

    /// Takes what came for a session; when its answer is whole, goes on.
    fn receive(&mut self, nth: usize, done: &mut Vec<Done>) -> Result<(), PostgresError> {
        let session = &mut self.sessions[nth];
        let got = match session.stream.read(&mut self.scratch) {
            Ok(0) => return Err(self.lost(nth, "the server closed the connection")),
            Ok(got) => got,
            Err(e) if is_later(&e) => return Ok(()),
            Err(e) => return Err(self.lost(nth, &shown(&e.to_string()))),
        };
        let doubted = |found| malformed("a transaction", found);
        let piece = &self.scratch[..got];
        if !session.waiting {
            session.incoming.extend_from_slice(piece);
            return messages::unasked(&session.incoming, &mut session.walked).map_err(doubted);
        }
        let at_once = session.incoming.is_empty();
        if !at_once {
            session.incoming.extend_from_slice(piece);
        }
        let bytes = if at_once { piece } else { &session.incoming };
        if !response::whole(bytes, &mut session.walked).map_err(doubted)? {
            if at_once {
                session.incoming.extend_from_slice(piece);
            }
            return Ok(());
        }
        // Nobody answers what he has not been asked.
        if !session.outgoing.is_empty() {
            return Err(doubted(Malformed::Kind { tag: b'Z' }));
        }
        session.waiting = false;
        let answered = std::mem::take(&mut session.walked);
        let went = response::read(&bytes[..answered], &session.expected, &mut self.answer)?;
        // What comes after is no part of it: a notice, or the beginning of one.
        match at_once {
            true => session.incoming.extend_from_slice(&piece[answered..]),
            false => {
                session.incoming.drain(..answered);
            }
        }
        messages::unasked(&session.incoming, &mut session.walked).map_err(doubted)?;
        match went {
            Went::Well => self.step(nth, false, done),
            Went::Badly { failure, open } => self.again(nth, failure, open, done),
        }
    }

    /// A try was refused: the same transaction from the beginning, if that is what the refusal asks for.
    fn again(&mut self, nth: usize, failure: Failure, open: bool, done: &mut Vec<Done>) -> Result<(), PostgresError> {
        let session = &mut self.sessions[nth];
        let nth_class = usize::from(session.transaction.class());
        let class = CLASSES[nth_class];
        match failure.code.as_str() {
            "40001" => {
                self.counts.serialisation_failures += 1;
                self.counts.refused[nth_class][0] += 1;
            }
            "40P01" => {
                self.counts.deadlocks += 1;
                self.counts.refused[nth_class][1] += 1;
            }
            _ => return Err(refused(&self.watch.address, class, failure)),
        }
        session.refused += 1;
        if session.refused == REFUSED_MAX {
            return Err(PostgresError::Retries {
                class,
                times: REFUSED_MAX,
            });
        }
        session.transaction.restart();
        self.answer.clear();
        self.step(nth, open, done)
    }

    /// The error for a session whose connection broke, with what the server said before, if it did.
    fn lost(&self, nth: usize, what: &str) -> PostgresError {
        match response::last_words(&self.sessions[nth].incoming) {
            Some(failure) => broken(&self.watch.address, &shown(&failure.message)),
            None => broken(&self.watch.address, what),
        }
    }
}

fn connect(address: &Address, spec: &TerminalsSpec, number: u32) -> Result<Session, PostgresError> {
    let options = [("default_transaction_isolation", spec.isolation.name())];
    let mut connection = Connection::open(address, &options)?;
    let of_transactions = Query::all().iter().map(|s| {
        let lock = if s.locks { " FOR UPDATE" } else { "" };
        (s.query as u8, format!("{}{lock}", s.sql), s.takes)
    });
    let controls = [(BEGIN, "BEGIN"), (COMMIT, "COMMIT"), (ROLLBACK, "ROLLBACK")];
    let controls = controls
        .into_iter()
        .map(|(number, sql)| (number, sql.to_owned(), &[][..]));
    connection.prepare(of_transactions.chain(controls))?;
    let (stream, incoming) = connection.into_stream();
    let mut walked = 0;
    messages::unasked(&incoming, &mut walked).map_err(|found| malformed("prepare", found))?;
    let terminal = Terminal::new(spec.scale, spec.home, spec.load_seed, spec.run_seed, number);
    // A place holder: the first start chooses anew. Drawn from a copy, so that nothing of the deck is lost.
    let transaction = Transaction::choose(&mut terminal.clone(), 0);
    Ok(Session {
        stream,
        terminal,
        transaction,
        refused: 0,
        expected: Expected::default(),
        waiting: false,
        incoming,
        walked,
        outgoing: Vec::new(),
    })
}

impl Operation for Terminals {
    type Error = PostgresError;

    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn classes(&self) -> &[&'static str] {
        &CLASSES
    }

    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, PostgresError> {
        let now_us = self.day_us + (monotonic_ns() / 1000) as i64;
        let state = &mut self.sessions[session as usize];
        state.transaction = Transaction::choose(&mut state.terminal, now_us);
        state.refused = 0;
        self.answer.clear();
        self.step(session as usize, false, done)?;
        Ok(Started::Running)
    }

    fn first_pause_ns(&mut self, session: u32) -> u64 {
        match self.pauses {
            true => self.sessions[session as usize].terminal.first_pause_ns(),
            false => 0,
        }
    }

    fn pause_ns(&mut self, session: u32) -> u64 {
        if !self.pauses {
            return 0;
        }
        let state = &mut self.sessions[session as usize];
        state.terminal.pause_ns(state.transaction.class())
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), PostgresError> {
        let before = done.len();
        loop {
            self.watch.wait(until)?;
            for at in 0..self.watch.events.len() {
                let event = self.watch.events[at];
                let (nth, flags) = (event.data.u64() as usize, event.flags);
                if flags.contains(epoll::EventFlags::OUT) {
                    self.send_rest(nth)?;
                }
                let rest = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
                if flags.intersects(rest) {
                    self.receive(nth, done)?;
                    while self.sessions[nth].stream.has_more() {
                        self.receive(nth, done)?;
                    }
                }
            }
            if done.len() > before || until.is_some_and(|until| monotonic_ns() >= until) {
                return Ok(());
            }
        }
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        self.out.clear();
        requests::message(&mut self.out, Some(b'X'), |_| {});
        for session in &mut self.sessions {
            // A farewell; where the server is gone nobody hears it.
            let _ = session.stream.write(&self.out);
        }
    }
}
