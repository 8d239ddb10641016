//! No device at all: what is asked is done at once.
//!
//! For LUNs whose times are those of the disk below: power cuts and faults need a service, not a model. Prevents: a
//! second way through the service that only these would take.

use super::waiting::{Waiting, left_to_waiting};
use super::{Answer, Ask, Counters, DeviceModel};
use targets::Nanos;

/// Answers at the moment of asking.
#[derive(Default)]
pub struct Prompt {
    waiting: Waiting,
}

impl DeviceModel for Prompt {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        self.waiting.ends(ask.id, now);
    }

    left_to_waiting!(next, advance, counters);
}
