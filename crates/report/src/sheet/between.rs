//! Layers between a stack's nearest devices and the lowest that move other bytes than they are given.
//!
//! Takes the devices of a stack as the file names them, gives a [`Between`]. Prevents: a mirror's copies taken for
//! somebody else's I/O.

use crate::history::Book;
use ledger::{FactName, FactValue, Scope};

/// Arrays that pass on each byte once.
const ARRAYS_PLAIN: [&str; 3] = ["raid0", "linear", "container"];
/// Arrays that read no more than they are asked to: copies are written, and one of them is read.
const ARRAYS_MIRRORED: [&str; 2] = ["raid1", "raid10"];
/// Kinds of mappings that move other bytes than they are given. Of those of LVM only the parts tell.
const MAPPINGS: [&str; 6] = ["dmraid", "vdo", "cache", "writecache", "integrity", "bcache"];
/// What stands in the names of the parts of LVM's arrays, caches and pools, and in no other's: `lvm(8)` reserves it.
const LVM_PARTS: [(&str, &str); 10] = [
    ("pvmove", "a move"),
    (LVM_COPY, "an array"),
    ("_mimage_", "a mirror"),
    ("_corig", "a cache"),
    ("_cdata", "a cache"),
    ("_cvol", "a cache"),
    ("_wcorig", "a cache"),
    ("_tdata", "a thin pool"),
    ("_vdata", "a deduplication"),
    ("_vorigin", "a snapshot"),
];
/// The part of an array: of a mirror in a stack that says so.
const LVM_COPY: &str = "_rimage_";
/// Where the part that a snapshot keeps lies, to which the origin's changes go first, and the origin below it.
const LVM_SNAPSHOT: [&str; 2] = ["-cow", "-real"];

/// A layer between the nearest devices and the lowest that moves other bytes than it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    /// "md0 (raid1)"
    pub words: String,
    /// Reads pass it as they are.
    pub mirrors: bool,
}

impl Between {
    /// Of the devices of a stack; `None` where all pass on what they are given, as far as is known.
    pub(crate) fn of(book: &Book, stack: &str) -> Option<Between> {
        let layout = book.setting(&format!("stack.{stack}.layout"));
        let is_mirror = layout.is_some_and(|layout| layout.trim_matches('"') == "raid1");
        let found: Vec<(String, bool)> = book
            .devices(stack)
            .into_iter()
            .filter_map(|device| layer(book, device, is_mirror))
            .collect();
        let mirrors = found.iter().all(|(_, mirrors)| *mirrors);
        let mut words: Vec<String> = found.into_iter().map(|(words, _)| words).collect();
        words.dedup();
        (!words.is_empty()).then(|| Between {
            words: words.join(", "),
            mirrors,
        })
    }
}

/// What a device is, and whether reads pass it as they are; `None` where writes do, too. `is_mirror`: arrays of LVM are
/// mirrors here, which their parts do not say.
fn layer(book: &Book, device: &str, is_mirror: bool) -> Option<(String, bool)> {
    let scope = Scope::Device(device.into());
    let of = |name: FactName| book.fact(&scope, name).and_then(FactValue::text);
    if let Some(level) = of(FactName::ArrayLevel).filter(|level| !ARRAYS_PLAIN.contains(level)) {
        return Some((format!("{device} ({level})"), ARRAYS_MIRRORED.contains(&level)));
    }
    if let Some(kind) = of(FactName::MappingKind).filter(|kind| MAPPINGS.contains(kind)) {
        return Some((format!("{device} ({kind})"), false));
    }
    let part = |name: &str| match LVM_SNAPSHOT.iter().any(|end| name.ends_with(end)) {
        true => Some("a snapshot"),
        false => LVM_PARTS
            .iter()
            .find(|(part, _)| name.contains(part))
            .map(|(_, kind)| *kind),
    };
    let of_lvm = of(FactName::Mapping).filter(|_| of(FactName::MappingKind) == Some("lvm"));
    if let Some(kind) = of_lvm.and_then(part) {
        let is_copy = is_mirror && of_lvm.is_some_and(|name| name.contains(LVM_COPY));
        return Some((format!("{device} (part of {kind} of LVM)"), is_copy));
    }
    device
        .starts_with("bcache")
        .then(|| (format!("{device} (a cache)"), false))
}
