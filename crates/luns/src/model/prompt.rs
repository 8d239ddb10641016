//! No device at all: what is asked is done at once.
//!
//! For LUNs whose times are those of the disk below: power cuts and faults need a service, not a model. Prevents: a
//! second way through the service that only these would take.

use super::waiting::{Waiting, count};
use super::{Answer, Ask, Counters, DeviceModel};
use targets::Nanos;

/// Answers at the moment of asking.
#[derive(Default)]
pub struct Prompt {
    waiting: Waiting,
    counters: Counters,
}

impl DeviceModel for Prompt {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        count(&mut self.counters, &ask);
        self.waiting.came(now);
        self.waiting.ends(ask.id, now);
    }

    fn next(&self) -> Option<Nanos> {
        self.waiting.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        self.waiting.advance(now, &mut self.counters, done);
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
