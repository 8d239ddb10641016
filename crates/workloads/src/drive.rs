//! The hot loop: takes an operation, a pacing and a seed, gives an [`Outcome`].
//!
//! One worker, one thread, one loop. All time comes from the operation's clock and all waiting happens inside
//! [`Operation::advance`], so a virtual clock drives it as well as a real one, and then it repeats byte for byte.
//! Nothing in the loop allocates, locks, prints or calls through a box: all memory is taken before the first operation.
//!
//! Prevents: a session that overtakes the others because its operations end at once (sessions are served in the order
//! in which they became ready), and a stall that vanishes from the figures (three stamps, see `schedule`).

use crate::arrivals::{Arrivals, Lead};
use crate::latencies::{ClassUnderWay, Latencies};
use crate::operation::{Done, Operation, Started};
use crate::outcome::{Outcome, Slices};
use crate::pacing::{Arrival, Pacing, Think};
use crate::schedule::{DueTimes, pause_ns};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;
use targets::Nanos;

/// Operations started before the operation gets a turn to move the others on. Small enough that I/O of the first is
/// sent early when thousands of sessions begin; large enough that submits are batched.
const STARTS_PER_TURN: u32 = 64;

/// Longest wait when a cancel flag is to be watched.
const CANCEL_POLL_NS: u64 = 50_000_000;

/// Stamp of a session without an operation under way.
const IDLE: Nanos = Nanos::MAX;

/// Memory the loop holds per session, bytes: its state, its places in the ready queue, in the timers and among the
/// completions.
pub const BYTES_PER_SESSION: usize =
    size_of::<Session>() + size_of::<u32>() + size_of::<Reverse<(Nanos, u32)>>() + size_of::<Done>();

/// One session.
struct Session {
    due: Nanos,
    start: Nanos,
    count: u64,
}

/// Where due times come from.
enum Source<'a> {
    Closed {
        think: Option<Think>,
        pausing: BinaryHeap<Reverse<(Nanos, u32)>>,
    },
    Open {
        due: DueTimes,
    },
    /// One schedule of several workers; `due`: what this one took and did not start.
    Shared {
        arrivals: &'a Arrivals,
        due: Option<Nanos>,
        lead: Option<Lead<'a>>,
    },
}

/// A phase under way.
struct Run<'a> {
    pacing: &'a Pacing,
    began: Nanos,
    limit: Option<Nanos>,
    random: Xoshiro256PlusPlus,
    source: Source<'a>,
    sessions: Vec<Session>,
    /// Sessions without an operation and without a pause, in the order they became so.
    ready: VecDeque<u32>,
    under_way: u32,
    done: Vec<Done>,
    last_done: Nanos,
    classes: Vec<ClassUnderWay<'a>>,
    slices: Slices,
    in_time_count: u64,
    in_time_units: u64,
}

/// Runs one phase on one worker. Sessions begin in their order, each is started once before any is started twice; a
/// session's first operation under closed arrival is due when the loop reaches it, or after
/// [`Operation::first_pause_ns`].
///
/// When the time is over no operation is started any more, and those under way are waited for and counted. The stamps:
/// service = done - start, response = done - due.
///
/// Under a virtual clock an operation must cost time: one that ends at once, at no cost, never reaches the time limit.
///
/// `seed` determines pauses and the open schedule. Errors are the operation's own; they end the phase and its outcome
/// is lost. Panics on a pacing that [`Pacing::check`] refuses.
pub fn drive<O: Operation>(op: &mut O, pacing: &Pacing, seed: u64) -> Result<Outcome, O::Error> {
    drive_shared(op, pacing, seed, None, None)
}

/// As [`drive`], for one of several workers that have something in common.
///
/// `arrivals`: they take the due times of an open arrival from one schedule. `pacing` is that of the worker, and its
/// own rate is not used. `None`: the worker has a schedule of its own.
///
/// `latencies`: they count in one place. [`Outcome::classes`] of each worker is then empty, and [`Latencies::take`]
/// gives the classes of all of them. `None`: the worker counts for itself. Panics where the place has other classes.
pub fn drive_shared<O: Operation>(
    op: &mut O,
    pacing: &Pacing,
    seed: u64,
    arrivals: Option<&Arrivals>,
    latencies: Option<&Latencies>,
) -> Result<Outcome, O::Error> {
    if let Err(error) = pacing.check() {
        panic!("{error}");
    }
    // One schedule has one beginning and one end: a worker that comes late does not count longer than the others.
    let began = arrivals.map_or_else(|| op.now(), Arrivals::began);
    let classes = match latencies {
        Some(shared) => shared.under_way(op.classes()),
        None => op.classes().iter().map(|name| ClassUnderWay::new(name)).collect(),
    };
    let mut run = Run::new(began, classes, pacing, seed);
    if let Some(arrivals) = arrivals {
        run.source = Source::Shared {
            arrivals,
            due: None,
            lead: None,
        };
    }
    run.begin(op);
    let (timed_out, cancelled) = loop {
        run.start_ready(op)?;
        let now = op.now();
        let cancelled = run.cancel_asked();
        let timed_out = run.limit.is_some_and(|limit| now >= limit);
        if cancelled || timed_out || run.exhausted() {
            break (timed_out, cancelled);
        }
        let wake = run.wake(now);
        op.advance(wake, &mut run.done)?;
        run.settle(op);
    };
    let stopped = op.now();
    while run.under_way > 0 {
        op.advance(None, &mut run.done)?;
        run.settle(op);
    }
    Ok(run.outcome(stopped, timed_out, cancelled))
}

impl<'a> Run<'a> {
    fn new(began: Nanos, classes: Vec<ClassUnderWay<'a>>, pacing: &'a Pacing, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let sessions = pacing.sessions as usize;
        let source = match pacing.arrival {
            Arrival::Closed { think } => {
                let think = think.filter(|think| think.frequency > 0 && think.max_ns > 0);
                let room = if think.is_some() { sessions } else { 0 };
                Source::Closed {
                    think,
                    pausing: BinaryHeap::with_capacity(room),
                }
            }
            Arrival::Open { rate_per_s, schedule } => Source::Open {
                due: DueTimes::new(began, rate_per_s, schedule, &mut random),
            },
        };
        Run {
            pacing,
            began,
            limit: pacing.stop.time_ns.map(|time| began.saturating_add(time)),
            random,
            source,
            sessions: (0..sessions)
                .map(|_| Session {
                    due: IDLE,
                    start: IDLE,
                    count: 0,
                })
                .collect(),
            ready: VecDeque::with_capacity(sessions),
            under_way: 0,
            done: Vec::with_capacity(sessions),
            last_done: began,
            classes,
            slices: Slices::new(pacing.slice_ns, pacing.stop.time_ns),
            in_time_count: 0,
            in_time_units: 0,
        }
    }

    /// Makes the sessions ready, or lets them pause first. Takes the memory of pauses before the loop begins.
    fn begin<O: Operation>(&mut self, op: &mut O) {
        if self.pacing.stop.operations_per_session == Some(0) {
            return;
        }
        for session in 0..self.pacing.sessions {
            let Source::Closed { pausing, .. } = &mut self.source else {
                self.ready.push_back(session);
                continue;
            };
            match op.first_pause_ns(session) {
                0 => self.ready.push_back(session),
                pause_ns => {
                    let due = self.began.saturating_add(pause_ns);
                    self.sessions[session as usize].due = due;
                    pausing.reserve(self.pacing.sessions as usize - pausing.len());
                    pausing.push(Reverse((due, session)));
                }
            }
        }
    }

    /// Starts what can start, up to one turn.
    #[inline]
    fn start_ready<O: Operation>(&mut self, op: &mut O) -> Result<(), O::Error> {
        for _ in 0..STARTS_PER_TURN {
            let now = op.now();
            if self.limit.is_some_and(|limit| now >= limit) {
                break;
            }
            self.end_pauses(now);
            let Some((session, due)) = self.next_start(now) else {
                break;
            };
            let state = &mut self.sessions[session as usize];
            state.due = due;
            state.start = now;
            match op.start(session, &mut self.done)? {
                Started::Running => {
                    self.under_way += 1;
                    self.take_due();
                }
                // Not put back into the queue. An open due time stays for the next session.
                Started::Exhausted => state.start = IDLE,
            }
            if !self.done.is_empty() {
                self.settle(op);
            }
        }
        Ok(())
    }

    #[inline]
    fn end_pauses(&mut self, now: Nanos) {
        if let Source::Closed { pausing, .. } = &mut self.source {
            while let Some(&Reverse((due, session))) = pausing.peek() {
                if due > now {
                    break;
                }
                pausing.pop();
                self.ready.push_back(session);
            }
        }
    }

    /// The next session that may start now, with the due time of its operation.
    #[inline(always)]
    fn next_start(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        let session = *self.ready.front()?;
        let due = match &mut self.source {
            Source::Closed { .. } => match self.sessions[session as usize].due {
                // The first of a session: nobody waited for it before the loop came by.
                IDLE => now,
                due => due,
            },
            Source::Open { due } => Some(due.next()).filter(|&due| due <= now)?,
            Source::Shared { arrivals, due, lead } => {
                let taken = due.take().or_else(|| arrivals.take_by(now))?;
                // What it waited for has come: the next wait is another one's.
                *lead = None;
                *due.insert(taken)
            }
        };
        self.ready.pop_front();
        Some((session, due))
    }

    fn take_due(&mut self) {
        match &mut self.source {
            Source::Closed { .. } => {}
            Source::Open { due } => _ = due.take(&mut self.random),
            Source::Shared { due, .. } => *due = None,
        }
    }

    /// Books what has ended and sends its sessions back: to the queue, to a pause, or home.
    #[inline]
    fn settle<O: Operation>(&mut self, op: &mut O) {
        for index in 0..self.done.len() {
            let Done {
                session,
                class,
                at,
                units,
            } = self.done[index];
            let state = &mut self.sessions[session as usize];
            assert!(
                state.start != IDLE,
                "session {session} ended an operation that it had not started"
            );
            self.classes[usize::from(class)].record(
                at.saturating_sub(state.start),
                at.saturating_sub(state.due),
                units,
            );
            state.start = IDLE;
            state.count += 1;
            state.due = at;
            let count = state.count;
            self.under_way -= 1;
            self.last_done = self.last_done.max(at);
            self.slices.count(at.saturating_sub(self.began), units);
            if self.limit.is_none_or(|limit| at <= limit) {
                self.in_time_count += 1;
                self.in_time_units += units;
            }
            if self.pacing.stop.operations_per_session.is_none_or(|most| count < most) {
                let own_ns = match self.source {
                    Source::Closed { .. } => op.pause_ns(session),
                    Source::Open { .. } | Source::Shared { .. } => 0,
                };
                self.make_ready(session, at, count, own_ns);
            }
        }
        self.done.clear();
    }

    #[inline(always)]
    fn make_ready(&mut self, session: u32, at: Nanos, count: u64, own_ns: u64) {
        if let Source::Closed { think, pausing } = &mut self.source {
            let thinks = think.filter(|think| count.is_multiple_of(u64::from(think.frequency)));
            if own_ns > 0 || thinks.is_some() {
                let think_ns = thinks.map_or(0, |think| pause_ns(think, &mut self.random));
                let due = at.saturating_add(own_ns).saturating_add(think_ns);
                self.sessions[session as usize].due = due;
                pausing.push(Reverse((due, session)));
                return;
            }
        }
        self.ready.push_back(session);
    }

    /// Until when the operation may wait; `None`: until something ends.
    fn wake(&mut self, now: Nanos) -> Option<Nanos> {
        let next = match &mut self.source {
            Source::Closed { .. } if !self.ready.is_empty() => return Some(now),
            Source::Closed { pausing, .. } => pausing.peek().map(|&Reverse((due, _))| due),
            Source::Open { .. } | Source::Shared { .. } if self.ready.is_empty() => None,
            Source::Open { due } => Some(due.next()),
            // A turn of starts that ended early took none: the next turn does.
            Source::Shared { due: Some(_), .. } => return Some(now),
            Source::Shared { arrivals, lead, .. } => {
                // Who has something under way may not wait for another worker.
                if self.under_way == 0 && lead.is_none() {
                    *lead = Some(arrivals.lead());
                }
                Some(arrivals.next())
            }
        };
        let poll = self.pacing.cancel.as_ref().map(|_| now + CANCEL_POLL_NS);
        [next, self.limit, poll]
            .into_iter()
            .flatten()
            .min()
            .map(|wake| wake.max(now))
    }

    fn cancel_asked(&self) -> bool {
        self.pacing
            .cancel
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// No session will ever start again.
    fn exhausted(&self) -> bool {
        let pausing = match &self.source {
            Source::Closed { pausing, .. } => pausing.len(),
            Source::Open { .. } | Source::Shared { .. } => 0,
        };
        self.under_way == 0 && self.ready.is_empty() && pausing == 0
    }

    fn outcome(mut self, stopped: Nanos, timed_out: bool, cancelled: bool) -> Outcome {
        let count: u64 = self.classes.iter().map(|class| class.count).sum();
        let ended = match self.limit {
            Some(limit) if timed_out => limit.max(self.last_done),
            _ if count > 0 => self.last_done,
            _ => stopped,
        };
        let end = self.limit.map_or(stopped, |limit| limit.min(stopped));
        let unsent = match self.source {
            Source::Open { ref mut due } => due.drain_before(end, &mut self.random),
            Source::Shared { arrivals, due, .. } => {
                u64::from(due.is_some_and(|due| due < end)) + arrivals.untaken_before(end)
            }
            Source::Closed { .. } => 0,
        };
        let counts = || self.sessions.iter().map(|session| session.count);
        Outcome {
            began: self.began,
            ended,
            elapsed_ns: ended - self.began,
            slices: self.slices.finish(ended - self.began),
            in_time_count: self.in_time_count,
            in_time_units: self.in_time_units,
            unsent,
            fairness: (counts().min().unwrap_or(0), counts().max().unwrap_or(0)),
            sessions: self.pacing.sessions,
            cancelled,
            busy_share: None,
            classes: self.classes.into_iter().filter_map(ClassUnderWay::ended).collect(),
        }
    }
}
