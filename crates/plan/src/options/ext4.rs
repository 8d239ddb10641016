//! Options of `mkfs.ext4`, from mke2fs(8) and ext4(5).

use super::rule::{Rule, rule};
use super::takes::{Step, Takes};

/// What of ext4 a study may have or leave out. Left away are those that want keys, another device, or a
/// thread that writes.
const FEATURES: &[&str] = &[
    "64bit",
    "bigalloc",
    "dir_index",
    "dir_nlink",
    "ea_inode",
    "ext_attr",
    "extent",
    "extra_isize",
    "fast_commit",
    "filetype",
    "flex_bg",
    "has_journal",
    "huge_file",
    "inline_data",
    "large_dir",
    "large_file",
    "meta_bg",
    "metadata_csum",
    "metadata_csum_seed",
    "orphan_file",
    "resize_inode",
    "sparse_super",
    "sparse_super2",
    "uninit_bg",
];

const fn number(least: u64, most: u64, step: Step) -> Takes {
    Takes::Number { least, most, step }
}

const fn power(least: u64, most: u64) -> Takes {
    let step = Step::Power;
    Takes::Bytes { least, most, step }
}

const BLOCKS: Takes = number(1, 1 << 31, Step::Any);

/// The table.
pub(super) static MKFS: &[Rule] = &[
    rule(
        "-b",
        "",
        power(1024, 65_536),
        "4096",
        "block size; the kernel mounts none above its page size",
    ),
    rule(
        "-C",
        "",
        power(2048, 256 << 20),
        "65536",
        "cluster size, with `-O bigalloc`",
    ),
    rule("-g", "", number(256, 65_528, Step::Of(8)), "8192", "blocks of a group"),
    rule(
        "-G",
        "",
        number(1, 1 << 20, Step::Power),
        "16",
        "groups packed together (flex_bg)",
    ),
    rule(
        "-i",
        "",
        power(1024, 64 << 20),
        "65536",
        "bytes of the file system for each inode",
    ),
    rule("-I", "", power(128, 4096), "256", "bytes of an inode"),
    rule("-N", "", number(1, u32::MAX as u64, Step::Any), "4096", "inodes"),
    rule(
        "-m",
        "",
        Takes::Real { least: 0.0, most: 50.0 },
        "0",
        "percent of blocks reserved for root",
    ),
    rule(
        "-e",
        "",
        Takes::Word(&["continue", "remount-ro"]),
        "remount-ro",
        "what the kernel does on an error",
    ),
    rule("-J", "size", number(1, 102_400, Step::Any), "16", "journal, MiB"),
    rule(
        "-J",
        "fast_commit_size",
        number(1, 1 << 20, Step::Any),
        "256",
        "area of fast commits, KiB, with `-O fast_commit`",
    ),
    rule(
        "-J",
        "location",
        number(0, 1 << 40, Step::Any),
        "8192",
        "the journal's first block",
    ),
    rule(
        "-E",
        "stride",
        BLOCKS,
        "16",
        "blocks on one disk of an array before the next",
    ),
    rule("-E", "stripe_width", BLOCKS, "64", "blocks of a stripe of an array"),
    rule(
        "-E",
        "resize",
        BLOCKS,
        "1048576",
        "blocks up to which it could grow while mounted",
    ),
    rule(
        "-E",
        "packed_meta_blocks",
        Takes::Switch,
        "1",
        "bitmaps and inode tables at the beginning",
    ),
    rule(
        "-E",
        "num_backup_sb",
        number(0, 2, Step::Any),
        "1",
        "backup superblocks, with `-O sparse_super2`",
    ),
    rule("-O", "", Takes::Features(FEATURES), "^metadata_csum", "features"),
];
