//! Requests whose end is known, until it comes; and the time in which there was at least one.
//!
//! Prevents: answers out of order, and a busy time that counts what overlaps twice.

use super::{Answer, Ask, Command, Counters, HELD_LONG_NS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use targets::Nanos;

#[derive(Default)]
pub(super) struct Waiting {
    ends: BinaryHeap<Reverse<Answer>>,
    inside: usize,
    busy_since: Nanos,
}

impl Waiting {
    /// A request has come.
    pub(super) fn came(&mut self, now: Nanos) {
        if self.inside == 0 {
            self.busy_since = now;
        }
        self.inside += 1;
    }

    /// It is known when one ends.
    pub(super) fn ends(&mut self, id: u64, at: Nanos) {
        self.ends.push(Reverse(Answer { at, id }));
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.ends.peek().map(|end| end.0.at)
    }

    /// Hands out what has ended by `now`.
    pub(super) fn advance(&mut self, now: Nanos, counters: &mut Counters, done: &mut Vec<Answer>) {
        while let Some(Reverse(end)) = self.ends.peek().copied()
            && end.at <= now
        {
            self.ends.pop();
            self.inside -= 1;
            if self.inside == 0 {
                counters.busy_ns += end.at - self.busy_since;
            }
            done.push(end);
        }
    }
}

/// Counts a request by its kind.
pub(super) fn count(counters: &mut Counters, ask: &Ask) {
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

/// Counts how long a limit holds a request back.
pub(super) fn count_held(counters: &mut Counters, ask: &Ask, held_ns: Nanos) {
    counters.held_ns += held_ns;
    for (nth, long_ns) in HELD_LONG_NS.into_iter().enumerate() {
        let long = u64::from(held_ns >= long_ns);
        counters.held_long[nth] += long;
        counters.held_long_reads[nth] += if ask.command == Command::Read { long } else { 0 };
    }
}
