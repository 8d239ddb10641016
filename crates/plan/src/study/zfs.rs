//! What a stack of kind `zfs` is: how OpenZFS is reached, its pool, the properties of its datasets, its cache.
//!
//! Plain data; values of properties are the words of OpenZFS 2.1 (zfsprops(7)), of which each way has its part.
//! Prevents: a property that is set and not disclosed, and one that the way taken would ignore.

use crate::shown::quoted;
use crate::units::Bytes;
use crate::word::Word;

/// The largest record before pool feature `large_blocks`.
const RECORD_MOST_FUSE: u64 = 128 << 10;
/// What zfs-fuse takes for its cache, zfs-fuse(8).
const ARC_FUSE: std::ops::RangeInclusive<u64> = 16 << 20..=16 << 30;
const ASHIFT_MOST_FUSE: u32 = 13;
/// Values of properties that pool version 23 has.
const COMPRESSIONS_FUSE: [&str; 7] = ["off", "on", "lzjb", "zle", "gzip", "gzip-1", "gzip-6"];
const CHECKSUMS_FUSE: [&str; 5] = ["on", "off", "fletcher2", "fletcher4", "sha256"];

settled! {
    /// A pool with a dataset for the data and one for the redo log.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Zfs {
        /// How OpenZFS is reached; `None`: the first way that the machine offers.
        pub via: Option<ZfsWay>,
        /// Whose values the keys have that are not said.
        pub preset: ZfsPreset,
        /// How the pool keeps its data on the LUNs.
        pub vdevs: Vdevs,
        /// Base-two logarithm of the sector size: 9 to 16.
        pub ashift: u32,
        /// Bytes of a record of the data; the redo log has 128 KiB.
        pub recordsize: Bytes,
        /// `off`, `lz4`, `zstd` ...; of both datasets, like those that follow.
        pub compression: String,
        /// `on`, `off`, `fletcher4`, `sha256` ...
        pub checksum: String,
        /// `all`, `metadata`, `none`.
        pub primarycache: String,
        /// `latency`, `throughput`; of the data, the redo log has `latency`.
        pub logbias: String,
        /// `standard`, `always`, `disabled`.
        pub sync: String,
        /// Read ahead of files that are read in order.
        pub prefetch: bool,
        /// Most bytes of the adaptive replacement cache.
        pub arc_max: Bytes,
        /// Whether reads are noted in the files' attributes, of ways that have files; `None`: as the preset says.
        pub atime: Option<bool> as |zfs| zfs.atime.map(|on| quoted(if on { "on" } else { "off" })),
        /// Most bytes that are read ahead of each of up to eight places; `None`: OpenZFS's own (64 MiB in 2.1).
        pub prefetch_distance: Option<Bytes>,
        /// Fewest; `None`: the least that OpenZFS allows.
        pub arc_min: Option<Bytes>,
        /// What the LUN set of `redo` is.
        pub redo_as: RedoAs,
    }
}

words! {
    /// How OpenZFS is reached.
    pub enum ZfsWay: "a way to OpenZFS" {
        /// Its library in a process of our own.
        Userspace = "userspace",
        /// The kernel's module.
        Kernel = "kernel",
        /// zfs-fuse, of pool version 23.
        Fuse = "fuse",
    }
}

/// A key whose value a way does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The key as a study writes it.
    pub key: &'static str,
    /// What the way does not have.
    pub why: String,
    /// What to do about it.
    pub cure: String,
}

impl ZfsWay {
    /// All, in the order in which they are taken where a study leaves it open.
    pub const KINDS: [ZfsWay; 3] = [ZfsWay::Kernel, ZfsWay::Userspace, ZfsWay::Fuse];

    /// As a study writes it.
    pub fn word(self) -> &'static str {
        Word::word(&self)
    }

    /// Whether it has files, which databases in SQL need.
    pub fn has_files(self) -> bool {
        self != ZfsWay::Userspace
    }
}

impl Zfs {
    /// Access times, as written or as the preset says: OpenZFS keeps them when it is not told, and its
    /// documentation advises against.
    pub fn keeps_atime(&self) -> bool {
        self.atime.unwrap_or(self.preset == ZfsPreset::Default)
    }

    /// What this way does not have of what is asked.
    pub fn lacks(&self, way: ZfsWay) -> Vec<Lack> {
        match way {
            ZfsWay::Kernel => Vec::new(),
            ZfsWay::Userspace => self.lacks_of_userspace(),
            ZfsWay::Fuse => self.lacks_of_fuse(),
        }
    }

    fn lacks_of_userspace(&self) -> Vec<Lack> {
        let atime = self.atime.map(|_| Lack {
            key: "atime",
            why: "OpenZFS in user space has no access times to set".to_string(),
            cure: "remove it: the database's pages are an object without a file system over it".to_string(),
        });
        atime.into_iter().collect()
    }

    fn lacks_of_fuse(&self) -> Vec<Lack> {
        let mut lacks = Vec::new();
        let mut lack = |key, why: String, cure: &str| {
            let why = format!("zfs-fuse (pool version 23) has no {why}");
            let cure = format!("{cure}; or another way, if the machine offers it");
            lacks.push(Lack { key, why, cure });
        };
        let is_gzip = self.compression.strip_prefix("gzip-").is_some();
        if !is_gzip && !COMPRESSIONS_FUSE.contains(&self.compression.as_str()) {
            let cure = "write compression = \"lzjb\", \"gzip\", \"zle\" or \"off\"";
            lack("compression", format!("compression {:?}", self.compression), cure);
        }
        if !CHECKSUMS_FUSE.contains(&self.checksum.as_str()) {
            let cure = format!("write one of: {}", CHECKSUMS_FUSE.join(", "));
            lack("checksum", format!("checksum {:?}", self.checksum), &cure);
        }
        if self.sync != "standard" {
            let why = "property `sync`: it does what \"standard\" does".to_string();
            lack("sync", why, "remove it");
        }
        if self.recordsize.0 > RECORD_MOST_FUSE {
            let why = format!("records of {}", self.recordsize);
            lack("recordsize", why, "write at most recordsize = \"128KiB\"");
        }
        if self.ashift > ASHIFT_MOST_FUSE {
            let why = format!("sectors of 2^{} bytes", self.ashift);
            lack("ashift", why, "write ashift = 9 to 13");
        }
        if !ARC_FUSE.contains(&self.arc_max.0) || !self.arc_max.0.is_multiple_of(1 << 20) {
            let why = format!("ARC of {}: it takes whole MiB, from 16 MiB to 16 GiB", self.arc_max);
            lack("arc_max", why, "write arc_max = \"256MiB\"");
        }
        if self.prefetch_distance.is_some() {
            let why = "distance of read-ahead to set: it reads 256 records ahead at most".to_string();
            lack("prefetch_distance", why, "remove it");
        }
        if self.arc_min.is_some() {
            lack("arc_min", "minimum of the ARC to set".to_string(), "remove it");
        }
        lacks
    }
}

words! {
    /// Values for what a study does not say.
    pub enum ZfsPreset: "a preset" {
        /// OpenZFS's own.
        Default = "default",
        /// What OpenZFS's documentation advises for a database with its own cache.
        Tuned = "tuned",
    }
}

words! {
    /// How a pool keeps its data on several LUNs.
    pub enum Vdevs: "a way to keep data on vdevs" {
        /// Each block on one LUN.
        Stripe = "stripe",
        /// Each block on all LUNs.
        Mirror = "mirror",
        /// One parity over all LUNs.
        Raidz1 = "raidz1",
    }
}

words! {
    /// What the LUN set of the redo log is to a pool.
    pub enum RedoAs: "a use of redo LUNs" {
        /// A pool of its own, with the redo log's dataset.
        Pool = "pool",
        /// The log device of the data's pool, in which the redo log's dataset is too.
        Log = "log",
    }
}
