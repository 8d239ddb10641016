//! The process of an instance on another host, as the run sees it: streams like those of a process here.
//!
//! Takes orders as bytes, gives answers and last words as bytes, and how the process ended. Prevents: an instance that
//! is told another thing, or heard in another way, because it is far away.

use crate::instances::error::InstanceError;
use crate::instances::letters::{self, Down, Orders, Pieces, Up, Way};
use crate::instances::notices::{Ends, Places};
use crate::instances::ranks::{Ranks, Seat};
use anyhow::Context;
use hosts::Incoming;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// The other host has so long to start a process.
const START: Duration = Duration::from_secs(15);
/// How often whoever waits looks whether it should.
const LOOK: Duration = Duration::from_millis(20);
/// Messages that wait for their reader.
const UNREAD_MESSAGES: usize = 16;

/// A process on another host.
pub(super) struct Remote {
    ranks: Ranks,
    rank: u32,
    way: Way,
    /// How it ended, and the way back from its host; once.
    ended: Receiver<(String, Incoming)>,
    /// How it ended.
    known: Option<String>,
}

/// What is said to it and by it.
pub(super) struct Streams {
    pub(super) orders: Orders,
    pub(super) answers: Pieces,
    pub(super) words: Pieces,
    /// Where it finds the pipes of its group's notices.
    pub(super) hears: Option<Places>,
}

impl Remote {
    /// Starts the process of the instance of this number on its host. `ends`: of the pipes to the owner of its group.
    pub(super) fn begin(ranks: &Ranks, number: u32, ends: Option<Ends>) -> anyhow::Result<(Remote, Streams)> {
        let Seat { rank, to, mut from } = ranks.take(number)?;
        let way = Way::new(to);
        let gone = |words: String| InstanceError::Lost {
            number,
            ended: format!("its host (rank {rank}) did not start a process"),
            words,
        };
        way.send(Down::Begin, &[u8::from(ends.is_some())])
            .map_err(|error| gone(error.to_string()))?;
        let begun = from.message_within(START).map_err(|error| gone(error.to_string()))?;
        let hears = match letters::read::<Up>(&begun) {
            Some((Up::Begun, places)) => serde_json::from_slice(places).context("where a process finds its pipes")?,
            Some((Up::Ended, why)) => return Err(gone(String::from_utf8_lossy(why).into_owned()).into()),
            _ => return Err(gone("it sent no answer".to_string()).into()),
        };
        let (answers, from_answers) = sync_channel(UNREAD_MESSAGES);
        let (words, from_words) = sync_channel(UNREAD_MESSAGES);
        let (has_ended, ended) = channel();
        let notices = ends.map(|ends| {
            let (notices, followed) = ends.apart();
            let way = way.clone();
            std::thread::spawn(move || way.hand_on_notices(notices));
            followed
        });
        let sorter = Sorter {
            answers,
            words,
            followed: notices,
        };
        std::thread::spawn(move || {
            let how = sorter.sort(&mut from);
            let _ = has_ended.send((how, from));
        });
        let remote = Remote {
            ranks: ranks.clone(),
            rank,
            way: way.clone(),
            ended,
            known: None,
        };
        let streams = Streams {
            orders: Orders::new(way),
            answers: Pieces::new(from_answers),
            words: Pieces::new(from_words),
            hears,
        };
        Ok((remote, streams))
    }

    /// It has opened its pipes.
    pub(super) fn has_opened(&self) {
        let _ = self.way.send(Down::Opened, &[]);
    }

    /// Until it has ended, all ranks end, or this time is over.
    fn wait(&self, patience: Duration) -> Option<(String, Incoming)> {
        let began = Instant::now();
        while !self.ranks.are_over() && began.elapsed() < patience {
            match self.ended.recv_timeout(LOOK) {
                Ok(ended) => return Some(ended),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    }

    /// How it ended, if it does so in this time; its orders must have ended. Its host is free then.
    pub(super) fn ended(&mut self, patience: Duration) -> Option<&str> {
        if self.known.is_none() {
            self.way.end();
            let (how, from) = self.wait(patience)?;
            self.ranks.give_back(Seat {
                rank: self.rank,
                to: self.way.outbox(),
                from,
            });
            self.known = Some(how);
        }
        self.known.as_deref()
    }
}

/// Where messages of the other host go.
struct Sorter<W> {
    answers: SyncSender<Vec<u8>>,
    words: SyncSender<Vec<u8>>,
    followed: Option<W>,
}

impl<W: Write> Sorter<W> {
    /// Sorts them until the process has ended; gives how it did.
    fn sort(mut self, from: &mut Incoming) -> String {
        loop {
            let Some(message) = from.message() else {
                return "its host says no more".to_string();
            };
            match letters::read::<Up>(&message) {
                // Whoever does not listen any more knows enough.
                Some((Up::Answers, bytes)) => drop(self.answers.send(bytes.to_vec())),
                Some((Up::Words, bytes)) => drop(self.words.send(bytes.to_vec())),
                Some((Up::Followed, bytes)) => {
                    if let Some(to) = &mut self.followed
                        && to.write_all(bytes).is_err()
                    {
                        self.followed = None;
                    }
                }
                Some((Up::Ended, how)) => return String::from_utf8_lossy(how).into_owned(),
                Some((Up::Begun, _)) | None => return "its host sent what is no message".to_string(),
            }
        }
    }
}
