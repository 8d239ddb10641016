//! Whether someone else used the stack's devices: what the lowest of them moved, held against the nearest.
//!
//! Takes the runs of one stack in one phase and what is known of the devices between, gives what was found. Prevents: a
//! neighbour's backup read as the stack's own work, and a mirror's second copy, a cache, or a device that counts
//! nothing read as a neighbour.

use super::cell::At;
use super::rule::Taken;
use crate::cells::provenance::{ASKED_BYTES_MIN, READS_ASKED, WRITES_ASKED};
use crate::check::Status;
use crate::figures::Figure;
use crate::history::{Book, Seen};
use crate::words::format::{bytes, percent};
use ledger::{FactName, FactValue, Measure, Scope};

/// What the lowest devices moved more than the nearest: from this share and size on someone else used them.
const FOREIGN_SHARE: f64 = 0.10;
const FOREIGN_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// No larger share is printed: it only says that the nearest devices did next to nothing.
const SHARE_SAID_MAX: f64 = 99.0;

/// Arrays that pass on each byte once.
const ARRAYS_PLAIN: [&str; 3] = ["raid0", "linear", "container"];
/// Arrays that read no more than they are asked to: copies are written, and one of them is read.
const ARRAYS_MIRRORED: [&str; 2] = ["raid1", "raid10"];
/// Kinds of mappings that move other bytes than they are given. Of those of LVM only the parts tell.
const MAPPINGS: [&str; 6] = ["dmraid", "vdo", "cache", "writecache", "integrity", "bcache"];
/// What stands in the names of the parts of LVM's arrays, caches and pools, and in no other's: `lvm(8)` reserves it.
const LVM_PARTS: [(&str, &str); 10] = [
    ("pvmove", "move"),
    ("_rimage_", "array"),
    ("_mimage_", "mirror"),
    ("_corig", "cache"),
    ("_cdata", "cache"),
    ("_cvol", "cache"),
    ("_wcorig", "cache"),
    ("_tdata", "thin pool"),
    ("_vdata", "deduplication"),
    ("_vorigin", "snapshot"),
];
/// Where the part that a snapshot keeps lies; the origin's changes go there first.
const LVM_SNAPSHOT: &str = "-cow";

/// A layer between the nearest devices and the lowest that moves other bytes than it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    /// "md0 (raid1)"
    words: String,
    /// Reads pass it as they are.
    mirrors: bool,
}

impl Between {
    /// Of the devices of a stack; `None` where all pass on what they are given, as far as is known.
    pub(crate) fn of(book: &Book, stack: &str) -> Option<Between> {
        let found: Vec<(String, bool)> = book
            .devices(stack)
            .into_iter()
            .filter_map(|device| layer(book, device))
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

/// What a device is, and whether reads pass it as they are; `None` where writes do, too.
fn layer(book: &Book, device: &str) -> Option<(String, bool)> {
    let scope = Scope::Device(device.into());
    let of = |name: FactName| book.fact(&scope, name).and_then(FactValue::text);
    if let Some(level) = of(FactName::ArrayLevel).filter(|level| !ARRAYS_PLAIN.contains(level)) {
        return Some((format!("{device} ({level})"), ARRAYS_MIRRORED.contains(&level)));
    }
    if let Some(kind) = of(FactName::MappingKind).filter(|kind| MAPPINGS.contains(kind)) {
        return Some((format!("{device} ({kind})"), false));
    }
    let part = |name: &str| match name.ends_with(LVM_SNAPSHOT) {
        true => Some("snapshot"),
        false => LVM_PARTS
            .iter()
            .find(|(part, _)| name.contains(part))
            .map(|(_, kind)| *kind),
    };
    let of_lvm = of(FactName::Mapping).filter(|_| of(FactName::MappingKind) == Some("lvm"));
    if let Some(kind) = of_lvm.and_then(part) {
        return Some((format!("{device} (part of a {kind} of LVM)"), false));
    }
    device
        .starts_with("bcache")
        .then(|| (format!("{device} (a cache)"), false))
}

/// One run.
struct Moved {
    near: f64,
    low: f64,
    /// Beyond the nearest: of both directions, and of reads alone.
    beyond: f64,
    beyond_reads: f64,
    asked: f64,
}

impl Moved {
    fn of(run: &Seen) -> Option<Moved> {
        let near = run.sum(&[Measure::NearReadBytes, Measure::NearWriteBytes])?;
        let low = run.sum(&[Measure::LowReadBytes, Measure::LowWriteBytes])?;
        let reads = |measure| run.get(measure).unwrap_or(0.0);
        Some(Moved {
            near,
            low,
            beyond: low - near,
            beyond_reads: reads(Measure::LowReadBytes) - reads(Measure::NearReadBytes),
            asked: run.sum(&[&READS_ASKED[..], &WRITES_ASKED[..]].concat()).unwrap_or(0.0),
        })
    }

    /// The nearest devices say that they did nothing while the engine asked for much: they do not count, or a cache
    /// above them served it all.
    fn is_uncounted(&self) -> bool {
        self.near <= 0.0 && self.low > FOREIGN_BYTES && self.asked >= ASKED_BYTES_MIN
    }

    /// A share of what the nearest moved; what is small is metadata.
    fn share(&self, beyond: f64) -> f64 {
        match beyond > FOREIGN_BYTES {
            true => beyond / self.near.max(1.0),
            false => 0.0,
        }
    }
}

pub(crate) fn foreign(at: &At<'_>) -> Option<Taken> {
    let moved: Vec<Moved> = at.runs.iter().filter_map(|run| Moved::of(run)).collect();
    let median = |value: &dyn Fn(&Moved) -> f64| {
        let found = Figure::of(moved.iter().map(|run| Some(value(run))))?;
        Some(found.median)
    };
    let (near, low) = (median(&|run| run.near)?, median(&|run| run.low)?);
    let share = median(&|run| run.share(run.beyond))?;
    let reads = median(&|run| run.share(run.beyond_reads))?;
    let uncounted = moved.iter().filter(|run| run.is_uncounted()).count() * 2 > moved.len();
    let more = match near > 0.0 {
        true => format!(
            "the lowest devices moved {} more than the stack's nearest",
            percent(share.min(SHARE_SAID_MAX))
        ),
        false => format!("the lowest devices moved {}, the stack's nearest nothing", bytes(low)),
    };
    let (status, figure, advice) = match &at.between {
        _ if uncounted => (
            Status::Note,
            format!("{more}: they do not count, or a cache above them served all"),
            "not looked at: see that nobody else uses the devices below (`iostat -x` while the stack rests)",
        ),
        _ if share <= FOREIGN_SHARE => (Status::Valid, more, ADVICE),
        Some(layer) if layer.mirrors && reads > FOREIGN_SHARE => (
            Status::Suspect,
            format!(
                "the lowest devices read {} more than the stack's nearest moved, which a mirror does not",
                percent(reads.min(SHARE_SAID_MAX))
            ),
            "someone else used the device, or a mirror was made whole again: use a device of its own, and let a \
             resync end first",
        ),
        Some(layer) => (
            Status::Note,
            format!(
                "{more}; between them lies {}, which moves other bytes than it is given",
                layer.words
            ),
            "whose they were cannot be told: see that nobody else uses the devices below (`iostat -x` while the \
             stack rests)",
        ),
        None => (Status::Suspect, more, ADVICE),
    };
    let taken = Taken::judged(status, figure).advising(advice);
    Some(taken.against(format!(
        "at most {} and {}",
        percent(FOREIGN_SHARE),
        bytes(FOREIGN_BYTES)
    )))
}

/// What to do about somebody else.
pub(crate) const ADVICE: &str =
    "someone else used the device, or a layer below multiplied the I/O: use a device of its own";
