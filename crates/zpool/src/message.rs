//! What the two processes say to each other on the control socket, and what it is about: pools, files, counters,
//! faults.
//!
//! Each message is a line of JSON behind its length; the few descriptors travel with it. Prevents: a question whose
//! answer is taken for another one's (one is asked at a time).

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use targets::Extent;

use crate::error::Refused;

/// How the library is set up; fixed for the life of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// Most bytes of the adaptive replacement cache; at least [`Tuning::ARC_LEAST`].
    pub arc_max_bytes: u64,
    /// Fewest, to which it may shrink; `None`: the least the library allows.
    pub arc_min_bytes: Option<u64>,
    /// Whether files read in order are read ahead.
    pub prefetch: bool,
    /// Most bytes that are read ahead of each of several places; `None`: the library's own 64 MiB.
    pub prefetch_distance_bytes: Option<u32>,
    /// Whether the devices are opened with `O_DIRECT`.
    pub direct: bool,
    /// Seconds after which a transaction group is closed at the latest; `None`: the library's own 5.
    pub txg_timeout_s: Option<u32>,
    /// Most bytes of changes that are not on the devices yet; `None`: the library's own tenth of the machine's memory.
    pub dirty_max_bytes: Option<u64>,
    /// Seconds that pools may take to be exported after the lab has gone; then the process ends without.
    pub export_s: u32,
}

impl Tuning {
    /// The least maximum of the cache that the library takes.
    pub const ARC_LEAST: u64 = 64 << 20;

    /// Direct, with prefetch, and a cache of this size.
    pub fn new(arc_max_bytes: u64) -> Tuning {
        Tuning {
            arc_max_bytes,
            arc_min_bytes: None,
            prefetch: true,
            prefetch_distance_bytes: None,
            direct: true,
            txg_timeout_s: None,
            dirty_max_bytes: None,
            export_s: 120,
        }
    }
}

/// How a pool keeps its data on several devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Redundancy {
    /// Each block on one device.
    Stripe,
    /// Each block on all devices.
    Mirror,
    /// One parity over all devices.
    Raidz1,
}

/// A pool to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSpec {
    /// Its name: a letter, then letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// Devices or files for data.
    pub data: Vec<PathBuf>,
    /// Devices or files for a separate intent log; empty: the log lies among the data.
    pub log: Vec<PathBuf>,
    /// How data is kept.
    pub redundancy: Redundancy,
    /// Base-two logarithm of the sector size in bytes: 9 to 16.
    pub ashift: u8,
    /// Overwrite devices that carry another pool's label.
    pub overwrite: bool,
}

/// A file in a pool: a dataset of its own with one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileName {
    /// The pool.
    pub pool: String,
    /// The dataset in it.
    pub file: String,
}

impl FileName {
    /// A file of a pool.
    pub fn new(pool: &str, file: &str) -> FileName {
        FileName {
            pool: pool.to_string(),
            file: file.to_string(),
        }
    }

    pub(crate) fn dataset(&self) -> String {
        format!("{}/{}", self.pool, self.file)
    }
}

/// What a file is made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSpec {
    /// Which.
    pub name: FileName,
    /// Its first size in bytes.
    pub bytes: u64,
    /// Bytes of a record, a power of two from 512 to 1 MiB.
    pub record_bytes: u32,
    /// Properties by the names and values of `zfs set`: compression, checksum, primarycache, logbias, sync, copies ...
    pub properties: Vec<(String, String)>,
}

/// An operation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceOp {
    /// From the device.
    Read,
    /// To it.
    Write,
    /// `fdatasync`.
    Flush,
}

/// What a planted fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultDone {
    /// Not done; this errno.
    Error(i32),
    /// Not done, and said to be done (a read gives zeros).
    Lost,
    /// Neither done nor answered, for ever.
    Held,
}

/// A fault of the device layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFault {
    /// On which device; `None`: on any.
    pub device: Option<PathBuf>,
    /// Of which operations.
    pub op: DeviceOp,
    /// So many go well first.
    pub after: u64,
    /// So many go wrong then.
    pub times: u64,
    /// What happens.
    pub done: FaultDone,
}

/// What a device has done since its pool was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Read calls that were done.
    pub reads: u64,
    /// Bytes they moved.
    pub read_bytes: u64,
    /// Those that began where the one before ended.
    pub reads_in_sequence: u64,
    /// Write calls that were done.
    pub writes: u64,
    /// Bytes they moved.
    pub write_bytes: u64,
    /// Those that began where the one before ended.
    pub writes_in_sequence: u64,
    /// Flushes that were done.
    pub flushes: u64,
    /// Transfers whose buffer had to be copied for direct I/O.
    pub copied: u64,
}

/// The adaptive replacement cache. Counts since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcCounts {
    /// Bytes now.
    pub size_bytes: u64,
    /// Bytes it wants to have now.
    pub target_bytes: u64,
    /// The least and most it may have.
    pub min_bytes: u64,
    /// See `min_bytes`.
    pub max_bytes: u64,
    /// Of the size: data, and metadata.
    pub data_bytes: u64,
    /// See `data_bytes`.
    pub metadata_bytes: u64,
    /// Accesses found in it, of all kinds.
    pub hits: u64,
    /// Accesses not found.
    pub misses: u64,
    /// Of the hits: data that was asked for (not prefetched, not metadata).
    pub demand_data_hits: u64,
    /// Of the misses: the same.
    pub demand_data_misses: u64,
    /// Of the misses: data read ahead.
    pub prefetch_data_misses: u64,
    /// Buffers thrown out.
    pub evictions: u64,
    /// Bytes of them.
    pub evicted_bytes: u64,
}

/// A pool and its log, as the library counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolCounts {
    /// Its name.
    pub name: String,
    /// Bytes of its devices that can be allocated (parity included).
    pub size_bytes: u64,
    /// Allocated (parity included).
    pub allocated_bytes: u64,
    /// Per cent of free-space fragmentation, as `zpool list` prints it; `None`: not told.
    pub fragmentation_percent: Option<u64>,
    /// The newest transaction group on the devices.
    pub synced_txg: u64,
}

/// A file, as the library counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCounts {
    /// `pool/file`.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Bytes of a record.
    pub record_bytes: u32,
    /// Bytes it takes in the pool, metadata included.
    pub used_bytes: u64,
    /// Bytes before compression.
    pub logical_bytes: u64,
    /// Compression achieved, in hundredths: 100 is none.
    pub compress_ratio_percent: u64,
}

/// Everything that is counted in the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The cache; `None` where this build of the library keeps it in another shape.
    pub arc: Option<ArcCounts>,
    /// The intent logs of all files, by the library's own names (`zil_commit_count` ...), since the process began.
    pub zil: Vec<(String, u64)>,
    /// Pools.
    pub pools: Vec<PoolCounts>,
    /// Files.
    pub files: Vec<FileCounts>,
    /// Devices.
    pub devices: Vec<(PathBuf, DeviceCounts)>,
    /// Log records that were done again when files were opened.
    pub replayed_records: u64,
}

impl Counted {
    /// A count of the intent logs by the library's own name for it; 0 for names it does not have.
    pub fn zil(&self, name: &str) -> u64 {
        self.zil
            .iter()
            .find(|(known, _)| known == name)
            .map_or(0, |(_, value)| *value)
    }
}

/// A port's shared memory, in words that both processes lay out alike.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PortShape {
    pub(crate) memory: u64,
    pub(crate) depth: u32,
}

/// A pool with its files: what an import found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Log records done again, of all files.
    pub replayed_records: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Start(Tuning),
    Create(PoolSpec),
    Import {
        pool: String,
        devices: Vec<PathBuf>,
    },
    Export(String),
    Destroy(String),
    CreateFile(FileSpec),
    RemoveFile(FileName),
    /// With the descriptors of the shared memory and of the bell.
    OpenPort {
        files: Vec<FileName>,
        shape: PortShape,
    },
    ClosePort(u64),
    Size(FileName),
    Grow(FileName, u64),
    Truncate(FileName, u64),
    Extents(FileName),
    Sync,
    Count,
    Fault(Option<DeviceFault>),
    /// For tests of recovery: no transaction group of this pool is written any more.
    Freeze(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    Started { version: String },
    Imported(Imported),
    Port { id: u64, sizes: Vec<u64> },
    Size(u64),
    Extents(Vec<Piece>),
    Counted(Box<Counted>),
    Refused(Refused),
}

/// An extent on the wire.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Piece(pub(crate) u64, pub(crate) u64, pub(crate) u64, pub(crate) bool);

impl From<Piece> for Extent {
    fn from(Piece(logical, physical, length, packed): Piece) -> Extent {
        Extent {
            logical,
            physical,
            length,
            unwritten: false,
            packed,
        }
    }
}
