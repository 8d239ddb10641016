//! The keys of a stack of kind `zfs` as written.

use super::value::StackWord;
use crate::study::{RedoAs, Vdevs, ZfsPreset, ZfsWay};
use crate::units::Bytes;

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
        preset: ZfsPreset [StackWord::Zfs] = "`default`";
        /// `stripe`, `mirror` (all LUNs), `raidz1`
        vdevs: Vdevs [StackWord::Zfs] = "`stripe`";
        /// base-two logarithm of the sector size, 9 to 16; with `fuse` to 13
        ashift: u64 [StackWord::Zfs] = "`12`";
        /// of the data; the redo log has 128 KiB, and `fuse` no larger ones
        recordsize: Bytes [StackWord::Zfs] = "`\"128KiB\"`, tuned: `database.page`";
        /// of OpenZFS 2.1; `fuse` has `lzjb`, `gzip`, `gzip-1` to `gzip-9`, `zle`
        compression: String [StackWord::Zfs] = "`\"off\"`, tuned: `\"lz4\"`, of `fuse` `\"lzjb\"`";
        /// of OpenZFS 2.1; `fuse` has `fletcher2`, `fletcher4`, `sha256`
        checksum: String [StackWord::Zfs] = "`\"on\"`";
        /// what the ARC keeps: `"all"`, `"metadata"`, `"none"`
        primarycache: String [StackWord::Zfs] = "`\"all\"`, tuned: `\"metadata\"`";
        /// of the data; the redo log has `latency`
        logbias: String [StackWord::Zfs] = "`\"latency\"`, tuned: `\"throughput\"`";
        /// `"always"`, `"disabled"`: the last loses what was acknowledged. Not with `fuse`
        sync: String [StackWord::Zfs] = "`\"standard\"`";
        /// access times of files; not with `userspace`
        atime: String [StackWord::Zfs] = "`\"on\"`, tuned: `\"off\"`";
        /// read-ahead
        prefetch: bool [StackWord::Zfs] = "`true`";
        /// distance of read-ahead in each of up to eight places, 128 KiB to 1 GiB (`zfetch_max_distance`: 64 MiB in
        /// OpenZFS 2.1, far more than a small `arc_max` holds; zfs-fuse has no such setting)
        prefetch_distance: Bytes [StackWord::Zfs] = "OpenZFS's own";
        /// largest size of the ARC, from 64 MiB (`fuse`: whole MiB from 16 MiB to 16 GiB). ARC and database cache
        /// together must be less than `memory.budget`; `fuse` needs 128 MiB more for its process
        arc_max: Bytes [StackWord::Zfs] = "`\"256MiB\"`";
        /// smallest size of the ARC, from 33 MiB; not with `fuse`
        arc_min: Bytes [StackWord::Zfs] = "the least OpenZFS allows";
        /// what the LUNs of `redo` are: a `pool` of the redo log's own, or the `log` device of the data's pool
        redo_as: RedoAs [StackWord::Zfs] = "`pool`";
    }
}
