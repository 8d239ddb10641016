//! Stacks of kind `zfs`: values of properties, presets, and what the way to OpenZFS does not have.
//!
//! Prevents: a property that the chosen way ignores, and a cache that is larger than the memory it is to be taken from.

use super::{MIB, Settle, or};
use crate::error::{Findings, Span};
use crate::study::Study;
use crate::units::Bytes;
use crate::written::{At, WrittenStack};
use crate::zfs::{RedoAs, Vdevs, Zfs, ZfsPreset, ZfsWay};

/// The least maximum of the cache that OpenZFS takes, and the least minimum.
const ARC_LEAST: u64 = 64 * MIB;
const ARC_MIN_LEAST: u64 = 33 * MIB;
const ARC_USUAL: u64 = 256 * MIB;

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
    let preset = or(&w.preset, ZfsPreset::Default, home).value;
    // OpenZFS documentation, Performance and Tuning, Workload Tuning, of databases with a cache of their own.
    let (record, compression, cache, bias) = match preset {
        ZfsPreset::Default => (Bytes(128 << 10), "off", "all", "latency"),
        ZfsPreset::Tuned => (page, "lz4", "metadata", "throughput"),
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
        via: w.via.as_ref().map(|at| at.value),
        preset,
        vdevs: or(&w.vdevs, Vdevs::Stripe, home).value,
        compression: word("compression", &w.compression, compression, COMPRESSIONS),
        checksum: word("checksum", &w.checksum, "on", CHECKSUMS),
        primarycache: word("primarycache", &w.primarycache, cache, CACHES),
        logbias: word("logbias", &w.logbias, bias, BIASES),
        sync: word("sync", &w.sync, "standard", SYNCS),
        ashift: settle.count(&w.ashift, "ashift", 12, 9..=16, home),
        recordsize: or(&w.recordsize, record, home).value,
        prefetch: or(&w.prefetch, true, home).value,
        arc_max: or(&w.arc_max, Bytes(ARC_USUAL), home).value,
        arc_min: w.arc_min.as_ref().map(|at| at.value),
        redo_as: or(&w.redo_as, RedoAs::Pool, home).value,
    };
    refused(stack, &zfs, settle.findings);
    zfs
}

/// What the way does not have, and sizes that OpenZFS would ignore.
fn refused(stack: &WrittenStack, zfs: &Zfs, findings: &mut Findings) {
    let (w, home) = (&stack.zfs, &stack.span);
    if let (Some(at), Some(ZfsWay::Kernel | ZfsWay::Fuse)) = (&w.via, zfs.via) {
        let cure = "leave `via` out, or write via = \"userspace\"";
        findings.add(&at.span, "this version reaches OpenZFS in user space alone", cure);
    }
    if let Some(at) = &w.atime {
        let cure = "remove it: the database's pages are an object without a file system over it";
        findings.add(&at.span, "OpenZFS in user space has no access times to set", cure);
    }
    let record = w.recordsize.as_ref().map_or(home, |at| &at.span);
    if !zfs.recordsize.0.is_power_of_two() || !(512..=MIB).contains(&zfs.recordsize.0) {
        let message = format!(
            "`recordsize` is {}, no power of two from 512 bytes to 1 MiB",
            zfs.recordsize
        );
        findings.add(record, message, "write recordsize = \"8KiB\"");
    }
    let arc = w.arc_max.as_ref().map_or(home, |at| &at.span);
    if zfs.arc_max.0 < ARC_LEAST {
        let message = format!("`arc_max` is {}, and OpenZFS ignores less than 64 MiB", zfs.arc_max);
        findings.add(
            arc,
            message,
            "write arc_max = \"64MiB\", and keep data out of it: primarycache = \"metadata\"",
        );
    }
    if let Some(at) = &w.arc_min
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
            "`redo_as` says what the redo LUNs are, and the stack has none",
            cure,
        );
    }
}

/// Cache and ARC must fit into the memory together; a mirror and a raidz need LUNs.
pub(super) fn fits(w: &WrittenStack, zfs: &Zfs, study: &Study, luns: usize, findings: &mut Findings) {
    let span = |at: Option<&Span>| at.unwrap_or(&w.span).clone();
    if let Some(budget) = study.memory_budget
        && zfs.arc_max.0 + study.database.cache.0 >= budget.0
    {
        let message = format!(
            "an ARC of {} and a database cache of {} do not fit into a memory budget of {budget}",
            zfs.arc_max, study.database.cache
        );
        let cure = "lower `arc_max` or `database.cache`, or raise `memory.budget`";
        findings.add(&span(w.zfs.arc_max.as_ref().map(|at| &at.span)), message, cure);
    }
    if zfs.vdevs != Vdevs::Stripe && luns < 2 {
        let cure = "give the LUN set count = 2 or more, or write vdevs = \"stripe\"";
        let message = format!("a pool of copies or parity needs two LUNs, and its set has {luns}");
        findings.add(&span(w.zfs.vdevs.as_ref().map(|at| &at.span)), message, cure);
    }
}
