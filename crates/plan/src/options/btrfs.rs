//! Options of `mkfs.btrfs`, from mkfs.btrfs(8).

use super::rule::{Rule, rule};
use super::takes::{Step, Takes};

/// Without `mixed-bg` (data and metadata have profiles of their own here) and `zoned`.
const FEATURES: &[&str] = &[
    "block-group-tree",
    "extref",
    "free-space-tree",
    "no-holes",
    "quota",
    "raid56",
    "skinny-metadata",
];

const SIZE: Takes = Takes::Bytes {
    least: 4096,
    most: 65_536,
    step: Step::Power,
};
const WHOLE: Takes = Takes::Bytes {
    least: 110 << 20,
    most: 1 << 50,
    step: Step::Of(4096),
};
const SUMS: Takes = Takes::Word(&["crc32c", "xxhash", "sha256", "blake2"]);

/// The table.
pub(super) static MKFS: &[Rule] = &[
    rule("-n", "", SIZE, "16384", "node size, at least the sector size").long("--nodesize"),
    rule(
        "-s",
        "",
        SIZE,
        "4096",
        "sector size; the kernel mounts what its page size allows",
    )
    .long("--sectorsize"),
    rule("-b", "", WHOLE, "120m", "bytes of each LUN that are used").long("--byte-count"),
    rule("--csum", "", SUMS, "xxhash", "checksum").long("--checksum"),
    rule("-O", "", Takes::Features(FEATURES), "^no-holes", "features").long("--features"),
    rule(
        "-R",
        "",
        Takes::Features(&["free-space-tree", "quota"]),
        "quota",
        "features of the mounted file system",
    )
    .long("--runtime-features"),
];
