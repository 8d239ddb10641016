//! A flash device: dies that work side by side, a write buffer, and collection of blocks as random overwrites wear it.
//!
//! Takes requests, gives times. A write is acknowledged from the buffer while that has room; each unit of it is
//! programmed on one of the dies, whose translation says what had to be moved and erased first. A read goes to the die
//! of its place and interrupts what that programs. It begins written in full, as a LUN does. Prevents: a fresh device's
//! rate told as the rate it keeps.

use super::translation::Translation;
use super::waiting::{Waiting, left_to_waiting};
use super::{Answer, Ask, Command, Counters, DeviceModel};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use targets::Nanos;

/// Blocks that a die has at least, however small the LUN: with fewer, collection goes by steps.
const BLOCKS_MIN: u32 = 32;

/// Parameters of a flash device.
#[derive(Clone, PartialEq, Debug)]
pub struct SsdParameters {
    /// Dies that work at the same time.
    pub dies: u32,
    /// Unit of the translation in bytes.
    pub unit_bytes: u32,
    /// Bytes that are read or programmed at once.
    pub page_bytes: u32,
    /// Bytes that are erased at once; less where the LUN is so small that a die would have fewer than 32 such blocks.
    pub block_bytes: u32,
    /// Space besides the LUN's, as a share of it.
    pub spare: f64,
    /// Time of reading a page, in nanoseconds.
    pub read_ns: u64,
    /// Time of programming a page, in nanoseconds.
    pub program_ns: u64,
    /// Time of erasing a block, in nanoseconds.
    pub erase_ns: u64,
    /// What a read waits for when its die is programming or erasing, in nanoseconds.
    pub suspend_ns: u64,
    /// Controller and bus: part of every request, in nanoseconds.
    pub overhead_ns: u64,
    /// Bytes a second of the bus, both ways.
    pub bus_rate: f64,
    /// Write buffer in bytes; at least a unit.
    pub buffer_bytes: u64,
    /// The buffer is kept without power: a flush has nothing to do.
    pub protected: bool,
}

struct Die {
    translation: Translation,
    /// When it has programmed all it has been given.
    programs_until: Nanos,
    /// When it has read all it has been asked for.
    reads_until: Nanos,
}

/// The device.
pub struct Ssd {
    parameters: SsdParameters,
    dies: Vec<Die>,
    /// Ends of the programs of what lies in the buffer.
    buffered: BinaryHeap<Reverse<Nanos>>,
    bus_until: Nanos,
    acknowledged_by: Nanos,
    /// Written bytes that a cut has taken from the buffer.
    lost_bytes: u64,
    waiting: Waiting,
}

impl Ssd {
    /// A device that holds a LUN of `bytes`, written in full and in order.
    pub fn new(parameters: SsdParameters, bytes: u64) -> Ssd {
        let p = &parameters;
        assert!(
            p.dies > 0 && p.unit_bytes > 0 && p.page_bytes >= p.unit_bytes && p.spare > 0.0,
            "a flash device"
        );
        let units = bytes.div_ceil(u64::from(p.unit_bytes)).div_ceil(u64::from(p.dies)) as u32;
        let per_block = (p.block_bytes / p.unit_bytes).min(units / BLOCKS_MIN).max(1);
        let die = || Die {
            translation: Translation::new(units.max(1), per_block, p.spare),
            programs_until: 0,
            reads_until: 0,
        };
        Ssd {
            dies: (0..p.dies).map(|_| die()).collect(),
            parameters,
            buffered: BinaryHeap::new(),
            bus_until: 0,
            acknowledged_by: 0,
            lost_bytes: 0,
            waiting: Waiting::default(),
        }
    }

    /// Die and unit on it of a unit of the LUN.
    fn place(&self, unit: u64) -> (usize, u32) {
        let dies = u64::from(self.parameters.dies);
        ((unit % dies) as usize, (unit / dies) as u32)
    }

    /// When a transfer of a request that comes at `now` has passed the bus.
    fn transferred(&mut self, now: Nanos, len: u32) -> Nanos {
        let takes = (f64::from(len) / self.parameters.bus_rate * 1e9).round() as u64;
        self.bus_until = self.bus_until.max(now) + takes;
        self.bus_until
    }

    fn units(&self, ask: &Ask) -> std::ops::RangeInclusive<u64> {
        let unit = u64::from(self.parameters.unit_bytes);
        ask.offset / unit..=(ask.offset + u64::from(ask.len).max(1) - 1) / unit
    }

    fn read(&mut self, now: Nanos, ask: &Ask) -> Nanos {
        let p = self.parameters.clone();
        let mut ends = now;
        let per_page = u64::from(p.page_bytes / p.unit_bytes);
        // Units of a request lie on as many dies as there are; those of one page are read at once.
        let mut last: Vec<(usize, u64)> = Vec::new();
        for unit in self.units(ask) {
            let (nth, on_die) = self.place(unit);
            let page = u64::from(on_die) / per_page;
            if last.contains(&(nth, page)) {
                continue;
            }
            last.push((nth, page));
            let die = &mut self.dies[nth];
            let from = die.reads_until.max(now);
            let wait = if die.programs_until > from { p.suspend_ns } else { 0 };
            die.reads_until = from + wait + p.read_ns;
            if die.programs_until > from {
                die.programs_until += wait + p.read_ns;
            }
            ends = ends.max(die.reads_until);
        }
        self.transferred(ends, ask.len) + p.overhead_ns
    }

    fn write(&mut self, now: Nanos, ask: &Ask) -> Nanos {
        let came = self.transferred(now, ask.len) + self.parameters.overhead_ns;
        let room = (self.parameters.buffer_bytes / u64::from(self.parameters.unit_bytes)).max(1) as usize;
        let mut acknowledged = came;
        for unit in self.units(ask) {
            while self.buffered.peek().is_some_and(|end| end.0 <= acknowledged) {
                self.buffered.pop();
            }
            if self.buffered.len() >= room
                && let Some(Reverse(end)) = self.buffered.pop()
            {
                acknowledged = acknowledged.max(end);
            }
            let end = self.program(acknowledged, unit);
            self.buffered.push(Reverse(end));
        }
        acknowledged
    }

    /// Gives a unit to its die; when it will be programmed.
    fn program(&mut self, at: Nanos, unit: u64) -> Nanos {
        let (nth, on_die) = self.place(unit);
        let p = &self.parameters;
        let share = |ns: u64| ns * u64::from(p.unit_bytes) / u64::from(p.page_bytes);
        let die = &mut self.dies[nth];
        let cost = die.translation.write(on_die);
        let moved = u64::from(cost.moved) * (share(p.read_ns) + share(p.program_ns));
        let takes = share(p.program_ns) + moved + u64::from(cost.erased) * p.erase_ns;
        die.programs_until = die.programs_until.max(at) + takes;
        self.waiting.counters.moved_bytes += u64::from(cost.moved) * u64::from(p.unit_bytes);
        die.programs_until
    }

    /// Bytes that lie in the buffer.
    fn buffered_bytes(&self) -> u64 {
        let left = self.buffered.iter().filter(|end| end.0 > self.waiting.now).count() as u64;
        let written = self.waiting.counters.write_bytes - self.lost_bytes;
        (left * u64::from(self.parameters.unit_bytes)).min(written)
    }

    /// When all that was acknowledged is programmed.
    fn programmed_at(&self) -> Nanos {
        self.buffered.iter().map(|end| end.0).max().unwrap_or(0)
    }
}

impl DeviceModel for Ssd {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        let ends = match ask.command {
            Command::Read => self.read(now, &ask),
            Command::Write { through } => {
                let mut at = self.write(now, &ask);
                if through && !self.parameters.protected {
                    at = at.max(self.programmed_at());
                }
                self.acknowledged_by = self.acknowledged_by.max(at);
                at
            }
            Command::Flush if self.parameters.protected => now.max(self.acknowledged_by) + self.parameters.overhead_ns,
            Command::Flush => now.max(self.programmed_at()) + self.parameters.overhead_ns,
        };
        self.waiting.ends_on_the_way(&ask, ends);
    }

    left_to_waiting!(next, advance, answer_sooner);

    fn counters(&self) -> Counters {
        let left = self.buffered_bytes();
        Counters {
            unflushed_bytes: if self.parameters.protected { 0 } else { left },
            destaged_bytes: self.waiting.counters.write_bytes - self.lost_bytes - left,
            ..self.waiting.counters
        }
    }

    /// What is programmed stays, and with it what random overwrites have left; an unprotected buffer is empty, a
    /// protected one has been.
    fn power_cycle(&mut self, now: Nanos) {
        self.waiting.now = now;
        if !self.parameters.protected {
            self.lost_bytes += self.buffered_bytes();
        }
        self.buffered.clear();
        for die in &mut self.dies {
            (die.programs_until, die.reads_until) = (0, 0);
        }
        (self.bus_until, self.acknowledged_by) = (0, 0);
    }

    fn rate_max(&self, len: u32) -> Option<f64> {
        let pages = f64::from(len.div_ceil(self.parameters.page_bytes).max(1));
        let dies = f64::from(self.parameters.dies) * 1e9 / self.parameters.read_ns as f64 / pages;
        Some(dies.min(self.parameters.bus_rate / f64::from(len.max(1))))
    }
}
