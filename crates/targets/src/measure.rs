//! The bare loop: random reads at a fixed depth, nothing else. The ceiling of a place, and of this tool on it.
//!
//! Takes a port, gives [`Measured`]. Prevents an engine from being blamed, or praised, for what the bare port does.

use crate::error::{IoFault, TargetError};
use crate::port::{FileId, Nanos, Op, Port, Request};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A token is the slot below the time since the start at which it was sent, of which 48 bits are left: 78 hours of
/// nanoseconds.
const SLOT_BITS: u32 = 16;
const SLOT: u64 = (1 << SLOT_BITS) - 1;

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

    /// Latency at a share (0 to 1) of all reads, in nanoseconds: the upper edge of its bucket, at most 6.3 % too high;
    /// 0 when there were none.
    pub fn latency_ns_at(&self, share: f64) -> u64 {
        let rank = ((self.ios as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_edge(index);
            }
        }
        0
    }

    #[inline]
    fn record(&mut self, latency_ns: u64) {
        self.latency_ns_sum += latency_ns;
        self.buckets[bucket(latency_ns)] += 1;
    }
}

/// Below 16 each nanosecond has its own bucket, above it the leading five bits.
#[inline]
fn bucket(ns: u64) -> usize {
    let shift = (ns | SUB as u64).ilog2() - SUB.ilog2();
    shift as usize * SUB + (ns >> shift) as usize
}

fn upper_edge(bucket: usize) -> u64 {
    let shift = (bucket / SUB).saturating_sub(1) as u32;
    let leading = (bucket - shift as usize * SUB) as u64;
    ((u128::from(leading + 1) << shift) - 1) as u64
}

/// When a bare loop stops sending.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After so many seconds of the port's clock.
    Seconds(f64),
    /// After so many reads.
    Reads(u64),
}

/// Random reads of `block` bytes over the whole of the port's first file, `depth` in flight, until told; then drains.
/// The port needs `depth * block` bytes of memory and nothing else in flight.
pub fn measure_reads<P: Port>(
    port: &mut P,
    block: u32,
    depth: usize,
    until: Until,
    seed: u64,
) -> Result<Measured, TargetError> {
    let file = FileId(0);
    let blocks = port.size(file)? / u64::from(block);
    if blocks == 0 {
        return Ok(Measured::empty());
    }
    let mut rng = SplitMix64::seed_from_u64(seed);
    // Multiply and shift: uniform to within blocks / 2^64.
    let place = || {
        let nth = ((u128::from(rng.next_u64()) * u128::from(blocks)) >> 64) as u64;
        (file, nth * u64::from(block))
    };
    measure_places(port, block, depth, until, place)
}

/// The same of any places: `place` gives file and offset of each next read, in bytes.
pub fn measure_places<P: Port>(
    port: &mut P,
    block: u32,
    depth: usize,
    until: Until,
    mut place: impl FnMut() -> (FileId, u64),
) -> Result<Measured, TargetError> {
    assert!(
        depth > 0 && depth <= port.depth() && depth < 1 << SLOT_BITS,
        "a depth of 1 to the port's {}",
        port.depth()
    );
    assert!(
        port.memory() >= depth as u64 * u64::from(block),
        "memory for {depth} blocks of {block} bytes"
    );
    let mut found = Measured::empty();
    let mut next = |slot: u64, now: Nanos| {
        let (file, offset) = place();
        Request {
            op: Op::Read,
            file,
            offset,
            at: slot * u64::from(block),
            len: block,
            token: now << SLOT_BITS | slot,
        }
    };
    let mut done = Vec::with_capacity(depth);
    let start = port.now();
    let (end, mut left) = match until {
        Until::Seconds(seconds) => ((seconds * 1e9) as u64, u64::MAX),
        Until::Reads(count) => (u64::MAX, count),
    };
    for slot in 0..left.min(depth as u64) {
        port.submit(next(slot, 0))?;
        left -= 1;
    }
    let mut now = 0;
    while port.in_flight() > 0 {
        done.clear();
        port.wait(1, None, &mut done)?;
        now = port.now() - start;
        for completion in &done {
            match completion.result {
                Ok(()) => found.record((now << SLOT_BITS | SLOT).wrapping_sub(completion.token) >> SLOT_BITS),
                Err(fault) => {
                    found.errors += 1;
                    found.first_fault.get_or_insert(fault);
                }
            }
            if now < end && left > 0 {
                left -= 1;
                port.submit(next(completion.token & SLOT, now))?;
            }
        }
    }
    found.ios = found.buckets.iter().sum();
    found.elapsed_ns = now;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, ModelPort};

    #[test]
    fn buckets_hold_their_edges() {
        for ns in [1, 15, 16, 17, 31, 32, 1000, 80_000, 1 << 40, u64::MAX / 3, u64::MAX] {
            let edge = upper_edge(bucket(ns));
            assert!(
                edge >= ns && (ns < 32 || edge <= ns.saturating_add(ns / 15)),
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
        let found = measure_reads(&mut port, 8192, 32, Until::Seconds(1.0), 1).unwrap();
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
        // The first eight find the device idle; no read waits for more than four services.
        let (fastest, slowest) = (found.latency_ns_at(0.0), found.latency_ns_at(1.0));
        assert!((80_000..85_000).contains(&fastest), "{fastest}");
        assert!((320_000..341_000).contains(&slowest), "{slowest}");
        assert_eq!(found.errors, 0);
        let found = measure_reads(&mut port, 8192, 32, Until::Reads(1000), 1).unwrap();
        assert_eq!(found.ios, 1000);
    }
}
