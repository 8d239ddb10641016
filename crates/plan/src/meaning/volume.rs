//! Stacks of kinds `lvm` and `md`: what was written, and what a layout or level does not have.
//!
//! Takes the section and the LUN sets, gives a [`Volume`]. Prevents: a key without effect on the layout it stands
//! beside, and a tool that refuses in the middle of a study.

use super::file_systems::file_system;
use super::settle::{MIB, Settle};
use crate::error::{Findings, Span};
use crate::study::{
    FileSystem, FileSystemKind, LunSet, LunSource, Lvm, LvmLayout, Manager, Md, MdLevel, Resync, Snapshot, Volume,
};
use crate::units::Bytes;
use crate::written::{At, Said, VolumeTop, WrittenStack};

pub(super) fn lvm(w: &WrittenStack, settle: &mut Settle<'_>) -> Volume {
    let keys = &w.volume;
    let layout = keys.layout().value();
    let (thin, snapshot) = (keys.thin().value(), keys.snapshot().value());
    if layout != LvmLayout::Striped {
        let cure = "remove it, or write layout = \"striped\"";
        refuse(&keys.stripes, "`stripes` belongs to layout = \"striped\"", cure, settle);
        refuse(
            &keys.stripe_size,
            "`stripe_size` belongs to layout = \"striped\"",
            cure,
            settle,
        );
    }
    if layout != LvmLayout::Raid1 {
        let cure = "remove it, or write layout = \"raid1\"";
        refuse(
            &keys.resync,
            "`resync` belongs to layout = \"raid1\": nothing else has copies",
            cure,
            settle,
        );
    }
    let top = top(w, settle);
    if thin && layout == LvmLayout::Raid1 {
        let cure = "write layout = \"linear\" or \"striped\", or leave `thin` out";
        refuse(&keys.thin, "this version makes no pool of two copies", cure, settle);
    }
    if thin && top.is_none() {
        let cure = "write fs = \"ext4\" or \"xfs\", or leave `thin` out";
        let message = "a thin volume used as a device is not made: the engine fills its device whole at the load";
        refuse(&keys.thin, message, cure, settle);
    }
    match (snapshot, thin) {
        (Snapshot::Cow, true) => {
            let cure = "write snapshot = \"thin\", or leave `thin` out";
            refuse(
                &keys.snapshot,
                "a thin volume has snapshots of its own kind",
                cure,
                settle,
            );
        }
        (Snapshot::Thin, false) => {
            let cure = "write thin = true, or snapshot = \"cow\"";
            refuse(&keys.snapshot, "only a thin volume has thin snapshots", cure, settle);
        }
        _ => {}
    }
    let lvm = Lvm {
        layout,
        stripes: settle.count_if_said(&keys.stripes()),
        stripe_size: size(&keys.stripe_size(), settle),
        thin,
        snapshot,
        resync: keys.resync().value(),
    };
    volume(w, Manager::Lvm(lvm), top, settle)
}

pub(super) fn md(w: &WrittenStack, settle: &mut Settle<'_>) -> Volume {
    let keys = &w.volume;
    // Where it says none, that was reported.
    let level = keys.level.as_ref().map_or(MdLevel::Raid0, |at| at.value);
    let resync = keys.resync().value();
    match level {
        MdLevel::Raid0 => {
            let cure = "remove it, or write another `level`";
            refuse(
                &keys.resync,
                "raid0 has nothing that could be made the same",
                cure,
                settle,
            );
            refuse(&keys.bitmap, "raid0 has no bitmap", cure, settle);
        }
        MdLevel::Raid1 => {
            let cure = "remove it, or write level = \"raid10\", which has chunks";
            refuse(
                &keys.chunk,
                "raid1 has no chunks: each LUN holds all of it",
                cure,
                settle,
            );
        }
        MdLevel::Raid5 if resync == Resync::Assume => {
            let cure = "write resync = \"wait\": parity that is only assumed reads wrong data when a LUN is lost";
            refuse(&keys.resync, "the parity of raid5 cannot be assumed", cure, settle);
        }
        MdLevel::Raid5 | MdLevel::Raid10 => {}
    }
    let md = Md {
        level,
        chunk: size(&keys.chunk(), settle),
        resync,
        bitmap: keys.bitmap().value(),
    };
    let top = top(w, settle);
    volume(w, Manager::Md(md), top, settle)
}

/// With the reserve, which a volume must be able to use.
fn volume(w: &WrittenStack, manager: Manager, top: Option<FileSystem>, settle: &mut Settle<'_>) -> Volume {
    let reserve = settle.count(&w.reserve());
    let volume = Volume { manager, top, reserve };
    if let Some(why) = volume.holds_fast().filter(|_| reserve > 0) {
        let message = format!("a reserve is of no use here: {why}");
        refuse(
            &w.reserve,
            &message,
            "remove it, or choose another layout or level",
            settle,
        );
    }
    volume
}

fn refuse<T>(written: &Option<At<T>>, message: &str, cure: &str, settle: &mut Settle<'_>) {
    if let Some(at) = written {
        settle.findings.add(&at.span, message, cure);
    }
}

fn size(key: &Said<'_, Bytes>, settle: &mut Settle<'_>) -> Bytes {
    if let Some(at) = key.odd() {
        let message = format!("`{}` is {}, no power of two from 4 KiB to 4 MiB", key.key, at.value);
        settle
            .findings
            .add(&at.span, message, format!("write {}", key.example()));
    }
    key.value()
}

fn top(w: &WrittenStack, settle: &mut Settle<'_>) -> Option<FileSystem> {
    let kind = match w.volume.fs().value() {
        VolumeTop::Ext4 => FileSystemKind::Ext4,
        VolumeTop::Xfs => FileSystemKind::Xfs,
        VolumeTop::None => {
            let cure = "remove it: a volume without a file system has none of its options";
            for options in [&w.mount_options, &w.mkfs_options] {
                refuse(options, "options of a file system, and fs = \"none\"", cure, settle);
            }
            return None;
        }
    };
    Some(file_system(w, kind, settle))
}

/// A LUN set must have the LUNs that the layout needs beside `reserve` of them, with room for what stands on it.
pub(super) fn fits(
    (w, volume): (&WrittenStack, &Volume),
    (set, reserve): (&LunSet, u32),
    span: &Span,
    findings: &mut Findings,
) {
    let luns = set.count().saturating_sub(reserve as usize);
    let (least, asked_by) = volume.least_luns();
    if luns < least {
        let beside = if reserve > 0 { " beside its reserve" } else { "" };
        let message = format!("{asked_by} needs {least} LUNs, and {:?} has {luns}{beside}", set.name);
        let count = least + reserve as usize;
        findings.add(
            span,
            message,
            format!("give the LUN set count = {count} or more, or choose another layout"),
        );
        return;
    }
    if let Manager::Lvm(lvm) = &volume.manager
        && let Some(stripes) = lvm.stripes.filter(|stripes| *stripes as usize > luns)
    {
        let at = w.volume.stripes.as_ref().map_or(span, |at| &at.span);
        let message = format!("{stripes} stripes need {stripes} LUNs, and {:?} has {luns}", set.name);
        findings.add(
            at,
            message,
            format!("write stripes = {luns} or fewer, or give the LUN set a higher count"),
        );
        return;
    }
    if matches!(&volume.manager, Manager::Lvm(lvm) if lvm.layout == LvmLayout::Raid1) && luns % 2 == 1 {
        let message = format!(
            "a mirror of LVM has each copy on half of the LUNs, and {:?} has {luns}",
            set.name
        );
        let (fewer, more) = (luns - 1 + reserve as usize, luns + 1 + reserve as usize);
        findings.add(span, message, format!("give the LUN set count = {fewer} or {more}"));
        return;
    }
    let LunSource::Files { size, count, .. } = &set.source else {
        return;
    };
    let least = volume.top.as_ref().map_or(4, |top| top.row().least_lun_mib) * MIB;
    let count = count.saturating_sub(reserve);
    let total = size.0.saturating_mul(u64::from(count));
    if volume.room(total, count) < least {
        let message = format!(
            "the LUNs of {:?} have {}, and their volume would be smaller than {}",
            set.name,
            Bytes(total),
            Bytes(least)
        );
        findings.add(
            span,
            message,
            "make the LUNs larger, or give the set more of them; a snapshot halves the room",
        );
    }
}
