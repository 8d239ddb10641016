//! `[[stack]]` as written.
//!
//! Takes the section; gives its keys, with a finding for each key that does not belong to the kind. Prevents: a key that
//! has no effect on the stack it stands in.

use super::engine::{self, WrittenEngine};
use super::section::Section;
use super::value::{At, Options, STACKS_TO_COME, StackWord, Word};
use super::zfs::{self, WrittenZfs};
use crate::error::{Findings, Span};
use crate::study::{Access, BtrfsProfile, Redundancy, Stripe};
use crate::units::{ByteRate, Bytes, Duration, Share};
use toml::de::DeValue;

/// `[[stack]]`.
#[derive(Default)]
pub(crate) struct WrittenStack {
    pub(crate) span: Span,
    pub(crate) name: Option<At<String>>,
    pub(crate) kind: Option<At<StackWord>>,
    pub(crate) path: Option<At<String>>,
    pub(crate) data: Option<At<String>>,
    pub(crate) redo: Option<At<Option<String>>>,
    pub(crate) access: Option<At<Access>>,
    pub(crate) profile: Option<At<BtrfsProfile>>,
    pub(crate) compress: Option<At<Option<String>>>,
    pub(crate) nodatacow: Option<At<bool>>,
    pub(crate) redundancy: Option<At<Redundancy>>,
    pub(crate) au: Option<At<Bytes>>,
    pub(crate) stripe: Option<At<Stripe>>,
    pub(crate) failure_groups: Option<At<u64>>,
    pub(crate) reserve: Option<At<u64>>,
    pub(crate) mount_options: Option<At<Options>>,
    pub(crate) mkfs_options: Option<At<Options>>,
    pub(crate) late: Option<At<Share>>,
    pub(crate) error_at: Option<At<Option<u64>>>,
    pub(crate) flush_lost: Option<At<bool>>,
    pub(crate) late_from: Option<At<u64>>,
    pub(crate) short_at: Option<At<Option<u64>>>,
    pub(crate) stall_at: Option<At<Option<u64>>>,
    pub(crate) stall: Option<At<Duration>>,
    pub(crate) model: WrittenModel,
    /// Where it differs from `[database]`.
    pub(crate) database: WrittenEngine,
    pub(crate) url: Option<At<String>>,
    pub(crate) zfs: WrittenZfs,
}

/// The keys of a simulated device.
#[derive(Default)]
pub(crate) struct WrittenModel {
    pub(crate) size: Option<At<Bytes>>,
    pub(crate) service: Option<At<Duration>>,
    pub(crate) spread: Option<At<Share>>,
    pub(crate) parallel: Option<At<u64>>,
    pub(crate) flush: Option<At<Duration>>,
    pub(crate) transfer: Option<At<ByteRate>>,
    pub(crate) cached: Option<At<Share>>,
    pub(crate) drift: Option<At<Share>>,
}

use StackWord::{Btrfs, Directory, Diskgroup, Ext4, Model, Raw, Server, Xfs, Zfs};

/// Keys that belong to some kinds only.
const BELONGS: &[(&str, &[StackWord])] = &[
    ("path", &[Directory]),
    ("url", &[Server]),
    ("data", &[Raw, Ext4, Xfs, Btrfs, Diskgroup, Zfs]),
    ("redo", &[Raw, Ext4, Xfs, Btrfs, Diskgroup, Zfs]),
    ("access", &[Directory, Raw, Ext4, Xfs, Btrfs]),
    ("profile", &[Btrfs]),
    ("compress", &[Btrfs]),
    ("nodatacow", &[Btrfs]),
    ("redundancy", &[Diskgroup]),
    ("au", &[Diskgroup]),
    ("stripe", &[Diskgroup]),
    ("failure_groups", &[Diskgroup]),
    ("reserve", &[Diskgroup]),
    ("mount_options", &[Ext4, Xfs, Btrfs]),
    ("mkfs_options", &[Ext4, Xfs, Btrfs]),
    ("size", &[Model]),
    ("service", &[Model]),
    ("spread", &[Model]),
    ("parallel", &[Model]),
    ("flush", &[Model]),
    ("transfer", &[Model]),
    ("cached", &[Model]),
    ("drift", &[Model]),
    ("via", &[Zfs]),
    ("preset", &[Zfs]),
    ("vdevs", &[Zfs]),
    ("ashift", &[Zfs]),
    ("recordsize", &[Zfs]),
    ("compression", &[Zfs]),
    ("checksum", &[Zfs]),
    ("primarycache", &[Zfs]),
    ("logbias", &[Zfs]),
    ("sync", &[Zfs]),
    ("atime", &[Zfs]),
    ("prefetch", &[Zfs]),
    ("prefetch_distance", &[Zfs]),
    ("arc_max", &[Zfs]),
    ("arc_min", &[Zfs]),
    ("redo_as", &[Zfs]),
];

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenStack {
    let name = s.require("name", "give the stack a name of its own: name = \"xfs\"", findings);
    let kind = read_kind(&mut s, findings);
    let mut stack = WrittenStack {
        span: s.span.clone(),
        name,
        path: s.get("path", findings),
        data: s.get("data", findings),
        redo: s.get_or("redo", "none", findings),
        access: s.get("access", findings),
        profile: s.get("profile", findings),
        compress: s.get_or("compress", "none", findings),
        nodatacow: s.get("nodatacow", findings),
        redundancy: s.get("redundancy", findings),
        au: s.get("au", findings),
        stripe: s.get("stripe", findings),
        failure_groups: s.get("failure_groups", findings),
        reserve: s.get("reserve", findings),
        mount_options: s.get("mount_options", findings),
        mkfs_options: s.get("mkfs_options", findings),
        model: WrittenModel {
            size: s.get("size", findings),
            service: s.get("service", findings),
            spread: s.get("spread", findings),
            parallel: s.get("parallel", findings),
            flush: s.get("flush", findings),
            transfer: s.get("transfer", findings),
            cached: s.get("cached", findings),
            drift: s.get("drift", findings),
        },
        url: s.get("url", findings),
        zfs: zfs::read(&mut s, findings),
        ..WrittenStack::default()
    };
    if let Some(mut database) = s.table("database", "database = { engine = \"sqlite\" }", findings) {
        stack.database = engine::read(&mut database, findings);
        database.finish(engine::ELSEWHERE, findings);
    }
    if let Some(mut inject) = s.table("inject", "inject = { late = \"20%\" }", findings) {
        stack.late = inject.get("late", findings);
        stack.error_at = inject.get_or("error_at", "none", findings);
        stack.flush_lost = inject.get("flush_lost", findings);
        stack.late_from = inject.get("late_from", findings);
        stack.short_at = inject.get_or("short_at", "none", findings);
        stack.stall_at = inject.get_or("stall_at", "none", findings);
        stack.stall = inject.get("stall", findings);
        inject.finish(&[], findings);
    }
    if let Some(kind) = &kind {
        foreign(&s, kind.value, findings);
        missing(&stack, &s, kind.value, findings);
        s.forget(|key| {
            BELONGS
                .iter()
                .all(|(name, kinds)| *name != key || kinds.contains(&kind.value))
        });
    }
    stack.kind = kind;
    s.finish(&[], findings);
    stack
}

fn read_kind(s: &mut Section<'_>, findings: &mut Findings) -> Option<At<StackWord>> {
    let built = "this version builds directory, raw, ext4, xfs, btrfs, diskgroup, zfs, server and model";
    if let Some((_, value)) = s.raw("kind")
        && let DeValue::String(word) = value.get_ref()
        && STACKS_TO_COME.contains(&word.as_ref())
    {
        let cure = format!("{built}; {} come later", STACKS_TO_COME.join(", "));
        findings.add(
            &value.span(),
            format!("stacks of kind \"{word}\" are not in this version"),
            cure,
        );
        return None;
    }
    s.require("kind", &format!("say what is built: kind = \"xfs\"; {built}"), findings)
}

/// Keys that stand in a stack of a kind that has no use for them.
fn foreign(s: &Section<'_>, kind: StackWord, findings: &mut Findings) {
    for (key, span) in s.keys() {
        let Some((_, kinds)) = BELONGS
            .iter()
            .find(|(name, kinds)| *name == key && !kinds.contains(&kind))
        else {
            continue;
        };
        let owners: Vec<&str> = kinds.iter().map(Word::word).collect();
        let cure = match (key, kind) {
            ("data" | "redo", Directory) => {
                "remove it: a directory stack is a mounted place as it is; say `path`".to_string()
            }
            ("access", Diskgroup) => "remove it: a disk group does its own direct I/O".to_string(),
            ("access", Zfs) => "remove it: OpenZFS has its own cache; say `primarycache`".to_string(),
            ("data" | "redo", Model) => "remove it: a model stack simulates its device; say `size`".to_string(),
            _ => format!("remove it: it belongs to stacks of kind {}", owners.join(", ")),
        };
        findings.add(
            &span,
            format!("a stack of kind \"{}\" has no `{key}`", kind.word()),
            cure,
        );
    }
}

/// Keys without which a stack of this kind cannot be built.
fn missing(stack: &WrittenStack, s: &Section<'_>, kind: StackWord, findings: &mut Findings) {
    match kind {
        Directory if !s.has("path") => {
            let cure = "say which place it is: path = \"/srv/data\"";
            findings.add(&stack.span, "a stack of kind \"directory\" says no `path`", cure);
        }
        Server if !s.has("url") => {
            let cure = "say where it is: url = \"postgres://USER@HOST:PORT/DATABASE\"";
            findings.add(&stack.span, "a stack of kind \"server\" says no `url`", cure);
        }
        Raw | Ext4 | Xfs | Btrfs | Diskgroup | Zfs if !s.has("data") => {
            let message = format!(
                "a stack of kind \"{}\" says no `data`: it stands on no LUN set",
                kind.word()
            );
            findings.add(
                &stack.span,
                message,
                "name its LUN set, as in [luns.data]: data = \"data\"",
            );
        }
        _ => {}
    }
}
