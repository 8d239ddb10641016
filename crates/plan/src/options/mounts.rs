//! Options of mounts, from mount(8), ext4(5), xfs(5), btrfs(5) and the kernel's documentation of each.
//!
//! Left away is what newer kernels refuse (`barrier` of XFS), and what is no option of storage (quotas,
//! security labels).

use super::rule::{Rule, rule};
use super::takes::{Step, Takes};

const fn flag(name: &'static str, phrase: &'static str) -> Rule {
    rule("", name, Takes::Nothing, "", phrase)
}

const fn number(name: &'static str, least: u64, most: u64, example: &'static str, phrase: &'static str) -> Rule {
    let step = Step::Any;
    rule("", name, Takes::Number { least, most, step }, example, phrase)
}

const fn power(name: &'static str, least: u64, most: u64, example: &'static str, phrase: &'static str) -> Rule {
    let step = Step::Power;
    rule("", name, Takes::Bytes { least, most, step }, example, phrase)
}

const fn words(name: &'static str, of: &'static [&'static str], example: &'static str, phrase: &'static str) -> Rule {
    rule("", name, Takes::Word(of), example, phrase)
}

/// What every mount takes, and then its own.
macro_rules! mount_rules {
    ($($own:expr),* $(,)?) => {
        &[
            flag("noatime", "access times are not kept"),
            flag("nodiratime", "nor those of directories"),
            flag("relatime", "access times are kept once a day"),
            flag("strictatime", "access times are kept with each read"),
            flag("lazytime", "times are kept in memory"),
            flag("sync", "every write is synchronous"),
            flag("dirsync", "every change of a directory is synchronous"),
            flag("nodev", "no device files"),
            flag("nosuid", "no setuid programs"),
            flag("noexec", "no programs"),
            flag("rw", "can be written, as it always is here"),
            $($own),*
        ]
    };
}

const BARRIER: Rule = flag("barrier", "flushes reach the device");
const NOBARRIER: Rule = flag(
    "nobarrier",
    "flushes do not reach the device: a power cut loses what was acknowledged",
);

/// ext4.
pub(super) static EXT4: &[Rule] = mount_rules![
    BARRIER,
    NOBARRIER,
    words(
        "data",
        &["journal", "ordered", "writeback"],
        "writeback",
        "what goes through the journal",
    ),
    number("commit", 1, 3600, "30", "seconds between commits of the journal"),
    flag("delalloc", "blocks are chosen when they are written"),
    flag("nodelalloc", "blocks are chosen at once"),
    flag("auto_da_alloc", "a file that replaces another is written at once"),
    flag("noauto_da_alloc", "it is not"),
    flag("journal_checksum", "checksums in the journal"),
    flag("nojournal_checksum", "none"),
    flag("journal_async_commit", "the commit block does not wait for the others"),
    number("journal_ioprio", 0, 7, "3", "priority of the journal's I/O"),
    number("stripe", 0, 1 << 21, "64", "blocks of an array's stripe"),
    number(
        "max_batch_time",
        0,
        1_000_000,
        "15000",
        "microseconds that a commit waits for others",
    ),
    number("min_batch_time", 0, 1_000_000, "0", "at least so many"),
    rule(
        "",
        "inode_readahead_blks",
        Takes::Number {
            least: 1,
            most: 1 << 30,
            step: Step::Power,
        },
        "32",
        "inode table blocks that are read ahead",
    ),
    flag("dioread_lock", "reads take the inode's lock"),
    flag("dioread_nolock", "buffered writes leave extents unwritten first"),
    flag("block_validity", "blocks of metadata are guarded"),
    flag("noblock_validity", "they are not"),
    number("mb_optimize_scan", 0, 1, "1", "groups in the order of their free space"),
    flag("no_prefetch_block_bitmaps", "bitmaps are read when they are needed"),
    words(
        "errors",
        &["continue", "remount-ro"],
        "remount-ro",
        "what the kernel does on an error",
    ),
];

/// XFS.
pub(super) static XFS: &[Rule] = mount_rules![
    number("logbufs", 2, 8, "8", "buffers of the log"),
    power("logbsize", 16 << 10, 256 << 10, "256k", "bytes of each"),
    power(
        "allocsize",
        4096,
        1 << 30,
        "1m",
        "bytes that a growing file is given ahead",
    ),
    flag("inode32", "inodes in the first TiB"),
    flag("inode64", "inodes anywhere"),
    flag("largeio", "files say that their stripe is the best size of I/O"),
    flag("nolargeio", "they say a page"),
    flag("noalign", "no alignment to stripes"),
    rule(
        "",
        "sunit",
        Takes::Number {
            least: 8,
            most: 1 << 21,
            step: Step::Any,
        },
        "128",
        "stripe unit in sectors of 512 bytes, with `swidth`",
    ),
    number(
        "swidth",
        8,
        1 << 31,
        "512",
        "stripe in sectors of 512 bytes, with `sunit`",
    ),
    flag("swalloc", "files are aligned to whole stripes"),
    flag("wsync", "operations on names are synchronous"),
    flag("filestreams", "a directory's files in one allocation group"),
];

/// btrfs.
pub(super) static BTRFS: &[Rule] = mount_rules![
    BARRIER,
    NOBARRIER,
    number("commit", 1, 3600, "30", "seconds between transactions"),
    flag("flushoncommit", "a transaction writes all data"),
    flag("noflushoncommit", "it does not"),
    flag("treelog", "fsync writes a log"),
    flag("notreelog", "fsync writes a whole transaction"),
    flag("autodefrag", "small random writes are gathered later"),
    flag("noautodefrag", "they are not"),
    flag("ssd", "space is chosen as for solid state"),
    flag("ssd_spread", "and in larger pieces"),
    flag("nossd", "neither"),
    flag("nossd_spread", "not in larger pieces"),
    words("space_cache", &["v1", "v2"], "v2", "how free space is remembered"),
    power("max_inline", 1, 4096, "2048", "bytes of a file that lie in metadata").or(&["0"]),
    number("metadata_ratio", 0, 100, "8", "a metadata chunk after so many of data"),
    number("thread_pool", 1, 1024, "4", "threads"),
];
