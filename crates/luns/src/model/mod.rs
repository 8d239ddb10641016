//! Devices by calculation: what a disk, an array, a cloud volume or a flash device would have taken for a request.
//!
//! A [`DeviceModel`] takes requests with their time of arrival and gives each one's time of completion. It has no clock
//! and moves no data: whoever serves real requests by it waits until the time that it says, whoever computes jumps
//! there. The same parameters, seed and calls give the same times. Prevents: a modelled device that is only as regular
//! as the machine it runs on, and a model that nobody can hold against theory.

mod array;
mod bucket;
mod custom;
mod effort;
mod geometry;
mod hdd;
mod latency;
mod lru;
mod named;
mod presets;
mod prompt;
mod slow;
mod ssd;
mod translation;
mod volume;
mod waiting;

pub use array::{Array, ArrayParameters};
pub use bucket::Bucket;
pub use custom::{Custom, CustomError, CustomParameters, Histogram};
pub use effort::{Effort, ReductionEffort};
pub use geometry::{Geometry, Platters, SeekTimes};
pub use hdd::{Hdd, HddParameters, QUEUE_MAX};
pub use latency::Latency;
pub use named::{NamedError, array, hdd, named, ssd, volume};
pub use presets::{Preset, array_preset, hdd_preset, presets, ssd_preset, volume_preset};
pub use prompt::Prompt;
pub use slow::Slow;
pub use ssd::{Ssd, SsdParameters};
pub use volume::{Limit, Volume, VolumeParameters};

use targets::Nanos;

/// What is asked of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Read.
    Read,
    /// Write; `through` is FUA: on stable storage before it is acknowledged.
    Write {
        /// Not acknowledged from a volatile cache.
        through: bool,
    },
    /// All that was acknowledged is on stable storage before this is.
    Flush,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The caller's name for it; unique among those in flight.
    pub id: u64,
    /// LUN of the set.
    pub lun: u16,
    /// What to do.
    pub command: Command,
    /// Offset on the LUN in bytes; 0 for a flush.
    pub offset: u64,
    /// Length in bytes; 0 for a flush.
    pub len: u32,
}

/// The end of one request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Answer {
    /// When it is done: exact, and never later than the time that was asked for.
    pub at: Nanos,
    /// Which request.
    pub id: u64,
}

/// A request that a limit holds back would have ended at the same time had it come a little earlier: a host whose way
/// to the device is short beside that gets the limit's rate all the same. So long is long, in nanoseconds: in steps of
/// two, for in slow motion each of them is longer by its factor.
pub const HELD_LONG_NS: [Nanos; 10] = [
    50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000, 6_400_000, 12_800_000, 25_600_000,
];

/// What a model did since it was made. Times in nanoseconds of its clock, volumes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Reads done.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Writes done.
    pub writes: u64,
    /// Bytes of them.
    pub write_bytes: u64,
    /// Flushes done.
    pub flushes: u64,
    /// Movements of an arm to another track.
    pub seeks: u64,
    /// Time of them.
    pub seek_ns: u64,
    /// Time waited for a sector to come round.
    pub rotation_ns: u64,
    /// Reads served by a cache inside the device.
    pub cache_hits: u64,
    /// Reads that were not.
    pub cache_misses: u64,
    /// Acknowledged bytes that lie in a volatile cache now.
    pub unflushed_bytes: u64,
    /// Bytes that went from a write cache to where they stay.
    pub destaged_bytes: u64,
    /// Time requests were held back by a limit on rate, or waited for a processor of the device.
    pub held_ns: u64,
    /// Requests that were held back so by each of [`HELD_LONG_NS`] or more.
    pub held_long: [u64; HELD_LONG_NS.len()],
    /// Of them, reads.
    pub held_long_reads: [u64; HELD_LONG_NS.len()],
    /// Bytes moved inside the device to make room (flash).
    pub moved_bytes: u64,
    /// Time that processors of the device worked for requests, summed over them.
    pub processor_ns: u64,
    /// Time in which the device had at least one request.
    pub busy_ns: u64,
    /// What answers came sooner by, for the way of the host.
    pub sooner_ns: u64,
    /// Of it, of reads.
    pub sooner_reads_ns: u64,
}

/// A device by calculation. Time only goes forward: no call may have a `now` before that of the call before.
pub trait DeviceModel: Send {
    /// Takes a request that arrives now; [`DeviceModel::advance`] to `now` comes first.
    fn submit(&mut self, now: Nanos, ask: Ask);

    /// When something happens next: [`DeviceModel::advance`] then. `None`: nothing, until a request arrives.
    fn next(&self) -> Option<Nanos>;

    /// Lets time go on to `now` and pushes what was done by then, in order of time.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>);

    /// What it did so far.
    fn counters(&self) -> Counters;

    /// The power was off and is back at `now`: what lay in volatile memory is gone, and what was asked for ends, at
    /// `now` where it was not known when; [`DeviceModel::advance`] to `now` comes before and after.
    fn power_cycle(&mut self, now: Nanos) {
        let _ = now;
    }

    /// Answers each request that much sooner than the device would, from the next on: the host's way to the device and
    /// back takes it. Devices that do not know the end of a request when it comes do not.
    fn answer_sooner(&mut self, by: Nanos) {
        let _ = by;
    }

    /// The highest rate it can do, requests per second of `len` bytes, where a formula says so: what a real-time
    /// service of it must be able to carry.
    fn rate_max(&self, len: u32) -> Option<f64> {
        let _ = len;
        None
    }
}

/// Independent devices side by side, one for each LUN.
pub struct Each<M> {
    devices: Vec<M>,
}

impl<M: DeviceModel> Each<M> {
    /// LUN n is the nth device.
    pub fn new(devices: Vec<M>) -> Each<M> {
        Each { devices }
    }
}

impl<M: DeviceModel> DeviceModel for Each<M> {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.devices[usize::from(ask.lun)].submit(now, ask);
    }

    fn next(&self) -> Option<Nanos> {
        self.devices.iter().filter_map(DeviceModel::next).min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        let from = done.len();
        for device in &mut self.devices {
            device.advance(now, done);
        }
        done[from..].sort();
    }

    fn counters(&self) -> Counters {
        self.devices
            .iter()
            .map(DeviceModel::counters)
            .fold(Counters::default(), |a, b| a.plus(&b))
    }

    fn power_cycle(&mut self, now: Nanos) {
        for device in &mut self.devices {
            device.power_cycle(now);
        }
    }

    fn answer_sooner(&mut self, by: Nanos) {
        for device in &mut self.devices {
            device.answer_sooner(by);
        }
    }

    fn rate_max(&self, len: u32) -> Option<f64> {
        self.devices.iter().map(|device| device.rate_max(len)).sum()
    }
}

impl Counters {
    /// Sums of two devices; `busy_ns` is then device time, not wall time.
    pub fn plus(&self, other: &Counters) -> Counters {
        Counters {
            reads: self.reads + other.reads,
            read_bytes: self.read_bytes + other.read_bytes,
            writes: self.writes + other.writes,
            write_bytes: self.write_bytes + other.write_bytes,
            flushes: self.flushes + other.flushes,
            seeks: self.seeks + other.seeks,
            seek_ns: self.seek_ns + other.seek_ns,
            rotation_ns: self.rotation_ns + other.rotation_ns,
            cache_hits: self.cache_hits + other.cache_hits,
            cache_misses: self.cache_misses + other.cache_misses,
            unflushed_bytes: self.unflushed_bytes + other.unflushed_bytes,
            destaged_bytes: self.destaged_bytes + other.destaged_bytes,
            held_ns: self.held_ns + other.held_ns,
            held_long: std::array::from_fn(|nth| self.held_long[nth] + other.held_long[nth]),
            held_long_reads: std::array::from_fn(|nth| self.held_long_reads[nth] + other.held_long_reads[nth]),
            moved_bytes: self.moved_bytes + other.moved_bytes,
            processor_ns: self.processor_ns + other.processor_ns,
            busy_ns: self.busy_ns + other.busy_ns,
            sooner_ns: self.sooner_ns + other.sooner_ns,
            sooner_reads_ns: self.sooner_reads_ns + other.sooner_reads_ns,
        }
    }
}
