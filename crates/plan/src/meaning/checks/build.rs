//! Contradictions inside one stack: LUN sets, profiles, options.
//!
//! Takes a stack and the LUN sets; gives findings. Prevents: a mkfs that refuses in the middle of a study.

use super::places::{kind_place, place};
use crate::error::{Findings, Span};
use crate::meaning::{volume, zfs};
use crate::study::{Btrfs, FileSystemKind, GROUP_LUNS_MAX, LunSet, LunSource, Stack, Study};
use crate::units::Bytes;
use crate::written::{WrittenStack, nearest};

pub(super) fn stack(w: &WrittenStack, stack: &Stack, study: &Study, findings: &mut Findings) {
    let data_span = w.data.as_ref().map(|at| &at.span);
    let data = known(stack.data.as_deref(), data_span, study, findings);
    let redo_span = w.redo.as_ref().map(|at| &at.span);
    let redo = known(stack.redo.as_deref(), redo_span, study, findings);
    if let Some(set) = data {
        let span = place(&w.data, &w.span);
        let named = Named { w, stack, set, span };
        named.width(study, findings);
        named.smallest(findings);
    }
    if let (Some(set), Some(span)) = (redo, redo_span) {
        let named = Named { w, stack, set, span };
        if stack.data.as_ref() == stack.redo.as_ref() {
            let cure = if stack.kind.is_raw() {
                "give the redo log a LUN set of its own: [luns.redo], redo = \"redo\""
            } else if stack.kind.disk_group().is_some() {
                "leave `redo` out: the redo log is then a file of the same group"
            } else {
                "leave `redo` out: the redo log then lives beside the data, in the same file system"
            };
            findings.add(
                span,
                format!("{:?} cannot be both `data` and `redo` of a stack", set.name),
                cure,
            );
        } else if stack.kind.disk_group().is_some() {
            named.copies_fit(0, findings);
            named.smallest(findings);
        } else if let Some(made) = stack.kind.volume() {
            volume::fits((w, made), (set, 0), span, findings);
        } else if set.count() > 1 && stack.kind.pool().is_none() {
            let message = format!("the redo log takes one LUN, and {:?} has {}", set.name, set.count());
            findings.add(span, message, "name a LUN set of one file or device");
        } else {
            named.smallest(findings);
        }
    }
    temporary(w, stack, study, findings);
    if stack.kind.is_raw() && stack.redo.is_none() {
        let cure = "give it a LUN set of its own: [luns.redo], files = { size = \"512MiB\" }, and here redo = \"redo\"";
        findings.add(
            kind_place(w),
            "a raw stack has no file system in which the redo log could live beside the data",
            cure,
        );
    }
    let made = stack.kind.file_system().map(|made| &made.kind);
    if let Some(FileSystemKind::Btrfs(Btrfs {
        compress: Some(_),
        nodatacow: true,
        ..
    })) = made
    {
        let cure = "keep one of the two: what is overwritten in place is never compressed";
        findings.add(
            place(&w.nodatacow, &w.span),
            "`nodatacow` and `compress` exclude each other in btrfs",
            cure,
        );
    }
}

/// Where temporary files go: a place of their own, for a database that can be told.
fn temporary(w: &WrittenStack, stack: &Stack, study: &Study, findings: &mut Findings) {
    let span = w.temp.as_ref().map(|at| &at.span);
    let (Some(set), Some(span)) = (known(stack.temp.as_deref(), span, study, findings), span) else {
        return;
    };
    let taken = [&stack.data, &stack.redo]
        .into_iter()
        .flatten()
        .any(|name| *name == set.name);
    let named = Named { w, stack, set, span };
    let (message, cure) = match &stack.kind {
        _ if !stack.engine.is_sql() => (
            "only a database that takes SQL has temporary files".to_string(),
            "remove it, or write engine = \"postgres\" or \"sqlite\"",
        ),
        _ if taken => (
            format!("{:?} holds the data or the log of this stack already", set.name),
            "give temporary files a LUN set of their own, or remove it: then they lie beside the data",
        ),
        _ if !study.phases.iter().any(|phase| phase.kind.tpch().is_some()) => (
            "no phase asks long questions, and only they have temporary files".to_string(),
            "remove it, or add a phase of kind \"tpch\"",
        ),
        kind if kind.volume().is_none() && kind.file_system().is_some() && set.count() > 1 => (
            format!("temporary files take one LUN, and {:?} has {}", set.name, set.count()),
            "name a LUN set of one file or device",
        ),
        kind => {
            if let Some(made) = kind.volume() {
                return volume::fits((w, made), (set, 0), span, findings);
            }
            if kind.disk_group().is_some() {
                named.copies_fit(0, findings);
            }
            return named.smallest(findings);
        }
    };
    findings.add(span, message, cure);
}

/// The LUN set of that name, or a finding.
fn known<'s>(name: Option<&str>, span: Option<&Span>, study: &'s Study, findings: &mut Findings) -> Option<&'s LunSet> {
    let (name, span) = (name?, span?);
    let found = study.luns.iter().find(|set| set.name == name);
    if found.is_none() {
        let cure = match nearest(name, study.luns.iter().map(|set| set.name.as_str())) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if study.luns.is_empty() => "add it: [luns.data], files = { count = 1, size = \"2GiB\" }".to_string(),
            None => {
                let names: Vec<&str> = study.luns.iter().map(|set| set.name.as_str()).collect();
                format!("name one of: {}", names.join(", "))
            }
        };
        findings.add(span, format!("there is no LUN set {name:?}"), cure);
    }
    found
}

/// A LUN set that a stack names as its `data`, `redo` or `temp`.
struct Named<'a> {
    w: &'a WrittenStack,
    stack: &'a Stack,
    set: &'a LunSet,
    /// Where it is named.
    span: &'a Span,
}

impl Named<'_> {
    /// How many LUNs a kind can take.
    fn width(&self, study: &Study, findings: &mut Findings) {
        let Named { w, stack, set, span } = *self;
        let luns = set.count();
        if let Some(made) = stack.kind.volume() {
            volume::fits((w, made), (set, made.reserve), span, findings);
        } else if let Some(made) = stack.kind.file_system() {
            let (least, asked_by) = made.least_luns();
            if luns > 1 && !made.row().several_luns {
                let message = format!("{} takes one LUN, and {:?} has {luns}", stack.kind.word(), set.name);
                let cure = "name a LUN set of one file or device; lvm, md, btrfs and raw take several";
                findings.add(span, message, cure);
            } else if luns < least {
                let message = format!("the profile {asked_by} needs two LUNs, and {:?} has {luns}", set.name);
                let cure = "write profile = \"single\", or give the LUN set count = 2";
                findings.add(place(&w.profile, span), message, cure);
            }
        } else if let Some(zfs) = stack.kind.pool() {
            zfs::cache_fits(w, stack, study, findings);
            zfs::has_luns(w, zfs, luns, findings);
        } else {
            self.copies_fit(stack.kind.reserve() as usize, findings);
        }
    }

    /// A group on a set must have a failure group for each copy.
    fn copies_fit(&self, reserve: usize, findings: &mut Findings) {
        let Named { w, stack, set, span } = *self;
        let Some(group) = stack.kind.disk_group() else { return };
        if set.count() > GROUP_LUNS_MAX {
            let message = format!(
                "a disk group takes {GROUP_LUNS_MAX} LUNs at most, and {:?} has {}",
                set.name,
                set.count()
            );
            findings.add(
                span,
                message,
                format!("give the LUN set count = {GROUP_LUNS_MAX}, or fewer devices"),
            );
            return;
        }
        let luns = set.count().saturating_sub(reserve);
        if luns == 0 {
            let message = format!(
                "{reserve} LUNs in reserve leave the group none of the set {:?}",
                set.name
            );
            let cure = "lower `reserve`, or give the LUN set a higher count";
            findings.add(place(&w.reserve, span), message, cure);
            return;
        }
        let copies = group.redundancy.copies() as usize;
        let groups = group.failure_groups.map_or(luns, |groups| (groups as usize).min(luns));
        if groups < copies {
            let message = format!(
                "{copies} copies need {copies} failure groups, and the LUN set {:?} makes {groups}",
                set.name
            );
            let cure = format!("give the LUN set count = {copies} or more, or write redundancy = \"external\"");
            findings.add(place(&w.redundancy, span), message, cure);
        }
    }

    /// LUNs that are too small for what is made of them.
    fn smallest(&self, findings: &mut Findings) {
        let Named { stack, set, span, .. } = *self;
        let LunSource::Files { size, .. } = &set.source else {
            return;
        };
        let least = stack.kind.least_lun_mib();
        if size.0 < least << 20 {
            let message = format!(
                "the LUNs of {:?} have {size}, and {} needs {}",
                set.name,
                stack.kind.word(),
                Bytes(least << 20)
            );
            findings.add(
                span,
                message,
                format!("make them larger: size = \"{}MiB\" or more", least),
            );
        }
    }
}
