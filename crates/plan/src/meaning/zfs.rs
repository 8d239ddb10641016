//! Stacks of kind `zfs`: values of properties, presets, and what the way to OpenZFS does not have.
//!
//! Prevents: a property that the chosen way ignores, and a cache that is larger than the memory it is to be taken from.

use super::settle::{MIB, Settle};
use crate::error::{Findings, Span};
use crate::space::over_budget;
use crate::study::{Stack, Study, Vdevs, Zfs, ZfsPreset, ZfsWay};
use crate::units::Bytes;
use crate::written::{At, Said, Spans, TUNED, WrittenStack, WrittenZfs};

/// The least maximum of the cache that OpenZFS takes.
const ARC_LEAST: u64 = 64 * MIB;

/// Values of properties that OpenZFS 2.1 has.
const COMPRESSIONS: &[&str] = &[
    "off",
    "on",
    "lz4",
    "lzjb",
    "zle",
    "zstd",
    "zstd-fast",
    "gzip",
    "gzip-1",
    "gzip-2",
    "gzip-3",
    "gzip-4",
    "gzip-5",
    "gzip-6",
    "gzip-7",
    "gzip-8",
    "gzip-9",
    "zstd-1",
    "zstd-2",
    "zstd-3",
    "zstd-4",
    "zstd-5",
    "zstd-6",
    "zstd-7",
    "zstd-8",
    "zstd-9",
    "zstd-10",
    "zstd-11",
    "zstd-12",
    "zstd-13",
    "zstd-14",
    "zstd-15",
    "zstd-16",
    "zstd-17",
    "zstd-18",
    "zstd-19",
];
const CHECKSUMS: &[&str] = &[
    "on",
    "off",
    "fletcher2",
    "fletcher4",
    "sha256",
    "sha512",
    "skein",
    "edonr",
];
const CACHES: &[&str] = &["all", "metadata", "none"];
const BIASES: &[&str] = &["latency", "throughput"];
const SYNCS: &[&str] = &["standard", "always", "disabled"];

pub(super) fn zfs(stack: &WrittenStack, page: Bytes, settle: &mut Settle<'_>) -> Zfs {
    let w = &stack.zfs;
    let preset = w.preset().value();
    let via = w.via.as_ref().map(|at| at.value);
    let tuned = preset == ZfsPreset::Tuned;
    let compression = match via {
        Some(ZfsWay::Fuse) => TUNED.compression_of_fuse,
        _ => TUNED.compression,
    };
    // Of these words, or, under `preset = "tuned"`, another default.
    let mut word = |key: Said<'_, String>, of_tuned: Option<&str>, words: &[&str]| -> String {
        if let Some(at) = key.written.filter(|at| !words.contains(&at.value.as_str())) {
            let message = format!("`{}` is {:?}, which OpenZFS 2.1 does not have", key.key, at.value);
            settle
                .findings
                .add(&at.span, message, format!("write one of: {}", words.join(", ")));
        }
        match of_tuned.filter(|_| tuned) {
            Some(usual) => key.or(usual.to_string()).value(),
            None => key.value(),
        }
    };
    let zfs = Zfs {
        via,
        preset,
        vdevs: w.vdevs().value(),
        compression: word(w.compression(), Some(compression), COMPRESSIONS),
        checksum: word(w.checksum(), None, CHECKSUMS),
        primarycache: word(w.primarycache(), Some(TUNED.primarycache), CACHES),
        logbias: word(w.logbias(), Some(TUNED.logbias), BIASES),
        sync: word(w.sync(), None, SYNCS),
        ashift: settle.count(&w.ashift()),
        recordsize: w.recordsize().or_if(tuned, page).value(),
        atime: atime(&w.atime, settle.findings),
        prefetch: w.prefetch().value(),
        prefetch_distance: w.prefetch_distance.as_ref().map(|at| at.value),
        arc_max: w.arc_max().value(),
        arc_min: w.arc_min.as_ref().map(|at| at.value),
        redo_as: w.redo_as().value(),
    };
    refused(stack, &zfs, settle.findings);
    zfs
}

fn atime(written: &Option<At<String>>, findings: &mut Findings) -> Option<bool> {
    let at = written.as_ref()?;
    match at.value.as_str() {
        "on" => Some(true),
        "off" => Some(false),
        other => {
            let message = format!("`atime` is {other:?}, and access times are kept or not");
            findings.add(&at.span, message, "write atime = \"on\" or \"off\"");
            None
        }
    }
}

/// What the way that the study names does not have of what it asks.
fn way_lacks(w: &WrittenZfs, home: &Span, zfs: &Zfs, way: ZfsWay, findings: &mut Findings) {
    for lack in zfs.lacks(way) {
        findings.add(w.span_of(lack.key).unwrap_or(home), lack.why, lack.cure);
    }
    if let (ZfsWay::Fuse, Some(at)) = (way, w.sync.as_ref().filter(|at| at.value == "standard")) {
        let cure = "remove it: what it has is what other versions call \"standard\"";
        findings.add(&at.span, "zfs-fuse (pool version 23) has no property `sync`", cure);
    }
}

/// Sizes that OpenZFS would ignore, and what the way does not have.
fn refused(stack: &WrittenStack, zfs: &Zfs, findings: &mut Findings) {
    let (w, home) = (&stack.zfs, &stack.span);
    if let Some(way) = zfs.via {
        way_lacks(w, home, zfs, way, findings);
    }
    let record = w.recordsize();
    if !zfs.recordsize.0.is_power_of_two() || !record.limits.hold(&zfs.recordsize) {
        let message = format!(
            "`recordsize` is {}, no power of two from 512 bytes to 1 MiB",
            zfs.recordsize
        );
        findings.add(record.span(home), message, "write recordsize = \"8KiB\"");
    }
    distance(&w.prefetch_distance(), zfs.prefetch, findings);
    let arc = w.arc_max.as_ref().map_or(home, |at| &at.span);
    if zfs.arc_max.0 < ARC_LEAST && zfs.via != Some(ZfsWay::Fuse) {
        let message = format!("`arc_max` is {}, and OpenZFS ignores less than 64 MiB", zfs.arc_max);
        findings.add(
            arc,
            message,
            "write arc_max = \"64MiB\", and keep data out of it: primarycache = \"metadata\"",
        );
    }
    let arc_min = w.arc_min();
    if let Some(at) = arc_min.written.filter(|_| zfs.via != Some(ZfsWay::Fuse))
        && (arc_min.outside().is_some() || at.value >= zfs.arc_max)
    {
        let message = format!("`arc_min` is {}, not from 33 MiB to less than `arc_max`", at.value);
        findings.add(
            &at.span,
            message,
            "leave it out: the cache then shrinks as far as OpenZFS lets it",
        );
    }
    if let Some(at) = &w.redo_as
        && stack.redo.as_ref().is_none_or(|redo| redo.value.is_none())
    {
        let cure = "name a LUN set for it, as in [luns.redo]: redo = \"redo\"";
        findings.add(
            &at.span,
            "`redo_as` has no effect, because the stack has no redo LUNs",
            cure,
        );
    }
}

/// How far is read ahead: a size that OpenZFS takes, of a pool that reads ahead.
fn distance(key: &Said<'_, Bytes, Bytes, ()>, prefetch: bool, findings: &mut Findings) {
    let Some(at) = key.written else { return };
    if !prefetch {
        let message = "`prefetch_distance` has no effect, because `prefetch` is false";
        findings.add(&at.span, message, "remove one of the two");
    } else if key.outside().is_some() {
        let message = format!("`prefetch_distance` is {}, not from 128 KiB to 1 GiB", at.value);
        let cure = "write prefetch_distance = \"2MiB\", or leave it out: OpenZFS then reads 64 MiB ahead";
        findings.add(&at.span, message, cure);
    }
}

/// Cache and ARC must fit into the memory together.
pub(super) fn cache_fits(w: &WrittenStack, stack: &Stack, study: &Study, findings: &mut Findings) {
    if let Some(lack) = over_budget(study, stack) {
        let span = w.zfs.arc_max.as_ref().map_or(&w.span, |at| &at.span);
        findings.add(span, lack.why, lack.cure);
    }
}

/// A mirror and a raidz need LUNs.
pub(super) fn has_luns(w: &WrittenStack, zfs: &Zfs, luns: usize, findings: &mut Findings) {
    if zfs.vdevs != Vdevs::Stripe && luns < 2 {
        let cure = "give the LUN set count = 2 or more, or write vdevs = \"stripe\"";
        let message = format!("a pool of copies or parity needs two LUNs, and its set has {luns}");
        let span = w.zfs.vdevs.as_ref().map_or(&w.span, |at| &at.span);
        findings.add(span, message, cure);
    }
}
