//! The keys of a stack of kind `zfs` as written.

use crate::study::{RedoAs, StackWord, Vdevs, ZfsPreset, ZfsWay};
use crate::units::Bytes;

/// What OpenZFS's documentation (Performance and Tuning, Workload Tuning) advises for databases with a cache of their
/// own. What is older than lz4 has lzjb in its place.
pub(crate) const TUNED: Tuned = Tuned {
    compression: "lz4",
    compression_of_fuse: "lzjb",
    primarycache: "metadata",
    logbias: "throughput",
};

/// Defaults under `preset = "tuned"`.
pub(crate) struct Tuned {
    pub(crate) compression: &'static str,
    pub(crate) compression_of_fuse: &'static str,
    pub(crate) primarycache: &'static str,
    pub(crate) logbias: &'static str,
}

written! {
    /// Keys of kind `zfs`.
    struct WrittenZfs of StackWord {
        /// `kernel`: its module; `userspace`: OpenZFS's library in a process of its own; `fuse`: zfs-fuse, pool
        /// version 23, the ZFS of about 2010 ([ZFS](zfs.md)). Databases in SQL need files, which `userspace` does not
        /// have; a power cut does not work with `kernel`. The report shows the choice
        via: ZfsWay [StackWord::Zfs] = "the first of these that the machine offers and that fits the study";
        /// defaults of the keys below: OpenZFS's own, or `tuned`, which its documentation advises for a database with
        /// its own cache (records of the database's page, lz4, with `fuse` lzjb, `primarycache` metadata, `logbias`
        /// throughput, `atime` off)
        preset: ZfsPreset [StackWord::Zfs] = (ZfsPreset::Default);
        /// `stripe`, `mirror` (all LUNs), `raidz1`
        vdevs: Vdevs [StackWord::Zfs] = (Vdevs::Stripe);
        /// base-two logarithm of the sector size; with `fuse` to 13
        ashift: u64 [StackWord::Zfs] = (12, in 9..=16);
        /// of the data; the redo log has 128 KiB, and `fuse` no larger ones
        recordsize: Bytes [StackWord::Zfs] = (Bytes::kib(128), in Bytes(512)..=Bytes::mib(1),
            else "; tuned `database.page`");
        /// of OpenZFS 2.1; `fuse` has `lzjb`, `gzip`, `gzip-1` to `gzip-9`, `zle`
        compression: String [StackWord::Zfs] = ("off".to_string(),
            "tuned" => TUNED.compression.to_string(), "tuned, of `fuse`" => TUNED.compression_of_fuse.to_string());
        /// of OpenZFS 2.1; `fuse` has `fletcher2`, `fletcher4`, `sha256`
        checksum: String [StackWord::Zfs] = ("on".to_string());
        /// what the ARC keeps: `"all"`, `"metadata"`, `"none"`
        primarycache: String [StackWord::Zfs] = ("all".to_string(),
            "tuned" => TUNED.primarycache.to_string());
        /// of the data; the redo log has `latency`
        logbias: String [StackWord::Zfs] = ("latency".to_string(), "tuned" => TUNED.logbias.to_string());
        /// `"always"`, `"disabled"`: the last loses what was acknowledged. Not with `fuse`
        sync: String [StackWord::Zfs] = ("standard".to_string());
        /// access times of files; not with `userspace`
        atime: String [StackWord::Zfs] = "`\"on\"`, tuned: `\"off\"`";
        /// read-ahead
        prefetch: bool [StackWord::Zfs] = (true);
        /// distance of read-ahead in each of up to eight places (`zfetch_max_distance`: 64 MiB in
        /// OpenZFS 2.1, far more than a small `arc_max` holds; zfs-fuse has no such setting)
        prefetch_distance: Bytes [StackWord::Zfs] = (else "OpenZFS's own", in Bytes::kib(128)..=Bytes::mib(1024));
        /// largest size of the ARC, from 64 MiB (`fuse`: whole MiB from 16 MiB to 16 GiB). ARC and database cache
        /// together must be less than `memory.budget`; `fuse` needs 128 MiB more for its process
        arc_max: Bytes [StackWord::Zfs] = (Bytes::mib(256));
        /// smallest size of the ARC; not with `fuse`
        arc_min: Bytes [StackWord::Zfs] = (else "the least OpenZFS allows", in Bytes::mib(33)..);
        /// what the LUNs of `redo` are: a `pool` of the redo log's own, or the `log` device of the data's pool
        redo_as: RedoAs [StackWord::Zfs] = (RedoAs::Pool);
    }
}
