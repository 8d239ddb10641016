//! Requests whose end is known, until it comes; and the time in which there was at least one.
//!
//! Prevents: answers out of order, and a busy time that counts what overlaps twice.

use super::{Answer, Ask, Command, Counters, HELD_LONG_NS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use targets::Nanos;

/// The requests of a device, and what it did.
#[derive(Default)]
pub(super) struct Waiting {
    ends: BinaryHeap<Reverse<Answer>>,
    inside: usize,
    busy_since: Nanos,
    /// The host's way takes so much of each request.
    pub(super) sooner: Nanos,
    /// The moment of the last call.
    pub(super) now: Nanos,
    pub(super) counters: Counters,
}

impl Waiting {
    /// A request has come.
    pub(super) fn came(&mut self, now: Nanos, ask: &Ask) {
        self.now = now;
        if self.inside == 0 {
            self.busy_since = now;
        }
        self.inside += 1;
        let counters = &mut self.counters;
        match ask.command {
            Command::Read => {
                counters.reads += 1;
                counters.read_bytes += u64::from(ask.len);
            }
            Command::Write { .. } => {
                counters.writes += 1;
                counters.write_bytes += u64::from(ask.len);
            }
            Command::Flush => counters.flushes += 1,
        }
    }

    /// A limit holds a request back so long, or it waits for a processor.
    pub(super) fn held(&mut self, ask: &Ask, held_ns: Nanos) {
        self.counters.held_ns += held_ns;
        for (nth, long_ns) in HELD_LONG_NS.into_iter().enumerate() {
            let long = u64::from(held_ns >= long_ns);
            self.counters.held_long[nth] += long;
            self.counters.held_long_reads[nth] += if ask.command == Command::Read { long } else { 0 };
        }
    }

    /// It is known when one ends that has just come: what the host's way takes of that is the host's.
    pub(super) fn ends_on_the_way(&mut self, ask: &Ask, at: Nanos) {
        let sooner = self.sooner.min(at.saturating_sub(self.now));
        self.counters.sooner_ns += sooner;
        self.counters.sooner_reads_ns += if ask.command == Command::Read { sooner } else { 0 };
        self.ends(ask.id, at - sooner);
    }

    /// It is known when one ends.
    pub(super) fn ends(&mut self, id: u64, at: Nanos) {
        self.ends.push(Reverse(Answer { at, id }));
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.ends.peek().map(|end| end.0.at)
    }

    /// Hands out what has ended by `now`.
    pub(super) fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        self.now = now;
        while let Some(Reverse(end)) = self.ends.peek().copied()
            && end.at <= now
        {
            self.ends.pop();
            self.inside -= 1;
            if self.inside == 0 {
                self.counters.busy_ns += end.at - self.busy_since;
            }
            done.push(end);
        }
    }
}

/// Methods of `DeviceModel` that a device leaves to its `waiting`: it knows the end of a request when that comes.
macro_rules! left_to_waiting {
    ($($method:ident),+) => { $($crate::model::waiting::left_to_waiting!(@ $method);)+ };
    (@ next) => { fn next(&self) -> Option<Nanos> { self.waiting.next() } };
    (@ advance) => { fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) { self.waiting.advance(now, done); } };
    (@ counters) => { fn counters(&self) -> Counters { self.waiting.counters } };
    (@ answer_sooner) => { fn answer_sooner(&mut self, by: Nanos) { self.waiting.sooner = by; } };
}
pub(super) use left_to_waiting;
