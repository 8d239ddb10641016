//! The bare loop: random reads at a fixed depth, nothing else. The ceiling of a place, and of this tool on it.
//!
//! Takes a port, gives [`Measured`]. Prevents an engine from being blamed, or praised, for what the bare port does.

use crate::error::{IoFault, TargetError};
use crate::port::{FileId, Nanos, Op, Port, Request};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Sub-buckets per power of two: a bucket is at most 6.3 % wide.
const SUB: usize = 16;

/// What a bare loop did.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Reads completed in full.
    pub ios: u64,
    /// Reads that failed.
    pub errors: u64,
    /// The first fault, if any.
    pub first_fault: Option<IoFault>,
    /// From the first submit to the end of the drain, in nanoseconds.
    pub elapsed_ns: u64,
    /// Fastest read, submit to completion seen, in nanoseconds.
    pub latency_ns_min: u64,
    /// Slowest read in nanoseconds.
    pub latency_ns_max: u64,
    /// Sum over all reads in nanoseconds.
    pub latency_ns_sum: u64,
    buckets: Vec<u64>,
}

impl Measured {
    fn empty() -> Measured {
        Measured {
            ios: 0,
            errors: 0,
            first_fault: None,
            elapsed_ns: 0,
            latency_ns_min: u64::MAX,
            latency_ns_max: 0,
            latency_ns_sum: 0,
            buckets: vec![0; 64 * SUB],
        }
    }

    /// Reads per second of this loop.
    pub fn rate_per_second(&self) -> f64 {
        if self.elapsed_ns == 0 {
            0.0
        } else {
            self.ios as f64 * 1e9 / self.elapsed_ns as f64
        }
    }

    /// Latency at a share (0 to 1) of all reads, in nanoseconds: the upper edge of its bucket, at most 6.3 % too high.
    pub fn latency_ns_at(&self, share: f64) -> u64 {
        let rank = ((self.ios as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_edge(index).min(self.latency_ns_max);
            }
        }
        self.latency_ns_max
    }

    #[inline]
    fn record(&mut self, latency_ns: u64) {
        self.ios += 1;
        self.latency_ns_min = self.latency_ns_min.min(latency_ns);
        self.latency_ns_max = self.latency_ns_max.max(latency_ns);
        self.latency_ns_sum += latency_ns;
        self.buckets[bucket(latency_ns)] += 1;
    }
}

#[inline]
fn bucket(ns: u64) -> usize {
    let ns = ns.max(SUB as u64);
    let power = ns.ilog2() as usize;
    power * SUB + (ns >> (power - SUB.ilog2() as usize)) as usize % SUB
}

fn upper_edge(bucket: usize) -> u64 {
    let (power, sub) = (bucket / SUB, bucket % SUB);
    ((SUB + sub + 1) as u64)
        .checked_shl(power.saturating_sub(SUB.ilog2() as usize) as u32)
        .unwrap_or(u64::MAX)
        - 1
}

/// Random reads of `block` bytes over the whole of `file`, `depth` in flight, for `seconds` of the port's clock; then drains.
/// The port needs `depth * block` bytes of memory and nothing else in flight.
pub fn measure_reads<P: Port>(
    port: &mut P,
    file: FileId,
    block: u32,
    depth: usize,
    seconds: f64,
    seed: u64,
) -> Result<Measured, TargetError> {
    assert!(
        depth > 0 && depth <= port.depth(),
        "a depth of 1 to the port's {}",
        port.depth()
    );
    assert!(
        port.memory() >= depth as u64 * u64::from(block),
        "memory for {depth} blocks of {block} bytes"
    );
    let blocks = port.size(file)? / u64::from(block);
    let mut found = Measured::empty();
    if blocks == 0 {
        return Ok(found);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut next = |slot: usize| Request {
        op: Op::Read,
        file,
        // Multiply and shift: uniform to within blocks / 2^64.
        offset: ((u128::from(rng.next_u64()) * u128::from(blocks)) >> 64) as u64 * u64::from(block),
        at: slot as u64 * u64::from(block),
        len: block,
        token: slot as u64,
    };
    let mut sent: Vec<Nanos> = vec![0; depth];
    let mut done = Vec::with_capacity(depth);
    let start = port.now();
    let end = start + (seconds * 1e9) as u64;
    for (slot, sent) in sent.iter_mut().enumerate() {
        port.submit(next(slot))?;
        *sent = start;
    }
    let mut now = start;
    while port.in_flight() > 0 {
        done.clear();
        port.wait(1, None, &mut done)?;
        now = port.now();
        for completion in &done {
            let slot = completion.token as usize;
            match completion.result {
                Ok(()) => found.record(now - sent[slot]),
                Err(fault) => {
                    found.errors += 1;
                    found.first_fault.get_or_insert(fault);
                }
            }
            if now < end {
                port.submit(next(slot))?;
                sent[slot] = now;
            }
        }
    }
    found.elapsed_ns = now - start;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, ModelPort};

    #[test]
    fn buckets_hold_their_edges() {
        for ns in [1, 15, 16, 17, 31, 32, 1000, 80_000, 1 << 40, u64::MAX / 3] {
            let edge = upper_edge(bucket(ns));
            assert!(
                edge >= ns && (ns < 32 || edge <= ns + ns / 15),
                "{ns} in a bucket up to {edge}"
            );
        }
    }

    #[test]
    fn the_rate_of_a_model_is_parallel_over_service() {
        let model = Model {
            spread: 0.0,
            parallel: 8,
            tick_ns: 0,
            ..Model::new(&[64 << 20], 1 << 20, 32, 1)
        };
        let mut port = ModelPort::open(model).unwrap();
        let found = measure_reads(&mut port, FileId(0), 8192, 32, 1.0, 1).unwrap();
        // 8 at a time in 80 us: 100,000 a second; 32 in flight wait for four services.
        assert!(
            (found.rate_per_second() / 100_000.0 - 1.0).abs() < 0.001,
            "{}",
            found.rate_per_second()
        );
        assert!(
            (found.latency_ns_at(0.5) as f64 / 320_000.0 - 1.0).abs() < 0.07,
            "{}",
            found.latency_ns_at(0.5)
        );
        assert_eq!((found.latency_ns_min, found.errors), (80_000, 0));
    }
}
