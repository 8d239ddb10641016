//! What a stack of kind `zfs` is: how OpenZFS is reached, its pool, the properties of its datasets, its cache.
//!
//! Plain data; values of properties are the words of OpenZFS 2.1 (zfsprops(7)). Prevents: a property that is set and not disclosed.

use crate::units::Bytes;

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
    /// Fewest; `None`: the least that OpenZFS allows.
    pub arc_min: Option<Bytes>,
    /// What the LUN set of `redo` is.
    pub redo_as: RedoAs,
}

/// How OpenZFS is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZfsWay {
    /// The kernel's module.
    Kernel,
    /// Its library in a process of our own.
    Userspace,
    /// zfs-fuse, of pool version 23.
    Fuse,
}

/// Values for what a study does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZfsPreset {
    /// OpenZFS's own.
    Default,
    /// What OpenZFS's documentation advises for a database with its own cache.
    Tuned,
}

/// How a pool keeps its data on several LUNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vdevs {
    /// Each block on one LUN.
    Stripe,
    /// Each block on all LUNs.
    Mirror,
    /// One parity over all LUNs.
    Raidz1,
}

/// What the LUN set of the redo log is to a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedoAs {
    /// A pool of its own, with the redo log's dataset.
    Pool,
    /// The log device of the data's pool, in which the redo log's dataset is too.
    Log,
}
