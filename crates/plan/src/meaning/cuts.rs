//! Power cuts and faults: on which LUNs they are possible at all.
//!
//! Takes the phases as written; gives [`PowerCut`]s and [`DeviceFault`]s, and findings where they stand on nothing that can lose its
//! power. Prevents: a power cut on a real device, which nobody can order, and one that
//! loses nothing because somebody has written that nothing is volatile.

use super::{Settle, or};
use crate::cut::{DeviceFault, FaultKind, PowerCut};
use crate::device::DeviceModel;
use crate::error::{Findings, Span};
use crate::study::{LunSet, LunSource, PhaseKind, Random, StackKind, Study};
use crate::units::{Bytes, Duration};
use crate::written::{FaultWord, WrittenPhase, WrittenStudy};
use crate::zfs::ZfsWay;

const MILLISECOND: u64 = 1_000_000;

pub(super) fn power_cut(phase: &WrittenPhase, work: Random, settle: &mut Settle<'_>) -> PowerCut {
    let home = &phase.span;
    let earliest = or(&phase.earliest, Duration(200 * MILLISECOND), home);
    let latest = or(
        &phase.latest,
        Duration(earliest.value.0.max(200 * MILLISECOND).saturating_mul(5)),
        home,
    );
    if latest.value < earliest.value || latest.value.0 == 0 {
        let message = format!("the cut comes between {} and {}", earliest.value, latest.value);
        settle.findings.add(
            &latest.span,
            message,
            "write `latest` above `earliest`: latest = \"1s\"",
        );
    }
    if let Some(at) = phase.work_loop.as_ref().filter(|at| at.value > 0) {
        let cure = "remove it: the work ends with the power";
        settle
            .findings
            .add(&at.span, "the work of a power cut has no number of operations", cure);
    }
    PowerCut {
        cuts: settle.count(&phase.cuts, "cuts", 1, 1..=10_000, home),
        earliest: earliest.value,
        latest: latest.value,
        work,
    }
}

/// Faults of a phase, on LUN sets that have a model.
pub(super) fn faults(phase: &WrittenPhase, luns: &[LunSet], settle: &mut Settle<'_>) -> Vec<DeviceFault> {
    let mut faults = Vec::new();
    for written in &phase.faults {
        let (Some(kind), Some(name)) = (&written.kind, &written.luns) else {
            continue;
        };
        let set = luns.iter().find(|set| set.name == name.value);
        let Some(set) = set.filter(|set| set.device.is_some()) else {
            let (message, cure) = match set {
                None => (
                    format!("no LUN set is called {:?}", name.value),
                    "name one of [luns.NAME]".to_string(),
                ),
                Some(_) => (
                    format!("LUN set {:?} is real: nothing can be planted in it", name.value),
                    "give the set a model: model = \"plain\"".to_string(),
                ),
            };
            settle.findings.add(&name.span, message, cure);
            continue;
        };
        let (count, size) = match &set.source {
            LunSource::Files { count, size, .. } => (*count, size.0),
            LunSource::Devices { .. } => (1, 0),
        };
        let lun = settle.count(&written.lun, "lun", 0, 0..=count.saturating_sub(1), &written.span);
        let offset = written.offset.as_ref().map_or(Bytes(0), |at| at.value);
        let length = written.length.as_ref().map_or(Bytes(0), |at| at.value);
        if let Some(at) = written.offset.as_ref().filter(|_| offset.0 >= size) {
            let cure = format!("the LUN has {}: begin below that", Bytes(size));
            settle
                .findings
                .add(&at.span, format!("no byte {offset} is there"), cure);
        }
        let kind = match kind.value {
            FaultWord::Error => FaultKind::Error { offset, length },
            FaultWord::Corrupt => FaultKind::Corrupt { offset, length },
            FaultWord::Vanish => FaultKind::Vanish,
            FaultWord::Slow => FaultKind::Slow {
                by: written.by.as_ref().map_or(Duration(0), |at| at.value),
            },
        };
        faults.push(DeviceFault {
            luns: name.value.clone(),
            lun,
            kind,
            after: written.after.as_ref().map_or(Duration(0), |at| at.value),
            time: written.time.as_ref().map(|at| at.value),
        });
    }
    faults
}

/// Under a database in SQL sessions write rows that can be looked up: SLOB's parameters have no meaning there.
pub(super) fn in_sql(phase: &WrittenPhase, study: &Study, findings: &mut Findings) {
    let span = |at: Option<&Span>| at.cloned();
    let asked = [
        ("update_pct", span(phase.update_pct.as_ref().map(|at| &at.span))),
        ("scan_pct", span(phase.scan_pct.as_ref().map(|at| &at.span))),
        ("work_unit", span(phase.work_unit.as_ref().map(|at| &at.span))),
        ("redo_stress", span(phase.redo_stress.as_ref().map(|at| &at.span))),
        ("outstanding", span(phase.outstanding.as_ref().map(|at| &at.span))),
        (
            "think_tm_frequency",
            span(phase.think_tm_frequency.as_ref().map(|at| &at.span)),
        ),
        (
            "hot_schema_frequency",
            span(phase.hot_schema_frequency.as_ref().map(|at| &at.span)),
        ),
        ("rate", span(phase.rate.as_ref().map(|at| &at.span))),
    ];
    for (key, at) in asked {
        if let Some(at) = at {
            let message = format!("a power cut under a database in SQL has no `{key}`: each session writes rows");
            findings.add(
                &at,
                message,
                "remove it; `sessions`, `cuts`, `earliest` and `latest` remain",
            );
        }
    }
    let other = |kind: &PhaseKind| !matches!(kind, PhaseKind::PowerCut(_));
    if study.phases.iter().any(|phase| other(&phase.kind)) {
        findings.add(
            &phase.span,
            "a study of a database in SQL cuts the power or measures, not both",
            "make two studies of it",
        );
    }
}

/// A power cut needs LUNs that can lose their power under every stack.
pub(super) fn check(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let cut = |kind: &PhaseKind| matches!(kind, PhaseKind::PowerCut(_));
    let Some(nth) = study.phases.iter().position(|phase| cut(&phase.kind)) else {
        return;
    };
    let Some(phase) = written.phases.get(nth) else { return };
    let moved = |kind: &PhaseKind| matches!(kind, PhaseKind::Copy(_) | PhaseKind::Rebalance(_));
    if study.phases.iter().any(|phase| moved(&phase.kind)) {
        findings.add(
            &phase.span,
            "a study cuts the power or moves data, not both",
            "make two studies of it",
        );
    }
    for (stack, w) in study.stacks.iter().zip(&written.stacks) {
        if matches!(stack.kind, StackKind::Directory { .. } | StackKind::Model(_)) {
            let message = format!(
                "the power of stack {:?} cannot be cut: it stands on no LUN set",
                stack.name
            );
            findings.add(&w.span, message, "use stacks on LUN sets that have a model");
        }
        if let StackKind::Zfs(zfs) = &stack.kind
            && zfs.via == Some(ZfsWay::Kernel)
        {
            let message = "a pool of the kernel's module waits for ever for devices that have no power";
            let at = w.zfs.via.as_ref().map_or(&w.span, |at| &at.span);
            findings.add(
                at,
                message,
                "write via = \"userspace\" or via = \"fuse\", whose process ends with its LUNs",
            );
        }
        for name in stack.lun_sets() {
            let Some(set) = study.luns.iter().find(|set| set.name == *name) else {
                continue;
            };
            let at = written
                .luns
                .iter()
                .find(|w| w.name.value == *name)
                .map(|w| &w.name.span);
            let at = at.unwrap_or(&w.span);
            match &set.device {
                None => findings.add(
                    at,
                    format!("the power of LUN set {name:?} cannot be cut: it is real"),
                    "give it a model: model = \"plain\" has no times of its own",
                ),
                // Of other models nothing may be volatile because they are what they are: then a cut shows what the stack leaves unflushed.
                Some(device)
                    if device.volatile.0 == 0 && matches!(device.model, DeviceModel::Plain | DeviceModel::Custom) =>
                {
                    findings.add(
                        at,
                        format!("a power cut loses nothing of LUN set {name:?}: nothing on it is volatile"),
                        "write how many bytes may lie unflushed: volatile = \"32MiB\"",
                    )
                }
                Some(_) => {}
            }
        }
    }
}
