//! Stacks of kind `zfs`: values of properties, presets, and what the way to OpenZFS does not have.
//!
//! Prevents: a property that the chosen way ignores, and a cache that is larger than the memory it is to be taken from.

use super::settle::{MIB, Settle, or, value_or};
use crate::error::{Findings, Span};
use crate::space::over_budget;
use crate::study::{RedoAs, Stack, Study, Vdevs, Zfs, ZfsPreset, ZfsWay};
use crate::units::Bytes;
use crate::written::{At, WrittenStack, WrittenZfs};

/// The least maximum of the cache that OpenZFS takes, and the least minimum.
const ARC_LEAST: u64 = 64 * MIB;
const ARC_MIN_LEAST: u64 = 33 * MIB;
const ARC_USUAL: u64 = 256 * MIB;
/// What a distance of read-ahead may be: a number of 32 bits in OpenZFS.
const DISTANCE: std::ops::RangeInclusive<u64> = 128 << 10..=1 << 30;

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
    "gzip-6",
    "gzip-9",
    "zstd-1",
    "zstd-3",
    "zstd-9",
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
    let (w, home) = (&stack.zfs, &stack.span);
    let preset = value_or(&w.preset, ZfsPreset::Default);
    let via = w.via.as_ref().map(|at| at.value);
    // OpenZFS documentation, Performance and Tuning, Workload Tuning, of databases with a cache of their own. What
    // is older than lz4 has lzjb in its place.
    let (record, compression, cache, bias) = match (preset, via) {
        (ZfsPreset::Default, _) => (Bytes(128 << 10), "off", "all", "latency"),
        (ZfsPreset::Tuned, Some(ZfsWay::Fuse)) => (page, "lzjb", "metadata", "throughput"),
        (ZfsPreset::Tuned, _) => (page, "lz4", "metadata", "throughput"),
    };
    let mut word = |key: &str, written: &Option<At<String>>, usual: &str, words: &[&str]| -> String {
        let at = or(written, usual.to_string(), home);
        if !words.contains(&at.value.as_str()) {
            let message = format!("`{key}` is {:?}, which OpenZFS 2.1 does not have", at.value);
            settle
                .findings
                .add(&at.span, message, format!("write one of: {}", words.join(", ")));
        }
        at.value
    };
    let zfs = Zfs {
        via,
        preset,
        vdevs: value_or(&w.vdevs, Vdevs::Stripe),
        compression: word("compression", &w.compression, compression, COMPRESSIONS),
        checksum: word("checksum", &w.checksum, "on", CHECKSUMS),
        primarycache: word("primarycache", &w.primarycache, cache, CACHES),
        logbias: word("logbias", &w.logbias, bias, BIASES),
        sync: word("sync", &w.sync, "standard", SYNCS),
        ashift: settle.count(&w.ashift, "ashift", 12, 9..=16),
        recordsize: value_or(&w.recordsize, record),
        atime: atime(&w.atime, settle.findings),
        prefetch: value_or(&w.prefetch, true),
        prefetch_distance: w.prefetch_distance.as_ref().map(|at| at.value),
        arc_max: value_or(&w.arc_max, Bytes(ARC_USUAL)),
        arc_min: w.arc_min.as_ref().map(|at| at.value),
        redo_as: value_or(&w.redo_as, RedoAs::Pool),
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
    let span = |key: &str| -> Option<&Span> {
        match key {
            "compression" => w.compression.as_ref().map(|at| &at.span),
            "checksum" => w.checksum.as_ref().map(|at| &at.span),
            "sync" => w.sync.as_ref().map(|at| &at.span),
            "recordsize" => w.recordsize.as_ref().map(|at| &at.span),
            "ashift" => w.ashift.as_ref().map(|at| &at.span),
            "arc_max" => w.arc_max.as_ref().map(|at| &at.span),
            "prefetch_distance" => w.prefetch_distance.as_ref().map(|at| &at.span),
            "arc_min" => w.arc_min.as_ref().map(|at| &at.span),
            "atime" => w.atime.as_ref().map(|at| &at.span),
            _ => None,
        }
    };
    for lack in zfs.lacks(way) {
        findings.add(span(lack.key).unwrap_or(home), lack.why, lack.cure);
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
    let record = w.recordsize.as_ref().map_or(home, |at| &at.span);
    if !zfs.recordsize.0.is_power_of_two() || !(512..=MIB).contains(&zfs.recordsize.0) {
        let message = format!(
            "`recordsize` is {}, no power of two from 512 bytes to 1 MiB",
            zfs.recordsize
        );
        findings.add(record, message, "write recordsize = \"8KiB\"");
    }
    if let Some(at) = &w.prefetch_distance {
        distance(at, zfs.prefetch, findings);
    }
    let arc = w.arc_max.as_ref().map_or(home, |at| &at.span);
    if zfs.arc_max.0 < ARC_LEAST && zfs.via != Some(ZfsWay::Fuse) {
        let message = format!("`arc_max` is {}, and OpenZFS ignores less than 64 MiB", zfs.arc_max);
        findings.add(
            arc,
            message,
            "write arc_max = \"64MiB\", and keep data out of it: primarycache = \"metadata\"",
        );
    }
    if let Some(at) = w.arc_min.as_ref().filter(|_| zfs.via != Some(ZfsWay::Fuse))
        && (at.value.0 < ARC_MIN_LEAST || at.value >= zfs.arc_max)
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
fn distance(at: &At<Bytes>, prefetch: bool, findings: &mut Findings) {
    if !prefetch {
        let message = "`prefetch_distance` has no effect, because `prefetch` is false";
        findings.add(&at.span, message, "remove one of the two");
    } else if !DISTANCE.contains(&at.value.0) {
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
