//! A simulated machine with simulated disks: virtual time, stored content, a write cache that forgets.
//!
//! [`Model`] says what the disks are like, [`ModelPort`] is the window on them, [`Disks`] what they hold. The same seed
//! and the same calls give the same bytes and the same times. Prevents tests of crashes and of verdicts that depend on
//! the machine they run on.

mod cut;
mod disks;
mod port;
mod timing;

pub use disks::Disks;
pub use port::ModelPort;
pub(crate) use timing::uniform;

/// What the modelled disks are like.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// Sizes of the files in bytes.
    pub sizes: Vec<u64>,
    /// Memory of the port in bytes.
    pub memory: u64,
    /// Most requests in flight.
    pub depth: usize,
    /// Alignment asked of requests in bytes; what does not keep to it fails with `EINVAL`, as direct I/O does.
    pub alignment: u32,
    /// Mean time the device takes for up to 8 KiB, in nanoseconds.
    pub service_ns: u64,
    /// Coefficient of variation of the service time (lognormal); 0 is constant.
    pub spread: f64,
    /// Requests the device works on at the same time; at least 1.
    pub parallel: u32,
    /// Mean time of a flush in nanoseconds, with the same spread.
    pub flush_ns: u64,
    /// Bytes per second of what a request moves beyond its first 8 KiB; 0 costs nothing.
    pub transfer_bytes_per_second: u64,
    /// Share of reads (0 to 1) that a cache above the device serves in 2 us.
    pub cached_share: f64,
    /// Each reading of the clock moves it by this many nanoseconds. With 0, a worker that never waits sees time stand
    /// still, and a phase that ends by time never ends.
    pub tick_ns: u64,
    /// Seed of service times and cache hits.
    pub seed: u64,
}

impl Model {
    /// Disks like a good NVMe device: 80 us, 32 at a time, half a millisecond a flush.
    pub fn new(sizes: &[u64], memory: u64, depth: usize, seed: u64) -> Model {
        Model {
            sizes: sizes.to_vec(),
            memory,
            depth,
            alignment: 512,
            service_ns: 80_000,
            spread: 0.2,
            parallel: 32,
            flush_ns: 500_000,
            transfer_bytes_per_second: 2_000_000_000,
            cached_share: 0.0,
            tick_ns: 20,
            seed,
        }
    }
}

crate::counts! {
    /// What the modelled device did: the model's `/proc/diskstats`.
    pub struct Moved {
        /// Reads the device served.
        reads,
        /// Bytes of them.
        read_bytes,
        /// Writes the device served.
        writes,
        /// Bytes of them.
        write_bytes,
        /// Flushes the device served.
        flushes,
        /// Reads served by the cache above the device.
        cached_reads,
        /// Bytes of them.
        cached_bytes,
    }
}

/// When the modelled machine loses its power. Counts start at 1 and run from the opening of the port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PowerFails {
    /// As the nth write is submitted: it is in flight, and may have arrived in part.
    AtWrite(u64),
    /// As the nth flush is submitted: nothing of it is done.
    AtFlush(u64),
    /// When the nth flush has made its writes durable, before anybody hears of it.
    AfterFlush(u64),
}
