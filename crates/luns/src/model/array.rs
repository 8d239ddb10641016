//! A storage array: a shared read cache, a protected write cache, limits of its port and of each LUN, processors, disks
//! behind.
//!
//! Takes requests for any of its LUNs. Each passes the limits and takes its time of a processor. A read is a hit when
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
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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

/// The array.
pub struct Array {
    parameters: ArrayParameters,
    cache: Lru,
    disks: BinaryHeap<Reverse<Nanos>>,
    luns: Vec<[Option<Bucket>; 2]>,
    port: Option<Bucket>,
    processors: Processors,
    /// When the write cache will have been emptied, if nothing more comes; its level is what is destaged until then.
    clean_at: Nanos,
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
            clean_at: 0,
            written_by: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            waiting: Waiting::default(),
        }
    }

    /// When limits and processors have let a request through.
    fn goes_at(&mut self, now: Nanos, ask: &Ask, from_cache: bool) -> Nanos {
        let [requests, bytes] = &mut self.luns[usize::from(ask.lun)];
        let mut at = now;
        if let Some(bucket) = requests {
            at = at.max(bucket.take(now, 1));
        }
        for bucket in [bytes, &mut self.port].into_iter().flatten() {
            at = at.max(bucket.take(now, u64::from(ask.len)));
        }
        let takes = self.parameters.effort.of(ask, from_cache);
        let (begins, ends) = self.processors.work(at, takes);
        // Who waits for a processor would have ended at the same time had it come a little earlier, as with a limit.
        self.waiting.held(ask, begins - now);
        self.waiting.counters.processor_ns += takes;
        ends
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

    fn read(&mut self, now: Nanos, ask: &Ask) -> Nanos {
        let hit = self.touch(ask);
        let at = self.goes_at(now, ask, hit);
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
        self.clean_at = self.clean_at.max(at) + own;
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
}

impl DeviceModel for Array {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        let ends = match ask.command {
            // What was acknowledged is kept: a flush waits for the writes under way.
            Command::Flush => now.max(self.written_by) + self.parameters.hit.draw(&mut self.rng),
            Command::Read => self.read(now, &ask),
            Command::Write { .. } => {
                let at = self.goes_at(now, &ask, false);
                self.write(at, &ask)
            }
        };
        self.waiting.ends_on_the_way(&ask, ends);
    }

    left_to_waiting!(next, advance, answer_sooner);

    fn counters(&self) -> Counters {
        let left = self.clean_at.saturating_sub(self.waiting.now) as f64 / 1e9 * self.parameters.destage_rate;
        let left = (left.round() as u64).min(self.waiting.counters.write_bytes);
        Counters {
            destaged_bytes: self.waiting.counters.write_bytes - left,
            ..self.waiting.counters
        }
    }

    /// Its write cache is kept; its read cache is not.
    fn power_cycle(&mut self, now: Nanos) {
        self.waiting.now = now;
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
