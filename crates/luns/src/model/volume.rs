//! A provisioned volume: limits on requests and bytes with burst credit, a latency floor and a tail.
//!
//! Takes requests in order of arrival; each goes when every limit has what it costs, and ends a latency later. Nothing
//! of it is volatile: what is acknowledged is kept, a flush waits for the writes before it. Prevents: a burst taken for
//! what the volume can do for long.

use super::bucket::Bucket;
use super::latency::Latency;
use super::waiting::{Waiting, left_to_waiting};
use super::{Answer, Ask, Command, Counters, DeviceModel};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use targets::Nanos;

/// A limit with its credit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// What it gives for ever, in requests or bytes a second.
    pub per_second: f64,
    /// What can be saved up, in requests or bytes. A limit without burst needs a little: what arrives in one moment.
    pub credit: f64,
}

/// Parameters of a volume.
#[derive(Clone, PartialEq, Debug)]
pub struct VolumeParameters {
    /// Limits on requests; several hold at the same time (a baseline with much credit, and what a burst can do).
    pub requests: Vec<Limit>,
    /// Limits on bytes.
    pub bytes: Vec<Limit>,
    /// A larger request counts as several of this size, in bytes.
    pub request_bytes: u32,
    /// Latency of a read that no limit holds back.
    pub read: Latency,
    /// Latency of a write that no limit holds back.
    pub write: Latency,
}

/// The volume.
pub struct Volume {
    parameters: VolumeParameters,
    requests: Vec<Bucket>,
    bytes: Vec<Bucket>,
    /// The last that went: the next does not overtake it.
    went_at: Nanos,
    written_by: Nanos,
    rng: Xoshiro256PlusPlus,
    waiting: Waiting,
}

impl Volume {
    /// A volume with its credit full.
    pub fn new(parameters: VolumeParameters, seed: u64) -> Volume {
        let fill = |limits: &[Limit]| limits.iter().map(|l| Bucket::new(l.per_second, l.credit)).collect();
        Volume {
            requests: fill(&parameters.requests),
            bytes: fill(&parameters.bytes),
            parameters,
            went_at: 0,
            written_by: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            waiting: Waiting::default(),
        }
    }

    /// Requests that the first limit would let go at once at `now`: what clouds show as the balance.
    pub fn credit(&self, now: Nanos) -> Option<f64> {
        self.requests.first().map(|bucket| bucket.level(now))
    }
}

impl DeviceModel for Volume {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        let shape = match ask.command {
            Command::Read => self.parameters.read,
            _ => self.parameters.write,
        };
        let latency = shape.draw(&mut self.rng);
        if ask.command == Command::Flush {
            self.waiting.ends_on_the_way(&ask, now.max(self.written_by) + latency);
            return;
        }
        let pieces = ask.len.div_ceil(self.parameters.request_bytes).max(1);
        let mut goes_at = now.max(self.went_at);
        for bucket in &mut self.requests {
            goes_at = goes_at.max(bucket.take(now, u64::from(pieces)));
        }
        for bucket in &mut self.bytes {
            goes_at = goes_at.max(bucket.take(now, u64::from(ask.len)));
        }
        self.went_at = goes_at;
        self.waiting.held(&ask, goes_at - now);
        let ends = goes_at + latency;
        if ask.command != Command::Read {
            self.written_by = self.written_by.max(ends);
        }
        self.waiting.ends_on_the_way(&ask, ends);
    }

    left_to_waiting!(next, advance, counters, answer_sooner);

    fn rate_max(&self, len: u32) -> Option<f64> {
        let pieces = f64::from(len.div_ceil(self.parameters.request_bytes).max(1));
        let requests = self.parameters.requests.iter().map(|l| l.per_second / pieces);
        let bytes = self
            .parameters
            .bytes
            .iter()
            .map(|l| l.per_second / f64::from(len.max(1)));
        requests.chain(bytes).reduce(f64::min)
    }
}
