//! Many calls at once for what is not measured: filling, looking up, reading all, sending again.
//!
//! Prevents: files made one call at a time, and a retry that each of these jobs has to know.

use super::state::State;
use super::{LATER_NS, Users};
use crate::client::{Answer, Call, Client};
use crate::error::FilesError;
use crate::status::Status;
use crate::tree::Name;
use std::collections::VecDeque;
use targets::Nanos;

/// Calls under way.
const HANDS: u32 = 64;

/// Work of several hands, each with one call under way.
pub(crate) trait Job {
    /// Moves a hand to its next call. `false`: there is none.
    fn advance(&mut self, state: &mut State, hand: u32) -> bool;

    /// The call of a hand; asked again when it has to be sent again.
    fn call<'a>(&'a self, state: &'a State, hand: u32, name: &'a mut Name) -> Call<'a>;

    /// Its answer. `repeated`: it was sent twice, over two connections.
    fn answered(&mut self, state: &mut State, hand: u32, answer: Answer<'_>, repeated: bool) -> Result<(), FilesError>;
}

struct Hands {
    ready: Vec<u32>,
    again: Vec<u32>,
    later: VecDeque<(Nanos, u32)>,
    repeated: Vec<bool>,
    under_way: u32,
    calls: u64,
}

impl<C: Client> Users<C> {
    /// How many hands a job has.
    pub(super) fn hands(&self) -> u32 {
        HANDS.min(self.client.most_calls())
    }

    /// Does all of a job; gives the number of calls.
    pub(super) fn pipelined(&mut self, job: &mut impl Job) -> Result<u64, FilesError> {
        let count = self.hands();
        let tags = count.max(self.state.config.sessions);
        self.client.reserve(self.state.tree.nodes(), tags);
        let mut hands = Hands {
            ready: (0..count).collect(),
            again: Vec::new(),
            later: VecDeque::new(),
            repeated: vec![false; count as usize],
            under_way: 0,
            calls: 0,
        };
        loop {
            while let Some(hand) = hands.ready.pop() {
                if job.advance(&mut self.state, hand) {
                    hands.under_way += 1;
                    hands.again.push(hand);
                }
            }
            while let Some(hand) = hands.again.pop() {
                let mut name = Name::empty();
                let call = job.call(&self.state, hand, &mut name);
                self.client.send(hand, &call)?;
            }
            if hands.under_way == 0 {
                return Ok(hands.calls);
            }
            self.wait_for_hands(job, &mut hands)?;
        }
    }

    fn wait_for_hands(&mut self, job: &mut impl Job, hands: &mut Hands) -> Result<(), FilesError> {
        let wake = hands.later.front().map(|(until, _)| *until);
        let Users {
            client, state, put_off, ..
        } = self;
        client.wait(wake, &mut |hand, at, answer| {
            match answer {
                Answer::Again => {
                    hands.repeated[hand as usize] = true;
                    hands.again.push(hand);
                }
                Answer::Refused(Status::LATER) => {
                    put_off.again(at)?;
                    hands.later.push_back((at + LATER_NS, hand));
                }
                answer => {
                    put_off.end();
                    let repeated = std::mem::take(&mut hands.repeated[hand as usize]);
                    job.answered(state, hand, answer, repeated)?;
                    hands.under_way -= 1;
                    hands.calls += 1;
                    hands.ready.push(hand);
                }
            }
            Ok(())
        })?;
        let now = self.client.now();
        while let Some((_, hand)) = hands.later.front().filter(|(until, _)| *until <= now).copied() {
            hands.later.pop_front();
            hands.again.push(hand);
        }
        Ok(())
    }
}
