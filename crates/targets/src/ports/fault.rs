//! A port that misbehaves on purpose: errors, short, torn and lost transfers, late completions, a slower device.
//!
//! Takes any port and [`FaultRule`]s, passes everything else through. Prevents recovery and verdicts that were never
//! tried against what storage does on a bad day.

use crate::clock::monotonic_ns;
use crate::error::{IoFault, TargetError};
use crate::left_to;
use crate::model::uniform;
use crate::port::{Completion, Nanos, Op, Port, Request};
use crate::ports::pause::Pause;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// Not done; reported as this errno.
    Error(i32),
    /// Only a part is moved, and reported so.
    Short,
    /// Only the first sectors of a write arrive; reported as done. A read or flush is not touched.
    Torn,
    /// Never done, reported as done (a read leaves memory as it was).
    Lost,
    /// Handed out later than it was done. At most one such rule holds for a request: the first that applies.
    Late(Delay),
    /// The device stands still for `share / (1 + share)` of the time, so that at any depth and any number of workers it
    /// does `1 / (1 + share)` of its work. Requests wait, none is treated alone: `op` is ignored, and [`When::Nth`]
    /// says from which request on.
    Slow {
        /// 0.2: a fifth slower.
        share: f64,
    },
    /// The device stands still once, from the request that [`When::Nth`] names, of any kind.
    Stall {
        /// Nanoseconds.
        ns: u64,
    },
}

/// How late.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Delay {
    /// This share of the request's own time longer. Lowers a closed loop's rate only where the depth is what limits it:
    /// a saturated device has others to serve meanwhile; see [`Fault::Slow`].
    Share(f64),
    /// Nanoseconds longer.
    Fixed(u64),
}

/// Which requests a rule takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum When {
    /// The nth that the rule's `op` lets in, from 1.
    Nth(u64),
    /// Each with this probability.
    Random(f64),
    /// Each.
    Always,
}

/// One thing that goes wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FaultRule {
    /// What.
    pub fault: Fault,
    /// Of which kind of request; `None`: of any.
    pub op: Option<Op>,
    /// To which of them.
    pub when: When,
}

impl FaultRule {
    /// A fault of the nth request (from 1) of a kind.
    pub fn nth(fault: Fault, op: Option<Op>, nth: u64) -> FaultRule {
        FaultRule {
            fault,
            op,
            when: When::Nth(nth),
        }
    }

    /// A fault of every request.
    pub fn always(fault: Fault) -> FaultRule {
        FaultRule {
            fault,
            op: None,
            when: When::Always,
        }
    }
}

/// A sleep of the kernel is this much too long; the rest of a delay is spun away.
const SLEEP_SLACK_NS: u64 = 60_000;
const SECTOR: u32 = 512;

#[derive(Clone, Copy)]
struct Slot {
    token: u64,
    sent_at: Nanos,
    late: Option<Delay>,
    /// What the completion says when the part that was done is done.
    says: Result<(), IoFault>,
}

/// A port with faults.
pub struct FaultPort<P> {
    inner: P,
    rules: Vec<(FaultRule, u64)>,
    rng: Xoshiro256PlusPlus,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Completions that wait for their time: by due time and order.
    held: BTreeMap<(Nanos, u64), Completion>,
    order: u64,
    scratch: Vec<Completion>,
    pause: Option<Pause>,
    /// The request from which on the pause holds.
    pause_from: u64,
    /// The request at which the device stands still, and for how long.
    stall: Option<(u64, u64)>,
    stalled_until: Option<Nanos>,
    /// Requests taken so far.
    taken: u64,
    /// Requests that came while the device stands still.
    stopped: VecDeque<Request>,
    /// Stamps are needed for lateness and for the pause only.
    timed: bool,
    real_clock: bool,
    injected: u64,
}

impl<P: Port> FaultPort<P> {
    /// Wraps a port. The seed decides [`When::Random`] and where a write is torn.
    pub fn new(inner: P, rules: &[FaultRule], seed: u64) -> FaultPort<P> {
        let nth = |when: When| if let When::Nth(n) = when { n } else { 0 };
        let slow = rules.iter().find_map(|r| match r.fault {
            Fault::Slow { share } => Some((share, nth(r.when))),
            _ => None,
        });
        let stall = rules.iter().find_map(|r| match r.fault {
            Fault::Stall { ns } => Some((nth(r.when), ns)),
            _ => None,
        });
        let real_clock = inner.now().abs_diff(monotonic_ns()) < 1_000_000;
        FaultPort {
            rules: rules
                .iter()
                .filter(|r| !matches!(r.fault, Fault::Slow { .. } | Fault::Stall { .. }))
                .map(|&r| (r, 0))
                .collect(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            slots: Vec::with_capacity(inner.depth()),
            free: Vec::with_capacity(inner.depth()),
            held: BTreeMap::new(),
            order: 0,
            scratch: Vec::with_capacity(inner.depth()),
            pause: slow.map(|(share, _)| Pause::new(share)),
            pause_from: slow.map_or(0, |(_, from)| from),
            stall,
            stalled_until: None,
            taken: 0,
            stopped: VecDeque::new(),
            timed: slow.is_some() || stall.is_some() || rules.iter().any(|r| matches!(r.fault, Fault::Late(_))),
            real_clock,
            injected: 0,
            inner,
        }
    }

    /// Requests that a rule took so far ([`Fault::Slow`] and [`Fault::Stall`] not counted).
    pub fn injected(&self) -> u64 {
        self.injected
    }

    /// The port inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// The port inside, to change.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    /// The faults that take this request: at most one of the transfer, at most one delay.
    fn decide(&mut self, op: Op) -> (Option<Fault>, Option<Delay>) {
        let (mut broken, mut late) = (None, None);
        for (rule, seen) in &mut self.rules {
            if rule.op.is_some_and(|wanted| wanted != op) {
                continue;
            }
            *seen += 1;
            let takes = match rule.when {
                When::Nth(n) => *seen == n,
                When::Random(probability) => uniform(&mut self.rng) < probability,
                When::Always => true,
            };
            if !takes {
                continue;
            }
            match rule.fault {
                Fault::Late(delay) if late.is_none() => late = Some(delay),
                Fault::Late(_) | Fault::Slow { .. } | Fault::Stall { .. } => continue,
                Fault::Torn if op != Op::Write => continue,
                fault if broken.is_none() => broken = Some(fault),
                _ => continue,
            }
            self.injected += 1;
        }
        (broken, late)
    }

    /// How much of a transfer is done when not all of it is: a random number of whole sectors, less than all.
    fn part_of(&mut self, len: u32) -> u32 {
        let sector = self.inner.alignment().max(SECTOR);
        let sectors = u64::from(len.div_ceil(sector)).max(1);
        (self.rng.next_u64() % sectors) as u32 * sector
    }

    fn hold(&mut self, due: Nanos, completion: Completion) {
        self.order += 1;
        self.held.insert((due, self.order), completion);
    }

    fn send(&mut self, request: Request) -> Result<(), TargetError> {
        let (broken, late) = self.decide(request.op);
        let now = if self.timed { self.inner.now() } else { 0 };
        let mut part = request;
        let mut says = Ok(());
        match broken {
            Some(Fault::Error(errno)) => (part.len, says) = (0, Err(IoFault::Errno(errno))),
            Some(Fault::Lost) => part.len = 0,
            Some(Fault::Torn) => part.len = self.part_of(request.len),
            Some(Fault::Short) => {
                part.len = self.part_of(request.len);
                says = Err(IoFault::Short {
                    got: part.len,
                    wanted: request.len,
                });
            }
            _ => {}
        }
        if broken.is_some() && part.len == 0 {
            // Nothing reaches the device; it is reported at once, or as late as asked.
            let due = now + if let Some(Delay::Fixed(ns)) = late { ns } else { 0 };
            let (token, result) = (request.token, says);
            self.hold(due, Completion { token, result });
            return Ok(());
        }
        let slot = Slot {
            token: request.token,
            sent_at: now,
            late,
            says,
        };
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(index as usize) {
            Some(old) => *old = slot,
            None => self.slots.push(slot),
        }
        part.token = u64::from(index);
        self.inner.submit(part).inspect_err(|_| self.free.push(index))
    }

    /// Takes what the port inside has finished: to `done`, or to be held until due.
    fn settle(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for finished in scratch.drain(..) {
            let slot = self.slots[finished.token as usize];
            self.free.push(finished.token as u32);
            let completion = Completion {
                token: slot.token,
                result: finished.result.and(slot.says),
            };
            let service = now.saturating_sub(slot.sent_at);
            if let Some(pause) = &mut self.pause {
                pause.observe(service);
            }
            match slot.late {
                None => done.push(completion),
                Some(Delay::Fixed(ns)) => self.hold(now + ns, completion),
                Some(Delay::Share(share)) => self.hold(now + (service as f64 * share) as u64, completion),
            }
        }
        self.scratch = scratch;
    }

    fn hand_out_due(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= now) {
            done.push(first.remove());
        }
    }

    /// Sends what waited for the device to go on; the time it will, when it stands still.
    fn send_stopped(&mut self) -> Result<Option<Nanos>, TargetError> {
        while let Some(&request) = self.stopped.front() {
            let now = self.inner.now();
            if let Some(opens_at) = self.closed_until(now) {
                return Ok(Some(opens_at));
            }
            self.stopped.pop_front();
            self.send(request)?;
        }
        Ok(None)
    }

    /// Until when the device stands still, if it does.
    fn closed_until(&self, now: Nanos) -> Option<Nanos> {
        if let Some(until) = self.stalled_until.filter(|until| now < *until) {
            return Some(until);
        }
        let pause = self.pause.as_ref().filter(|_| self.taken >= self.pause_from)?;
        pause.closed_until(now)
    }

    /// The clock where it matters: without lateness or pauses nothing is ever due later than at once.
    fn time(&self, until: Option<Nanos>) -> Nanos {
        if self.timed || until.is_some() {
            self.inner.now()
        } else {
            0
        }
    }
}

impl<P: Port> Port for FaultPort<P> {
    left_to!(inner: now, memory, bytes, bytes_mut, alignment, depth, size, grow, extents, waker);

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.held.len() + self.stopped.len()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.in_flight() >= self.inner.depth() {
            return Err(TargetError::TooDeep {
                depth: self.inner.depth(),
            });
        }
        self.taken += 1;
        if let Some((nth, ns)) = self.stall
            && self.taken == nth
        {
            self.stalled_until = Some(self.inner.now() + ns);
        }
        let stops = self.pause.is_some() || self.stalled_until.is_some();
        if stops && (!self.stopped.is_empty() || self.closed_until(self.inner.now()).is_some()) {
            self.stopped.push_back(request);
            return Ok(());
        }
        self.send(request)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        loop {
            let opens_at = self.send_stopped()?;
            self.hand_out_due(self.time(until), done);
            let want = min.saturating_sub(done.len() - before);
            let due = self.held.first_key_value().map(|(held, _)| held.0);
            let own = due.into_iter().chain(opens_at).min();
            let mut bound = own.into_iter().chain(until).min();
            let mut asked = want;
            if self.real_clock
                && want > 0
                && let Some(own) = own
            {
                // A sleep ends late; so sleep short of what is due, and look again and again at the end.
                let near = own.saturating_sub(SLEEP_SLACK_NS);
                asked = if self.inner.now() >= near { 0 } else { want };
                bound = Some(near).into_iter().chain(until).min();
            }
            let mut scratch = std::mem::take(&mut self.scratch);
            let waited = self.inner.wait(asked, bound, &mut scratch);
            let came = scratch.len();
            self.scratch = scratch;
            let now = self.time(until);
            self.settle(now, done);
            waited?;
            self.hand_out_due(now, done);
            let ended_early = asked > 0 && came < asked && bound.is_none_or(|bound| now < bound);
            if done.len() - before >= min || ended_early || until.is_some_and(|until| now >= until) {
                return Ok(());
            }
        }
    }
}
