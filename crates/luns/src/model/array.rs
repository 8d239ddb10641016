//! A storage array: a shared read cache, a protected write cache, limits of its port and of each LUN, processors, disks
//! behind.
//!
//! Takes requests for any of its LUNs. One that the limits of its LUN hold back takes nothing of the array until they
//! let it through; then it passes the port and takes its time of a processor. A read is a hit when
//! all its blocks are in the cache (least recently used goes first), else one of the disks behind serves it and its
//! blocks come in. A write is acknowledged from the write cache, which keeps it without power, and destaged at the rate
//! of the disks behind; with the cache full it waits for room. Prevents: a study of an array's cache told as one of its
//! disks.

use super::bucket::Bucket;
use super::effort::{Effort, Processors};
use super::latency::Latency;
use super::lru::Lru;
use super::volume::Limit;
use super::waiting::{Waiting, left_to_waiting};
use super::{Answer, Ask, Command, Counters, DeviceModel};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use targets::Nanos;

/// Parameters of an array.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayParameters {
    /// Read cache in bytes.
    pub read_cache_bytes: u64,
    /// Write cache in bytes; 0: writes go to the disks behind before they are acknowledged.
    pub write_cache_bytes: u64,
    /// Unit of the read cache in bytes.
    pub block_bytes: u32,
    /// Latency of a read hit and of a write that the cache takes.
    pub hit: Latency,
    /// Latency of a read that the disks behind serve.
    pub miss: Latency,
    /// Reads that the disks behind serve at a time.
    pub parallel: u32,
    /// Bytes a second that the disks behind take from the write cache.
    pub destage_rate: f64,
    /// Limit on requests of each LUN.
    pub lun_requests: Option<Limit>,
    /// Limit on bytes of each LUN.
    pub lun_bytes: Option<Limit>,
    /// Limit on bytes of the port that all LUNs share.
    pub port_bytes: Option<Limit>,
    /// What requests take of its processors.
    pub effort: Effort,
}

/// A request and when the limits of its LUN let it through.
#[derive(Clone, Copy)]
struct Passing {
    at: Nanos,
    /// It begins for the array: a little earlier than `at` where it is answered sooner for the way of the host.
    begins: Nanos,
    /// By arrival.
    nth: u64,
    came: Nanos,
    ask: Ask,
}

/// The array.
pub struct Array {
    parameters: ArrayParameters,
    cache: Lru,
    disks: BinaryHeap<Reverse<Nanos>>,
    luns: Vec<[Option<Bucket>; 2]>,
    port: Option<Bucket>,
    processors: Processors,
    /// What limits of LUNs hold back, the next to go first: in order of arrival for each LUN.
    held: BinaryHeap<Reverse<Passing>>,
    /// Flushes that wait for a held write of their LUN, with its number.
    flushes: Vec<(u64, Passing)>,
    came: u64,
    /// When the write cache will have been emptied, if nothing more comes.
    clean_at: Nanos,
    /// From when to when the disks behind take from it, in order and apart.
    destaging: VecDeque<(Nanos, Nanos)>,
    /// Written bytes that a cut has caught before they were in the cache.
    lost_bytes: u64,
    written_by: Nanos,
    rng: Xoshiro256PlusPlus,
    waiting: Waiting,
}

impl Array {
    /// An array with cold caches and that many LUNs.
    pub fn new(parameters: ArrayParameters, luns: u16, seed: u64) -> Array {
        let fill = |limit: Option<Limit>| limit.map(|l| Bucket::new(l.per_second, l.credit));
        let p = &parameters;
        Array {
            cache: Lru::new((p.read_cache_bytes / u64::from(p.block_bytes)) as usize),
            disks: (0..p.parallel.max(1)).map(|_| Reverse(0)).collect(),
            luns: (0..luns).map(|_| [fill(p.lun_requests), fill(p.lun_bytes)]).collect(),
            port: fill(p.port_bytes),
            processors: Processors::new(p.effort.processors),
            parameters,
            held: BinaryHeap::new(),
            flushes: Vec::new(),
            came: 0,
            clean_at: 0,
            destaging: VecDeque::new(),
            lost_bytes: 0,
            written_by: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            waiting: Waiting::default(),
        }
    }

    /// When the limits of its LUN let a request through.
    fn let_through(&mut self, now: Nanos, ask: &Ask) -> Nanos {
        let [requests, bytes] = &mut self.luns[usize::from(ask.lun)];
        let mut at = now;
        if let Some(bucket) = requests {
            at = at.max(bucket.take(now, 1));
        }
        if let Some(bucket) = bytes {
            at = at.max(bucket.take(now, u64::from(ask.len)));
        }
        at
    }

    /// When the port and a processor have done their part. Both take requests in order, whatever LUN they are of: a
    /// time ahead is no other's.
    fn goes_at(&mut self, one: &Passing, from_cache: bool) -> Nanos {
        let port = self.port.as_mut();
        let at = port.map_or(one.at, |bucket| bucket.take(one.at, u64::from(one.ask.len)));
        let takes = self.parameters.effort.of(&one.ask, from_cache);
        let (begins, ends) = self.processors.work(at, takes);
        // Who waits for a processor would have ended at the same time had it come a little earlier, as with a limit.
        self.waiting.held(&one.ask, begins - one.came);
        self.waiting.counters.processor_ns += takes;
        ends
    }

    /// Its time has come: now it takes what it needs.
    fn begin(&mut self, one: &Passing) {
        self.waiting.now = one.begins;
        let ends = match one.ask.command {
            // What was acknowledged is kept: a flush waits for the writes under way.
            Command::Flush => one.at.max(self.written_by) + self.parameters.hit.draw(&mut self.rng),
            Command::Read => self.read(one),
            Command::Write { .. } => {
                let at = self.goes_at(one, false);
                self.write(at, &one.ask)
            }
        };
        self.waiting.ends_on_the_way(&one.ask, ends);
    }

    /// Begins all that limits of LUNs let through by `now`, each at its own time.
    fn begin_held(&mut self, now: Nanos) {
        while let Some(Reverse(one)) = self.held.peek().copied()
            && one.begins <= now
        {
            self.held.pop();
            self.begin(&one);
            let due = self.flushes.extract_if(.., |(after, _)| *after == one.nth);
            for (_, flush) in due.collect::<Vec<_>>() {
                let (at, begins) = (one.at, one.begins);
                self.begin(&Passing { at, begins, ..flush });
            }
        }
    }

    /// The last write that a limit of this LUN holds back.
    fn last_held_write(&self, lun: u16) -> Option<u64> {
        let writes = |one: &Passing| one.ask.lun == lun && matches!(one.ask.command, Command::Write { .. });
        let held = self.held.iter().map(|Reverse(one)| one);
        held.filter(|one| writes(one)).map(|one| one.nth).max()
    }

    /// Whether all blocks of a request are cached; they are afterwards.
    fn touch(&mut self, ask: &Ask) -> bool {
        let block = u64::from(self.parameters.block_bytes);
        let first = ask.offset / block;
        let last = (ask.offset + u64::from(ask.len).max(1) - 1) / block;
        let mut all = true;
        for nth in first..=last {
            all &= self.cache.touch(u64::from(ask.lun) << 48 | nth);
        }
        all
    }

    fn read(&mut self, one: &Passing) -> Nanos {
        let hit = self.touch(&one.ask);
        let at = self.goes_at(one, hit);
        if hit {
            self.waiting.counters.cache_hits += 1;
            return at + self.parameters.hit.draw(&mut self.rng);
        }
        self.waiting.counters.cache_misses += 1;
        self.on_a_disk(at)
    }

    /// When the disk that is free first has done something.
    fn on_a_disk(&mut self, at: Nanos) -> Nanos {
        let takes = self.parameters.miss.draw(&mut self.rng);
        let mut disk = self.disks.peek_mut().expect("an array has at least one disk");
        let ends = disk.0.max(at) + takes;
        *disk = Reverse(ends);
        ends
    }

    /// When a write is acknowledged: as soon as the cache has room for it, or when a disk has it where there is no such
    /// cache.
    fn write(&mut self, at: Nanos, ask: &Ask) -> Nanos {
        self.touch(ask);
        let rate = self.parameters.destage_rate;
        let destage = |bytes: f64| (bytes / rate * 1e9).round() as u64;
        let whole = destage(self.parameters.write_cache_bytes as f64);
        let own = destage(f64::from(ask.len));
        // There is room when what lies before it takes no longer to destage than a full cache less this write.
        let room_at = self.clean_at.saturating_sub(whole.saturating_sub(own));
        self.destage(self.clean_at.max(at), own);
        let in_cache = self.parameters.write_cache_bytes >= u64::from(ask.len);
        let ends = if in_cache {
            at.max(room_at) + self.parameters.hit.draw(&mut self.rng)
        } else {
            let done = self.on_a_disk(at);
            done.max(self.clean_at)
        };
        self.written_by = self.written_by.max(ends);
        ends
    }

    /// The disks behind take from the cache for so long, from then on.
    fn destage(&mut self, from: Nanos, takes: Nanos) {
        self.clean_at = from + takes;
        match self.destaging.back_mut() {
            Some(last) if last.1 == from => last.1 = self.clean_at,
            _ => self.destaging.push_back((from, self.clean_at)),
        }
        let now = self.waiting.now;
        while self.destaging.front().is_some_and(|first| first.1 <= now) {
            self.destaging.pop_front();
        }
    }

    /// Bytes that limits of LUNs hold back.
    fn held_bytes(&self) -> u64 {
        let writes = |one: &&Passing| matches!(one.ask.command, Command::Write { .. });
        let held = self.held.iter().map(|Reverse(one)| one);
        held.filter(writes).map(|one| u64::from(one.ask.len)).sum()
    }
}

impl PartialEq for Passing {
    fn eq(&self, other: &Passing) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Passing {}

impl PartialOrd for Passing {
    fn partial_cmp(&self, other: &Passing) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Passing {
    fn cmp(&self, other: &Passing) -> Ordering {
        (self.begins, self.nth).cmp(&(other.begins, other.nth))
    }
}

impl DeviceModel for Array {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        let (nth, came) = (self.came, now);
        self.came += 1;
        let sooner = self.waiting.sooner;
        let one = |at: Nanos| Passing {
            at,
            begins: at.saturating_sub(sooner).max(now),
            nth,
            came,
            ask,
        };
        if ask.command == Command::Flush {
            match self.last_held_write(ask.lun) {
                Some(after) => self.flushes.push((after, one(now))),
                None => self.begin(&one(now)),
            }
            return;
        }
        let one = one(self.let_through(now, &ask));
        if one.begins > now {
            self.held.push(Reverse(one));
        } else {
            self.begin(&one);
        }
    }

    fn next(&self) -> Option<Nanos> {
        let held = self.held.peek().map(|Reverse(one)| one.begins);
        self.waiting.next().into_iter().chain(held).min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        self.begin_held(now);
        self.waiting.advance(now, done);
    }

    left_to_waiting!(answer_sooner);

    fn counters(&self) -> Counters {
        let now = self.waiting.now;
        let left_ns = |(from, until): &(Nanos, Nanos)| until.saturating_sub(now.max(*from));
        let left_ns: Nanos = self.destaging.iter().map(left_ns).sum();
        let left = (left_ns as f64 / 1e9 * self.parameters.destage_rate).round() as u64;
        let written = self.waiting.counters.write_bytes - self.lost_bytes;
        Counters {
            destaged_bytes: written.saturating_sub(left + self.held_bytes()),
            ..self.waiting.counters
        }
    }

    /// Its write cache is kept; its read cache is not.
    fn power_cycle(&mut self, now: Nanos) {
        self.waiting.now = now;
        self.lost_bytes += self.held_bytes();
        let held = self.held.drain().map(|Reverse(one)| one);
        for one in held.chain(self.flushes.drain(..).map(|(_, flush)| flush)) {
            self.waiting.ends(one.ask.id, now);
        }
        let p = &self.parameters;
        self.cache = Lru::new((p.read_cache_bytes / u64::from(p.block_bytes)) as usize);
        self.disks = (0..p.parallel.max(1)).map(|_| Reverse(0)).collect();
        self.processors = Processors::new(p.effort.processors);
    }

    fn rate_max(&self, len: u32) -> Option<f64> {
        let luns = self.luns.len() as f64;
        let of = |limit: Option<Limit>, each: f64, times: f64| limit.map(|l| l.per_second / each * times);
        let p = &self.parameters;
        [
            of(p.lun_requests, 1.0, luns),
            of(p.lun_bytes, f64::from(len.max(1)), luns),
            of(p.port_bytes, f64::from(len.max(1)), 1.0),
            (p.effort.processors > 0 && p.effort.read_ns > 0)
                .then(|| f64::from(p.effort.processors) * 1e9 / p.effort.read_ns as f64),
        ]
        .into_iter()
        .flatten()
        .reduce(f64::min)
    }
}
