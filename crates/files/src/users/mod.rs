//! Users: sessions that make the calls of a mix, or go through steps in a row, on one tree by one client.
//!
//! Takes a client; is an [`Operation`] for the hot loop. What it says of answers is in `check`, what is done next in
//! `draw`. Prevents: a retry that is left out of the response (it happens inside of the operation).

mod audit;
mod check;
mod commits;
mod draw;
mod emptying;
mod fill;
mod pipeline;
mod repair;
mod session;
#[cfg(test)]
mod simulated;
mod state;

pub(crate) use state::State;

use crate::client::{Answer, Client};
use crate::error::FilesError;
use crate::load::{Class, Config};
use crate::serving::{Counts, Point, WrongAnswers};
use crate::tree::Name;
use check::Next;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::Nanos;
use workloads::{Done, Operation, Outcome, Started};

/// How long a call that the server put off waits, ns.
const LATER_NS: u64 = 100_000_000;
/// How long a server may answer nothing but "later", ns: a store that fetches data from tape takes minutes.
const PUT_OFF_MAX_NS: u64 = 300_000_000_000;

/// Sessions, their tree and their client.
pub(crate) struct Users<C> {
    pub(crate) client: C,
    pub(crate) state: State,
    /// Sessions that make their next call as soon as the client is free.
    next: Vec<u32>,
    /// Calls that were put off, and until when; all wait equally long.
    later: VecDeque<(Nanos, u32)>,
    under_way: u32,
    put_off: PutOff,
    /// The server's limit, KiB.
    bulk_limit_kib: u32,
    /// Ends what is done outside of phases.
    cancel: Option<Arc<AtomicBool>>,
}

/// Since when a server has answered nothing but "later".
#[derive(Default)]
struct PutOff {
    since: Option<Nanos>,
}

impl PutOff {
    /// Another answer came.
    fn end(&mut self) {
        self.since = None;
    }

    /// A call was put off at this time.
    fn again(&mut self, at: Nanos) -> Result<(), FilesError> {
        let since = *self.since.get_or_insert(at);
        match at.saturating_sub(since) {
            long if long > PUT_OFF_MAX_NS => Err(FilesError::PutOff {
                seconds: PUT_OFF_MAX_NS / 1_000_000_000,
            }),
            _ => Ok(()),
        }
    }
}

impl<C: Client> Users<C> {
    pub(crate) fn new(client: C, config: Config) -> Users<C> {
        let sessions = config.sessions as usize;
        Users {
            client,
            state: State::new(config),
            next: Vec::with_capacity(sessions),
            later: VecDeque::with_capacity(sessions),
            under_way: 0,
            put_off: PutOff::default(),
            bulk_limit_kib: 64,
            cancel: None,
        }
    }

    /// See `Serving::end_by`.
    pub(crate) fn end_by(&mut self, cancel: &Arc<AtomicBool>) {
        self.cancel = Some(Arc::clone(cancel));
    }

    fn is_cancelled(&self) -> bool {
        let set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.cancel.as_ref().is_some_and(set)
    }

    /// The server takes at most so much in one call, KiB.
    pub(crate) fn limit_bulk(&mut self, kib: u32) {
        self.bulk_limit_kib = kib;
    }

    /// One phase: `drive` is how it is driven; counts begin at zero.
    pub(crate) fn run(
        &mut self,
        drive: impl FnOnce(&mut Self) -> Result<Outcome, FilesError>,
    ) -> Result<Point, FilesError> {
        self.state.count_anew();
        if self.state.tree.accessed.is_empty() {
            return Err(FilesError::Tree(
                "the tree has no file to work on\ngrow it first, or let more of the files be accessed".into(),
            ));
        }
        let before = self.client.traffic();
        self.client.reserve(self.state.tree.nodes(), self.state.config.sessions);
        let most = self
            .state
            .tree
            .directories
            .iter()
            .map(|directory| directory.count)
            .max();
        self.state.seen.resize(most.unwrap_or(0).div_ceil(64) as usize, 0);
        let outcome = drive(self);
        let after = self.client.traffic();
        let counts = &mut self.state.counts;
        counts.sends = after.sends - before.sends;
        counts.receives = after.receives - before.receives;
        counts.reconnects = after.reconnects - before.reconnects;
        match outcome {
            Ok(outcome) => Ok(Point {
                outcome,
                counts: *counts,
                tree: self.state.tree.size(),
                wrong: self.state.wrong.clone(),
            }),
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    /// Counts of the last phase, also where it ended by an error.
    pub(crate) fn counts(&self) -> Counts {
        self.state.counts
    }

    /// Wrong answers of the last phase, also where it ended by an error.
    pub(crate) fn wrong(&self) -> WrongAnswers {
        WrongAnswers {
            count: self.state.counts.wrong,
            examples: self.state.wrong.clone(),
        }
    }

    /// Whatever is under way has no answer.
    pub(crate) fn give_up(&mut self) {
        self.next.clear();
        self.later.clear();
        self.put_off.end();
        self.under_way = 0;
        self.state.give_up();
    }

    fn send(&mut self, session: u32) -> Result<(), FilesError> {
        let mut names = [Name::empty(); 2];
        let call = self.state.call(&self.state.sessions[session as usize], &mut names);
        self.client.send(session, &call)
    }

    fn send_waiting(&mut self) -> Result<(), FilesError> {
        let now = if self.later.is_empty() { 0 } else { self.client.now() };
        while let Some((until, session)) = self.later.front().copied() {
            if until > now {
                break;
            }
            self.later.pop_front();
            self.next.push(session);
        }
        while let Some(session) = self.next.pop() {
            self.send(session)?;
        }
        Ok(())
    }
}

impl<C: Client> Operation for Users<C> {
    type Error = FilesError;

    fn now(&self) -> Nanos {
        self.client.now()
    }

    fn classes(&self) -> &[&'static str] {
        &Class::NAMES
    }

    fn start(&mut self, session: u32, _: &mut Vec<Done>) -> Result<Started, FilesError> {
        self.state.begin(session);
        self.send(session)?;
        self.under_way += 1;
        Ok(Started::Running)
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), FilesError> {
        let before = done.len();
        loop {
            self.send_waiting()?;
            let wake = self.later.front().map(|(at, _)| *at).into_iter().chain(until).min();
            let Users {
                client,
                state,
                next,
                later,
                under_way,
                put_off,
                ..
            } = self;
            client.wait(wake, &mut |session, at, answer| {
                let is_answer = !matches!(answer, Answer::Again);
                match state.answered(session, answer)? {
                    Next::Later => {
                        put_off.again(at)?;
                        later.push_back((at + LATER_NS, session));
                        return Ok(());
                    }
                    Next::Done => {
                        let ended = &state.sessions[session as usize];
                        *under_way -= 1;
                        done.push(Done {
                            session,
                            class: ended.class as u8,
                            at,
                            units: ended.units,
                        });
                    }
                    Next::Call => next.push(session),
                }
                // A connection that ended is no answer: a server could break each one off and go on for ever.
                if is_answer {
                    put_off.end();
                }
                Ok(())
            })?;
            if done.len() > before || (self.under_way == 0 && until.is_none()) {
                return self.send_waiting();
            }
            if until.is_some_and(|until| self.client.now() >= until) {
                return self.send_waiting();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_says_nothing_but_later_is_given_up() {
        let second = 1_000_000_000;
        let mut put_off = PutOff::default();
        put_off.again(5 * second).expect("the first time");
        put_off.again(304 * second).expect("not yet");
        put_off.end();
        put_off.again(306 * second).expect("another answer came between them");
        let given_up = put_off.again(607 * second);
        assert!(
            matches!(given_up, Err(FilesError::PutOff { seconds: 300 })),
            "{given_up:?}"
        );
    }
}
