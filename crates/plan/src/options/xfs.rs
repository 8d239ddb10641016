//! Options of `mkfs.xfs`, from mkfs.xfs(8).

use super::rule::{Rule, rule};
use super::takes::{Step, Takes};

const fn number(least: u64, most: u64) -> Takes {
    let step = Step::Any;
    Takes::Number { least, most, step }
}

const fn size(least: u64, most: u64) -> Takes {
    let step = Step::Of(512);
    Takes::Bytes { least, most, step }
}

const fn power(least: u64, most: u64) -> Takes {
    let step = Step::Power;
    Takes::Bytes { least, most, step }
}

/// The old format of XFS has other values; kernels are built without it.
const ONE: Takes = Takes::Word(&["1"]);
const TIB: u64 = 1 << 40;

/// The table.
pub(super) static MKFS: &[Rule] = &[
    rule(
        "-b",
        "size",
        power(512, 65_536),
        "4096",
        "block size; older kernels mount none above their page size",
    ),
    rule("-s", "size", power(512, 32_768), "4096", "sector size"),
    rule(
        "-m",
        "crc",
        ONE,
        "1",
        "checksums of metadata; kernels leave out the format without",
    ),
    rule("-m", "finobt", Takes::Switch, "1", "index of free inodes"),
    rule(
        "-m",
        "inobtcount",
        Takes::Switch,
        "1",
        "counts of blocks of the inode indexes",
    ),
    rule("-m", "rmapbt", Takes::Switch, "0", "index from blocks to their owners"),
    rule("-m", "reflink", Takes::Switch, "0", "files that share extents"),
    rule("-m", "bigtime", Takes::Switch, "1", "time stamps after 2038"),
    rule("-d", "agcount", number(1, 1_000_000), "4", "allocation groups"),
    rule(
        "-d",
        "agsize",
        size(64 << 20, TIB),
        "128m",
        "bytes of an allocation group",
    ),
    rule(
        "-d",
        "size",
        size(300 << 20, 1 << 50),
        "300m",
        "bytes of the LUN that are used",
    ),
    rule(
        "-d",
        "su",
        size(512, 1 << 30),
        "64k",
        "stripe unit of an array, with `sw`",
    ),
    rule(
        "-d",
        "sw",
        number(1, 65_536),
        "4",
        "stripe units of a stripe, with `su`",
    ),
    rule(
        "-d",
        "sunit",
        number(1, 1 << 21),
        "128",
        "stripe unit in sectors of 512 bytes, with `swidth`",
    ),
    rule(
        "-d",
        "swidth",
        number(1, 1 << 31),
        "512",
        "stripe in sectors of 512 bytes, with `sunit`",
    ),
    rule(
        "-d",
        "noalign",
        Takes::Nothing,
        "",
        "no alignment to what the device says",
    ),
    rule(
        "-d",
        "extszinherit",
        number(0, 1 << 18),
        "16",
        "blocks by which files are extended",
    ),
    rule(
        "-d",
        "cowextsize",
        number(0, 1 << 18),
        "32",
        "blocks by which copies on write are extended",
    ),
    rule("-i", "size", power(256, 2048), "512", "bytes of an inode"),
    rule(
        "-i",
        "perblock",
        Takes::Number {
            least: 2,
            most: 256,
            step: Step::Power,
        },
        "8",
        "inodes of a block",
    ),
    rule(
        "-i",
        "maxpct",
        number(0, 100),
        "25",
        "percent of the space that inodes may take",
    ),
    rule("-i", "sparse", Takes::Switch, "1", "groups of inodes with holes"),
    rule("-i", "nrext64", Takes::Switch, "1", "large counts of extents"),
    rule(
        "-l",
        "internal",
        ONE,
        "1",
        "the log lies in the LUN, as it always does here",
    ),
    rule("-l", "size", size(2 << 20, 2 << 30), "64m", "the log"),
    rule("-l", "agnum", number(0, 1_000_000), "0", "allocation group of the log"),
    rule("-l", "su", size(4096, 256 << 10), "32k", "stripe unit of the log"),
    rule(
        "-l",
        "sunit",
        number(8, 512),
        "64",
        "stripe unit of the log in sectors of 512 bytes",
    ),
    rule("-l", "version", Takes::Word(&["2"]), "2", "of the log"),
    rule("-l", "lazy-count", ONE, "1", "counters that are not logged"),
    rule(
        "-n",
        "size",
        power(512, 65_536),
        "8192",
        "directory block size, at least a block",
    ),
    rule("-n", "version", Takes::Word(&["2"]), "2", "of directories"),
    rule("-n", "ftype", ONE, "1", "kinds of files in directories"),
];
