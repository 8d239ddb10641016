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

impl Hands {
    /// What waits to be sent again is not.
    fn forget_waiting(&mut self) {
        self.under_way -= (self.again.len() + self.later.len()) as u32;
        self.again.clear();
        self.later.clear();
    }
}

impl<C: Client> Users<C> {
    /// How many hands a job has.
    pub(super) fn hands(&self) -> u32 {
        HANDS.min(self.client.most_calls())
    }

    /// Does all of a job; gives the number of calls. Told to end, it takes nothing new on, waits for what is under way
    /// and is an error.
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
            let is_cancelled = self.is_cancelled();
            if is_cancelled {
                hands.forget_waiting();
            }
            while let Some(hand) = hands.ready.pop().filter(|_| !is_cancelled) {
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
                return match is_cancelled {
                    true => Err(FilesError::Cancelled),
                    false => Ok(hands.calls),
                };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Node;
    use crate::load::Config;
    use crate::null::{Null, Time};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Calls of which one asks for the end.
    struct Asking {
        begun: u32,
        answered: u32,
        at: u32,
        cancel: Arc<AtomicBool>,
    }

    impl Job for Asking {
        fn advance(&mut self, _: &mut State, _: u32) -> bool {
            self.begun += 1;
            self.begun <= 10_000
        }

        fn call<'a>(&'a self, _: &'a State, _: u32, _: &'a mut Name) -> Call<'a> {
            Call::Getattr { of: Node::ROOT }
        }

        fn answered(&mut self, _: &mut State, _: u32, _: Answer<'_>, _: bool) -> Result<(), FilesError> {
            self.answered += 1;
            self.cancel.fetch_or(self.answered == self.at, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn nothing_new_is_taken_on_after_the_end_was_asked_for_and_the_files_go() {
        let mut users = Users::new(Null::new(Time::Real), Config::sfs97(4, 1, 1));
        let cancel = Arc::default();
        users.end_by(&cancel);
        users.make_home().unwrap();
        users.grow_to(1 << 20, true).unwrap();
        let mut asking = Asking {
            begun: 0,
            answered: 0,
            at: 500,
            cancel: Arc::clone(&cancel),
        };
        let ended = users.pipelined(&mut asking);
        assert!(matches!(ended, Err(FilesError::Cancelled)), "{ended:?}");
        assert_eq!(asking.begun, asking.answered, "what was under way was waited for");
        assert!((500..500 + 2 * HANDS).contains(&asking.answered), "{}", asking.answered);
        let grown = users.grow_to(64 << 20, true);
        assert!(matches!(grown, Err(FilesError::Cancelled)), "{grown:?}");
        assert!(matches!(users.commit(), Err(FilesError::Cancelled)));
        let audit = users.audit(crate::serving::After::Nothing);
        assert!(matches!(audit, Err(FilesError::Cancelled)), "{audit:?}");
        users.remove().unwrap();
        assert_eq!(users.client.names(), 0, "nothing of it stays");
    }
}
