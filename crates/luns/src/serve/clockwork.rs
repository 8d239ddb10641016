//! Holds answers back until the model says that they are due.
//!
//! Takes requests as they arrive and whatever answers each, answers at the model's time or, when the work below has
//! taken longer than that, as soon as it is done; that is counted. Prevents: a model that the machine could not keep up
//! with, and nobody told.

use crate::model::{Answer, Ask, Command, Counters, DeviceModel, Slow};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use targets::{Nanos, monotonic_ns};

/// An answer that comes this much later than the model's time is late.
pub const LATE_NS: u64 = 500_000;

/// The last of a wait is not slept: a sleeper is woken that much too late.
const SPIN: Duration = Duration::from_micros(60);

/// How well the service kept up with its model.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Punctuality {
    /// Requests answered.
    pub answered: u64,
    /// Of them, later than [`LATE_NS`] after the model's time.
    pub late: u64,
    /// Sum of all delays after the model's time, in nanoseconds.
    pub delay_ns: u64,
    /// The longest, in nanoseconds.
    pub delay_ns_max: u64,
    /// Sum of what the model took for the same requests, in nanoseconds.
    pub modelled_ns: u64,
    /// Of it, for reads: what the kernel says of reads can be held against it, for it never waits for one request in
    /// another.
    pub read_modelled_ns: u64,
}

/// What is called at the time.
pub(super) type Reply = Box<dyn FnOnce() + Send>;

/// A request is answered when both its work is done and its time has come.
enum Half {
    Due(Nanos),
    Worked(Reply),
}

struct State {
    model: Slow,
    next_id: u64,
    halves: HashMap<u64, Half>,
    /// When each request came, how much longer than the model it takes, and whether it reads.
    came: HashMap<u64, (Nanos, u64, bool)>,
    /// Answers of the model that a slow LUN holds back.
    held: BinaryHeap<Reverse<(Nanos, u64)>>,
    punctuality: Punctuality,
    stopping: bool,
    base: Nanos,
}

/// A model in real time.
#[derive(Clone)]
pub(super) struct Clockwork {
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Clockwork {
    /// At the device's own pace.
    pub(super) fn new(model: Box<dyn DeviceModel>) -> Clockwork {
        let state = State {
            model: Slow::new(model, 1),
            next_id: 0,
            halves: HashMap::new(),
            came: HashMap::new(),
            held: BinaryHeap::new(),
            punctuality: Punctuality::default(),
            stopping: false,
            base: monotonic_ns(),
        };
        Clockwork {
            state: Arc::new((Mutex::new(state), Condvar::new())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has arrived that takes `slower_ns` longer than the model says: gives the name to end it by.
    pub(super) fn arrived(&self, ask: Ask, slower_ns: u64) -> u64 {
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        let now = monotonic_ns() - state.base;
        let before = state.next();
        let replies = state.advance(now);
        state.came.insert(id, (now, slower_ns, ask.command == Command::Read));
        state.model.submit(now, Ask { id, ..ask });
        if state.next() != before {
            self.state.1.notify_one();
        }
        drop(state);
        answer(replies);
        id
    }

    /// The work of a request is done; `reply` is called now, or when its time comes.
    pub(super) fn worked(&self, id: u64, reply: Reply) {
        let mut state = self.lock();
        if let Some(Half::Due(due)) = state.halves.remove(&id) {
            let now = monotonic_ns() - state.base;
            state.book(now, due);
            drop(state);
            reply();
        } else {
            state.halves.insert(id, Half::Worked(reply));
        }
    }

    /// Answers what comes due until [`Clockwork::stop`]: the body of a thread.
    pub(super) fn run(&self) {
        let mut state = self.lock();
        while !state.stopping {
            let now = monotonic_ns() - state.base;
            let replies = state.advance(now);
            if !replies.is_empty() {
                drop(state);
                answer(replies);
                state = self.lock();
                continue;
            }
            let wait = state.next().map(|at| Duration::from_nanos(at.saturating_sub(now)));
            state = match wait.map(|wait| wait.checked_sub(SPIN).ok_or(wait)) {
                None => self.state.1.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Ok(sleep)) => {
                    self.state
                        .1
                        .wait_timeout(state, sleep)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                Some(Err(rest)) => {
                    drop(state);
                    let end = monotonic_ns() + rest.as_nanos() as u64;
                    while monotonic_ns() < end {
                        std::hint::spin_loop();
                    }
                    self.lock()
                }
            };
        }
        // Whoever still waits is answered: its work is done, and nobody measures any more.
        let rest: Vec<Reply> = state.halves.drain().filter_map(|(_, half)| half.reply()).collect();
        drop(state);
        answer(rest);
    }

    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.state.1.notify_all();
    }

    /// The power was off and is back: nobody waits any more for what was asked before.
    pub(super) fn power_cycle(&self) {
        let mut state = self.lock();
        let now = monotonic_ns() - state.base;
        let mut replies = state.advance(now);
        state.model.power_cycle(now);
        replies.extend(state.advance(now));
        self.state.1.notify_one();
        drop(state);
        answer(replies);
    }

    /// From the next request on.
    pub(super) fn answer_sooner(&self, by: Nanos) {
        self.lock().model.answer_sooner(by);
    }

    /// From now on the device's clock is so many times slower than the wall's.
    pub(super) fn run_slower(&self, times: u32) {
        let mut state = self.lock();
        let now = monotonic_ns() - state.base;
        let replies = state.advance(now);
        state.model.set_times(now, times);
        // What comes next comes at another time.
        self.state.1.notify_one();
        drop(state);
        answer(replies);
    }

    pub(super) fn slower(&self) -> u64 {
        self.lock().model.times()
    }

    pub(super) fn counters(&self) -> Counters {
        self.lock().model.counters()
    }

    pub(super) fn punctuality(&self) -> Punctuality {
        self.lock().punctuality
    }
}

impl Half {
    fn reply(self) -> Option<Reply> {
        match self {
            Half::Worked(reply) => Some(reply),
            Half::Due(_) => None,
        }
    }
}

impl State {
    /// When something happens next.
    fn next(&self) -> Option<Nanos> {
        let held = self.held.peek().map(|Reverse((at, _))| *at);
        self.model.next().into_iter().chain(held).min()
    }

    /// Moves the model on; the replies to call for it.
    fn advance(&mut self, now: Nanos) -> Vec<Reply> {
        let mut done: Vec<Answer> = Vec::new();
        self.model.advance(now, &mut done);
        done.retain(|answer| {
            let (came, slower_ns, reads) = self.came.remove(&answer.id).unwrap_or((answer.at, 0, false));
            let took = answer.at.saturating_sub(came) + slower_ns;
            self.punctuality.modelled_ns += took;
            self.punctuality.read_modelled_ns += if reads { took } else { 0 };
            if slower_ns > 0 {
                self.held.push(Reverse((answer.at + slower_ns, answer.id)));
            }
            slower_ns == 0
        });
        while let Some(Reverse((at, id))) = self.held.peek().copied().filter(|held| held.0.0 <= now) {
            self.held.pop();
            done.push(Answer { at, id });
        }
        let mut replies = Vec::new();
        for answer in done {
            match self.halves.remove(&answer.id) {
                Some(Half::Worked(reply)) => {
                    self.book(now, answer.at);
                    replies.push(reply);
                }
                _ => {
                    self.halves.insert(answer.id, Half::Due(answer.at));
                }
            }
        }
        replies
    }

    fn book(&mut self, now: Nanos, due: Nanos) {
        let delay = now.saturating_sub(due);
        let p = &mut self.punctuality;
        p.answered += 1;
        p.late += u64::from(delay > LATE_NS);
        p.delay_ns += delay;
        p.delay_ns_max = p.delay_ns_max.max(delay);
    }
}

fn answer(replies: Vec<Reply>) {
    for reply in replies {
        reply();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::named;
    use std::sync::mpsc::channel;

    #[test]
    fn who_waits_for_a_slow_device_is_answered_when_it_is_slow_no_more() {
        // Up to a millisecond, which slow motion makes up to twenty minutes.
        let device = named("custom", &|_| 1.0, "1000 1\n", &[1 << 20], 3).unwrap();
        let clockwork = Clockwork::new(device);
        assert_eq!(clockwork.slower(), 1);
        clockwork.run_slower(1_200_000);
        let running = clockwork.clone();
        let runner = std::thread::spawn(move || running.run());
        let ask = Ask {
            id: 0,
            lun: 0,
            command: Command::Read,
            offset: 0,
            len: 4096,
        };
        let (tell, told) = channel();
        let id = clockwork.arrived(ask, 0);
        clockwork.worked(id, Box::new(move || tell.send(()).unwrap()));
        clockwork.run_slower(1);
        told.recv_timeout(Duration::from_secs(60)).expect("an answer");
        assert_eq!((clockwork.slower(), clockwork.punctuality().answered), (1, 1));
        clockwork.stop();
        runner.join().unwrap();
    }
}
