//! The thread of a rank that speaks with the others.
//!
//! It alone uses the wire. Between two looks at it, it sleeps: a rank that waits costs nothing. Takes commands, gives
//! messages, stamps clocks, sends signs of life. Prevents: a main thread that hangs in MPI, and notes that anybody
//! believes without a check.

use crate::board::Board;
use crate::error::{Cause, HostsError};
use crate::note::{Assembly, MESSAGE_MAX, NOTE_MAX, Note, NoteError, PIECE_MAX, piece, weight};
use crate::offset::{Exchange, Reading};
use crate::wire::Wire;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use targets::monotonic_ns;

/// Between two signs of life.
const BEAT: Duration = Duration::from_millis(500);
/// Between two looks at the wire. A phase is told 50 ms ahead.
const NAP: Duration = Duration::from_millis(4);
/// Who was asked for the time is asked again soon, and does not sleep meanwhile: several naps of the one who asks. It
/// sleeps again before a phase begins.
const AWAKE_NS: u64 = 20_000_000;
/// Questions to each clock: the shortest of so many round trips counts.
const QUESTIONS: u64 = 200;
/// On a host that is busy, fewer questions must do when they have taken so long.
const QUESTIONS_MIN: usize = 10;
const LONG_NS: u64 = 200_000_000;
/// How long an answer to a question for the clock may take.
const ANSWER_NS: u64 = 15_000_000_000;
/// Pieces that are sent before the wire is looked at again.
const AT_ONCE: usize = 64;
/// Messages that nobody has read yet may weigh so much: two of the longest.
pub(crate) fn unread_max() -> u64 {
    2 * weight(MESSAGE_MAX)
}

/// What the rank's other threads want of it.
#[derive(Debug)]
pub(crate) enum Command {
    /// A message.
    Send { to: u32, bytes: Vec<u8> },
    /// No more messages to this rank.
    Close { to: u32 },
    /// The clocks of all others, by rank from 1 on.
    ReadClocks(Sender<Result<Vec<Reading>, HostsError>>),
    /// All is done here: waits for the others, and ends.
    Part,
    /// This rank cannot go on: the others are told.
    Leave,
}

/// How the thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parted {
    /// All ranks are done.
    InOrder,
    /// This rank leaves the others.
    Left,
}

/// What is known of another rank.
struct Peer {
    assembly: Assembly,
    /// Whoever reads its messages, until it says no more.
    reader: Option<Sender<Vec<u8>>>,
    unread: Arc<AtomicU64>,
    /// Messages that it was sent.
    sent: u64,
    is_done: bool,
}

/// What is to be sent, in order.
enum Waiting {
    /// A message, and how many of its pieces are gone.
    Message {
        to: u32,
        number: u64,
        bytes: Vec<u8>,
        gone: usize,
    },
    Closed {
        to: u32,
    },
}

/// The state of the thread.
pub(crate) struct Post<W> {
    wire: W,
    board: Arc<Board>,
    commands: Receiver<Command>,
    peers: BTreeMap<u32, Peer>,
    /// What came: from whom, and when.
    came: VecDeque<(u32, u64, Vec<u8>)>,
    waiting: VecDeque<Waiting>,
    beaten: Option<Instant>,
    awake_until: u64,
    /// The last answer to a question for the time.
    answer: Option<(u32, u64, Exchange)>,
    /// Since when all is done here.
    parting: Option<Instant>,
    /// From then on rank 0 waits so long for the others.
    done: Duration,
    is_done_said: bool,
}

impl<W: Wire> Post<W> {
    /// `done`: how long rank 0 waits for the others when all is done. `readers`: where the messages of each peer go,
    /// and the weight of those that were not read.
    pub(crate) fn new(
        wire: W,
        (board, done): (Arc<Board>, Duration),
        commands: Receiver<Command>,
        readers: impl IntoIterator<Item = (u32, Sender<Vec<u8>>, Arc<AtomicU64>)>,
    ) -> Post<W> {
        let peer = |(rank, reader, unread)| {
            let peer = Peer {
                assembly: Assembly::new(MESSAGE_MAX),
                reader: Some(reader),
                unread,
                sent: 0,
                is_done: false,
            };
            (rank, peer)
        };
        Post {
            wire,
            board,
            commands,
            peers: readers.into_iter().map(peer).collect(),
            came: VecDeque::new(),
            waiting: VecDeque::new(),
            beaten: None,
            awake_until: 0,
            answer: None,
            parting: None,
            done,
            is_done_said: false,
        }
    }

    /// Works until all are done or this rank leaves. Where all end, it goes on until the watchdog ends the process.
    pub(crate) fn run(mut self) -> (W, Parted) {
        loop {
            let is_heard = self.turn();
            self.send_some();
            if let Some(cause) = self.board.ending()
                && !self.board.is_told()
            {
                self.tell_all(cause);
            }
            if self.is_parted() {
                return (self.wire, Parted::InOrder);
            }
            let is_busy = is_heard || !self.waiting.is_empty() || monotonic_ns() < self.awake_until;
            let nap = if is_busy { Duration::ZERO } else { NAP };
            match self.commands.recv_timeout(nap) {
                Ok(Command::Send { to, bytes }) => self.queue(to, bytes),
                Ok(Command::Close { to }) => self.waiting.push_back(Waiting::Closed { to }),
                Ok(Command::ReadClocks(to)) => {
                    let _ = to.send(self.read_clocks());
                }
                Ok(Command::Part) => self.parting = Some(Instant::now()),
                Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => {
                    self.tell_all(Cause::Failed { rank: self.wire.rank() });
                    return (self.wire, Parted::Left);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// One look at the wire, and a sign of life when it is time. Whether anything came.
    fn turn(&mut self) -> bool {
        self.board.turn();
        gather(&self.wire, &mut self.came);
        let is_heard = !self.came.is_empty();
        while let Some((from, at, bytes)) = self.came.pop_front() {
            if self.take(from, at, &bytes).is_err() {
                self.board.end(Cause::Garbled { rank: from });
            }
        }
        if self.beaten.is_none_or(|beaten| beaten.elapsed() >= BEAT) {
            self.beaten = Some(Instant::now());
            self.send_all(&Note::Beat);
        }
        is_heard
    }

    /// Takes a note, which is hostile until it is checked.
    fn take(&mut self, from: u32, at: u64, bytes: &[u8]) -> Result<(), NoteError> {
        let note = Note::read(bytes)?;
        let peer = self.peers.get_mut(&from).ok_or(NoteError::Foreign)?;
        self.board.hear(from);
        match note {
            Note::Beat => {}
            Note::Piece(piece) => {
                let Some(message) = peer.assembly.take(&piece)? else {
                    return Ok(());
                };
                let own = weight(message.len() as u64);
                let (total, most) = (peer.unread.fetch_add(own, Ordering::Relaxed) + own, unread_max());
                if total > most {
                    return Err(NoteError::Long { total, most });
                }
                // Where nobody reads it any more, nobody misses it.
                let reader = peer.reader.as_ref();
                if reader.is_none_or(|reader| reader.send(message).is_err()) {
                    peer.unread.fetch_sub(own, Ordering::Relaxed);
                }
            }
            Note::Closed => peer.reader = None,
            Note::Asked(number) => {
                self.awake_until = at + AWAKE_NS;
                let answer = Note::Answered {
                    number,
                    received: at,
                    answered: monotonic_ns(),
                };
                self.send(from, &answer);
            }
            Note::Answered {
                number,
                received,
                answered,
            } => {
                let exchange = Exchange {
                    asked: 0,
                    received,
                    answered,
                    heard: at,
                };
                self.answer = Some((from, number, exchange));
            }
            Note::Ending(cause) => {
                self.board.end(cause);
            }
            Note::Done => peer.is_done = true,
        }
        Ok(())
    }

    fn queue(&mut self, to: u32, bytes: Vec<u8>) {
        if let Some(peer) = self.peers.get_mut(&to) {
            let (number, gone) = (peer.sent, 0);
            peer.sent += 1;
            self.waiting.push_back(Waiting::Message {
                to,
                number,
                bytes,
                gone,
            });
        }
    }

    /// Sends what waits, some pieces at a time: signs of life pass between them.
    fn send_some(&mut self) {
        for _ in 0..AT_ONCE {
            match self.waiting.pop_front() {
                None => return,
                Some(Waiting::Closed { to }) => self.send(to, &Note::Closed),
                Some(Waiting::Message {
                    to,
                    number,
                    bytes,
                    gone,
                }) => {
                    self.send(to, &Note::Piece(piece(number, &bytes, gone)));
                    let gone = gone + 1;
                    if gone * PIECE_MAX < bytes.len() {
                        self.waiting.push_front(Waiting::Message {
                            to,
                            number,
                            bytes,
                            gone,
                        });
                    }
                }
            }
        }
    }

    fn send(&mut self, to: u32, note: &Note<'_>) {
        let Post { wire, board, came, .. } = self;
        let mut turns = 0;
        wire.send(to, &note.bytes(), &mut || {
            // It may take long, but MPI answers: the watchdog need not think that it hangs.
            board.turn();
            gather(wire, came);
            turns += 1;
            if turns > AT_ONCE {
                std::thread::sleep(NAP);
            }
        });
    }

    fn send_all(&mut self, note: &Note<'_>) {
        let peers: Vec<u32> = self.board.peers().collect();
        peers.into_iter().for_each(|peer| self.send(peer, note));
    }

    /// All but the one that is lost: what it does not take would keep the word from the others.
    fn tell_all(&mut self, cause: Cause) {
        let lost = match cause {
            Cause::Silent { rank, .. } => Some(rank),
            _ => None,
        };
        let peers: Vec<u32> = self.board.peers().filter(|peer| Some(*peer) != lost).collect();
        peers.into_iter().for_each(|peer| self.send(peer, &Note::Ending(cause)));
        self.board.set_told();
    }

    /// Whether all are done: rank 0 says so when it knows of all others.
    fn is_parted(&mut self) -> bool {
        let Some(since) = self
            .parting
            .filter(|_| self.waiting.is_empty() && self.board.ending().is_none())
        else {
            return false;
        };
        if self.board.rank == 0 {
            let late = self.peers.iter().find(|(_, peer)| !peer.is_done);
            let late = late.map(|(rank, _)| *rank);
            match late {
                None => self.send_all(&Note::Done),
                Some(rank) if since.elapsed() >= self.done => {
                    let seconds = self.done.as_secs() as u32;
                    self.board.end(Cause::NotDone { rank, seconds });
                }
                Some(_) => {}
            }
            return late.is_none();
        }
        if !self.is_done_said {
            self.is_done_said = true;
            self.send(0, &Note::Done);
        }
        self.peers.get(&0).is_none_or(|first| first.is_done)
    }

    /// The clock of each other rank, by the shortest of its round trips.
    fn read_clocks(&mut self) -> Result<Vec<Reading>, HostsError> {
        let peers: Vec<u32> = self.board.peers().collect();
        peers.into_iter().map(|peer| self.read_clock(peer)).collect()
    }

    fn read_clock(&mut self, peer: u32) -> Result<Reading, HostsError> {
        let mut readings = Vec::new();
        let began = monotonic_ns();
        for number in 0..QUESTIONS {
            self.answer = None;
            let asked = monotonic_ns();
            if readings.len() >= QUESTIONS_MIN && asked - began > LONG_NS {
                break;
            }
            self.send(peer, &Note::Asked(number));
            let exchange = loop {
                self.turn();
                match self.answer {
                    Some((from, of, exchange)) if (from, of) == (peer, number) => break Exchange { asked, ..exchange },
                    _ if self.board.ending().is_some() => return Err(HostsError::Parted),
                    _ => {}
                }
                let waited = monotonic_ns() - asked;
                if waited > ANSWER_NS {
                    return Err(HostsError::NoClock(peer));
                }
                if waited > AWAKE_NS {
                    std::thread::sleep(NAP);
                }
            };
            readings.push(exchange.reading().ok_or(HostsError::Clock(peer))?);
        }
        Reading::best(readings).ok_or(HostsError::Clock(peer))
    }
}

/// Takes all that the wire has, each with the moment at which it was seen.
fn gather(wire: &impl Wire, came: &mut VecDeque<(u32, u64, Vec<u8>)>) {
    // What is too long stays on the wire, and would come for ever.
    for _ in 0..AT_ONCE {
        let Some((from, bytes)) = wire.take(NOTE_MAX) else {
            return;
        };
        came.push_back((from, monotonic_ns(), bytes));
    }
}
