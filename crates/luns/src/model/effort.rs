//! Processors inside an array: what a request takes of them, and what inline reduction takes on top.
//!
//! Takes requests in order with what they cost, gives when a processor has done each; the processors are those of the
//! array, and all its LUNs share them. Prevents: compression that costs nothing, and one that costs the host's time.

use super::{Ask, Command};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use targets::Nanos;

/// What requests take of an array's processors.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Effort {
    /// Processors that work at a time; 0: as many as there are requests.
    pub processors: u32,
    /// Time of one for a read, of any length.
    pub read_ns: Nanos,
    /// The same for a write.
    pub write_ns: Nanos,
    /// What is taken besides on LUNs whose data are reduced.
    pub reduction: Option<ReductionEffort>,
}

/// What inline reduction takes of an array's processors.
#[derive(Clone, PartialEq, Debug)]
pub struct ReductionEffort {
    /// LUNs of the set from this one on are reduced.
    pub from_lun: u16,
    /// Bytes that are compressed at a time.
    pub unit_bytes: u32,
    /// Time of a processor to compress a unit, before the write is acknowledged.
    pub compress_ns: Nanos,
    /// Time of a processor to read a unit that no cache has.
    pub decompress_ns: Nanos,
}

impl Effort {
    /// What this request takes; a cache holds units as they were written.
    pub(super) fn of(&self, ask: &Ask, from_cache: bool) -> Nanos {
        let (usual, unit) = match ask.command {
            Command::Read => (self.read_ns, self.reduction.as_ref().map(|r| r.decompress_ns)),
            Command::Write { .. } => (self.write_ns, self.reduction.as_ref().map(|r| r.compress_ns)),
            Command::Flush => return 0,
        };
        let reduced = self.reduction.as_ref().filter(|r| ask.lun >= r.from_lun && !from_cache);
        let units = reduced.map_or(0, |r| r.units(ask));
        usual.saturating_add(units.saturating_mul(unit.unwrap_or(0)))
    }
}

impl ReductionEffort {
    /// Units that a request touches.
    fn units(&self, ask: &Ask) -> u64 {
        let unit = u64::from(self.unit_bytes.max(1));
        let last = ask.offset + u64::from(ask.len).max(1) - 1;
        last / unit - ask.offset / unit + 1
    }
}

/// The processors, each with the time at which it is free.
pub(super) struct Processors {
    free: BinaryHeap<Reverse<Nanos>>,
}

impl Processors {
    pub(super) fn new(count: u32) -> Processors {
        Processors {
            free: (0..count).map(|_| Reverse(0)).collect(),
        }
    }

    /// When work that comes at `at` begins and ends.
    pub(super) fn work(&mut self, at: Nanos, takes: Nanos) -> (Nanos, Nanos) {
        let Some(mut first) = self.free.peek_mut().filter(|_| takes > 0) else {
            return (at, at.saturating_add(takes));
        };
        let begins = first.0.max(at);
        let ends = begins.saturating_add(takes);
        *first = Reverse(ends);
        (begins, ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(command: Command, lun: u16, offset: u64, len: u32) -> Ask {
        Ask {
            id: 0,
            lun,
            command,
            offset,
            len,
        }
    }

    #[test]
    fn units_that_are_touched_are_paid_for_on_luns_that_are_reduced() {
        let effort = Effort {
            processors: 2,
            read_ns: 100,
            write_ns: 200,
            reduction: Some(ReductionEffort {
                from_lun: 1,
                unit_bytes: 8192,
                compress_ns: 7,
                decompress_ns: 5,
            }),
        };
        let write = Command::Write { through: false };
        assert_eq!(
            effort.of(&ask(Command::Read, 0, 0, 8192), false),
            100,
            "as it was written"
        );
        assert_eq!(effort.of(&ask(Command::Read, 1, 0, 8192), false), 105);
        assert_eq!(effort.of(&ask(Command::Read, 1, 0, 8192), true), 100, "from the cache");
        assert_eq!(effort.of(&ask(Command::Read, 1, 4096, 8192), false), 110, "two in part");
        assert_eq!(effort.of(&ask(write, 1, 0, 1 << 20), false), 200 + 128 * 7);
        assert_eq!(effort.of(&ask(Command::Flush, 1, 0, 0), false), 0);
    }

    #[test]
    fn work_waits_for_a_processor_and_nothing_waits_where_they_are_not_counted() {
        let mut two = Processors::new(2);
        assert_eq!(two.work(10, 5), (10, 15));
        assert_eq!(two.work(10, 7), (10, 17));
        assert_eq!(two.work(10, 5), (15, 20));
        assert_eq!(two.work(10, 0), (10, 10), "what takes nothing waits for nothing");
        let mut any = Processors::new(0);
        assert!((0..100).all(|_| any.work(10, 5) == (10, 15)));
    }
}
