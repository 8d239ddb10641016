//! The process of an instance on another host, as the run sees it: streams like those of a process here.
//!
//! Takes orders as bytes, gives answers and last words as bytes, and how the process ended. Prevents: an instance that
//! is told another thing, or heard in another way, because it is far away.

use crate::instances::end::{GRACE, KILLED, LOOK};
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
        let hears = match begun(&way, &mut from, (number, rank), ends.is_some()) {
            Ok(hears) => hears,
            Err((error, has_ended)) => {
                // What belongs to this process must not be taken for the next one's there.
                if has_ended || ends_there(ranks, &way, &mut from) {
                    let to = way.outbox();
                    ranks.give_back(Seat { rank, to, from });
                }
                return Err(error);
            }
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

/// Where a process that has just begun finds its pipes. An error comes with whether there is no process, which its host
/// has said.
fn begun(
    way: &Way,
    from: &mut Incoming,
    (number, rank): (u32, u32),
    follows: bool,
) -> Result<Option<Places>, (anyhow::Error, bool)> {
    let gone = |words: String| -> anyhow::Error {
        InstanceError::Lost {
            number,
            ended: format!("its host (rank {rank}) did not start a process"),
            words,
        }
        .into()
    };
    way.send(Down::Begin, &[u8::from(follows)])
        .map_err(|error| (gone(error.to_string()), false))?;
    let message = from.message_within(START);
    let message = message.map_err(|error| (gone(error.to_string()), false))?;
    match letters::read::<Up>(&message) {
        Some((Up::Begun, places)) => serde_json::from_slice(places)
            .context("where a process finds its pipes")
            .map_err(|error| (error, false)),
        Some((Up::Ended, why)) => Err((gone(String::from_utf8_lossy(why).into_owned()), true)),
        _ => Err((gone("it sent no answer".to_string()), false)),
    }
}

/// Ends a process that did not begin as it should. Whether its host says in time that it has ended.
fn ends_there(ranks: &Ranks, way: &Way, from: &mut Incoming) -> bool {
    way.end();
    is_told(
        GRACE + KILLED,
        || ranks.are_over(),
        |patience| from.message_within(patience),
    )
}

/// Whether the end of a process is among the messages that come in this time.
fn is_told(
    patience: Duration,
    is_over: impl Fn() -> bool,
    mut next: impl FnMut(Duration) -> Result<Vec<u8>, RecvTimeoutError>,
) -> bool {
    let began = Instant::now();
    while !is_over() && began.elapsed() < patience {
        match next(LOOK) {
            Ok(message) if matches!(letters::read::<Up>(&message), Some((Up::Ended, _))) => return true,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn told(messages: &[&[u8]]) -> (bool, Vec<Vec<u8>>) {
        let (to, from) = channel();
        messages.iter().for_each(|message| to.send(message.to_vec()).unwrap());
        drop(to);
        let told = is_told(LONG, || false, |patience| from.recv_timeout(patience));
        (told, from.try_iter().collect())
    }

    /// A host is free again when its late process has ended, and not before.
    #[test]
    fn all_that_a_late_process_says_is_heard_before_its_host_is_given_back() {
        let (is_told, rest) = told(&[b"bnull", b"a{}", b"wwhy", b"eexit status: 0", b"bnull"]);
        assert!(is_told);
        assert_eq!(rest, [b"bnull"], "what comes then is of the next process");
        assert!(!told(&[b"bnull", b"a{}"]).0, "a host that says no more is not free");
    }

    #[test]
    fn a_host_that_stays_silent_is_not_waited_for_when_all_ends() {
        assert!(!is_told(LONG, || true, |_| Err(RecvTimeoutError::Timeout)));
        assert!(!is_told(Duration::ZERO, || false, |_| Ok(b"e".to_vec())));
    }
}
