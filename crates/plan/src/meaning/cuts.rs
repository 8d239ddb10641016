//! Power cuts, kills and faults: on which LUNs they are possible at all.
//!
//! Takes the phases as written; gives [`PowerCut`]s and [`DeviceFault`]s, and findings where they stand on nothing
//! that can lose its power or be killed. Prevents: a power cut on a real device, which nobody can order, one that
//! loses nothing because somebody has written that nothing is volatile, and a kill of somebody else's server.

use super::settle::Settle;
use crate::error::{Findings, Span};
use crate::study::{
    CutWork, DeviceFault, DeviceModel, End, FaultKind, LunSet, LunSource, PowerCut, Stack, Study, WEAKER, ZfsWay,
};
use crate::units::{Bytes, Duration};
use crate::written::{FaultWord, Limits, Spans, WrittenPhase, WrittenStack, WrittenStudy};

pub(super) fn power_cut(phase: &WrittenPhase, work: CutWork, end: End, settle: &mut Settle<'_>) -> PowerCut {
    let (count, what, ends_with) = match end {
        End::PowerCut => (phase.cuts(), "cut", "with the power"),
        End::Kill => (phase.kills(), "kill", "with the engine"),
    };
    let (earliest, latest) = (phase.earliest(), phase.latest());
    let usual = Duration(earliest.value().max(earliest.usual).0.saturating_mul(5));
    let usual = latest.limits.nearest(usual);
    let latest = latest.or(usual);
    if let Some(late) = earliest.outside().or(latest.outside()) {
        let most = latest.limits.nearest(late.value);
        let message = format!(
            "the {what} may come after {} of work, which is more than {most}",
            late.value
        );
        let cure = format!("write at most latest = \"{most}\", and more `{}`", count.key);
        settle.findings.add(&late.span, message, cure);
    } else if latest.value() < earliest.value() || latest.value().0 == 0 {
        let message = format!("the {what} comes between {} and {}", earliest.value(), latest.value());
        settle.findings.add(
            latest.span(&phase.span),
            message,
            "write `latest` above `earliest`: latest = \"1s\"",
        );
    }
    if let Some(at) = phase.work_loop.as_ref().filter(|at| at.value > 0) {
        let message = format!("the work of a {} has no number of operations", end.noun());
        let cure = format!("remove it: the work ends {ends_with}");
        settle.findings.add(&at.span, message, cure);
    }
    PowerCut {
        end,
        cuts: settle.count(&count),
        earliest: earliest.value(),
        latest: latest.value(),
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
        let limits = Limits::from(0..=u64::from(count.saturating_sub(1)));
        let lun = written.lun.as_ref().and_then(|at| settle.within("lun", at, &limits));
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
            lun: lun.unwrap_or(0),
            kind,
            after: written.after.as_ref().map_or(Duration(0), |at| at.value),
            time: written.time.as_ref().map(|at| at.value),
        });
    }
    faults
}

/// Keys of random work that a phase cannot have whose sessions do other work.
const OF_RANDOM: &[&str] = &[
    "update_pct",
    "scan_pct",
    "work_unit",
    "redo_stress",
    "outstanding",
    "think_tm_frequency",
    "hot_schema_frequency",
    "rate",
];

/// Keys of the work of a file server.
const OF_FILES: &[&str] = &[
    "mix",
    "work",
    "data_size",
    "accessed",
    "sizes",
    "files_per_directory",
    "lookups_failed",
    "append",
    "stable",
    "rename",
];

/// Those of the keys that stand in a phase.
fn standing<'p>(keys: &'p [&str], phase: &'p WrittenPhase) -> impl Iterator<Item = (&'p str, &'p Span)> {
    keys.iter().filter_map(|key| Some((*key, phase.span_of(key)?)))
}

fn count_key(end: End) -> &'static str {
    match end {
        End::PowerCut => "cuts",
        End::Kill => "kills",
    }
}

/// Under a database in SQL sessions write rows that can be looked up: SLOB's parameters have no meaning there.
pub(super) fn in_sql(phase: &WrittenPhase, end: End, study: &Study, findings: &mut Findings) {
    for (key, at) in standing(OF_RANDOM, phase) {
        let (what, count) = (end.noun(), count_key(end));
        let message = format!("a {what} under a database in SQL has no `{key}`: each session writes rows");
        let cure = format!("remove it; `sessions`, `{count}`, `earliest` and `latest` remain");
        findings.add(at, message, cure);
    }
    if study.phases.iter().any(|phase| phase.kind.cut().is_none()) {
        let message = match end {
            End::PowerCut => "a study of a database in SQL cuts the power or measures, not both",
            End::Kill => "a study of a database in SQL kills it or measures, not both",
        };
        findings.add(&phase.span, message, "make two studies of it");
    }
}

/// Under a file server SLOB's parameters have no meaning, and under a database those of files have none.
pub(super) fn foreign_work(phase: &WrittenPhase, work: &CutWork, end: End, findings: &mut Findings) {
    let what = end.noun();
    match work {
        CutWork::Files(_) => standing(OF_RANDOM, phase).for_each(|(key, at)| {
            let message = format!("a {what} under a file server has no `{key}`");
            findings.add(
                at,
                message,
                "remove it: `mix`, `work` and what belongs to them say what users do",
            );
        }),
        CutWork::Random(_) => standing(OF_FILES, phase).for_each(|(key, at)| {
            let message = format!("`{key}` is of file serving, and this study serves no files");
            findings.add(at, message, "remove it, or write [files] instead of [database]");
        }),
    }
}

/// A power cut needs LUNs that can lose their power under every stack; a kill needs an engine that is ours to kill.
pub(super) fn check(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    for end in [End::PowerCut, End::Kill] {
        let nth = study.phases.iter().position(|phase| phase.kind.is_ended_by(end));
        let Some(phase) = nth.and_then(|nth| written.phases.get(nth)) else {
            continue;
        };
        if study.phases.iter().any(|phase| phase.kind.is_move()) {
            let message = match end {
                End::PowerCut => "a study cuts the power or moves data, not both",
                End::Kill => "a study kills the engine or moves data, not both",
            };
            findings.add(&phase.span, message, "make two studies of it");
        }
        for (stack, w) in study.stacks.iter().zip(&written.stacks) {
            match end {
                End::PowerCut => can_lose_power(written, study, (stack, w), findings),
                End::Kill => can_be_killed(stack, w, findings),
            }
        }
    }
}

fn can_be_killed(stack: &Stack, w: &WrittenStack, findings: &mut Findings) {
    if let Some(why) = stack.kind.not_killed() {
        let message = format!("stack {:?} cannot be killed: {why}", stack.name);
        findings.add(&w.span, message, "use stacks that this machine builds, or a directory");
    }
}

fn can_lose_power(written: &WrittenStudy, study: &Study, one: (&Stack, &WrittenStack), findings: &mut Findings) {
    let (stack, w) = one;
    if let Some((why, cure)) = stack.kind.not_powered() {
        let message = format!("the power of stack {:?} cannot be cut: {why}", stack.name);
        findings.add(&w.span, message, cure);
    } else if stack.kind.pool().is_some_and(|zfs| zfs.via == Some(ZfsWay::Kernel)) {
        let message = "a pool of the kernel's module waits for ever for devices that have no power";
        let at = w.zfs.via.as_ref().map_or(&w.span, |at| &at.span);
        let cure = format!("write via = \"userspace\" or via = \"fuse\", whose process ends with its LUNs; {WEAKER}");
        findings.add(at, message, cure);
    }
    for name in stack.lun_sets() {
        let Some(set) = study.luns.iter().find(|set| set.name == *name) else {
            continue;
        };
        let at = written.luns.iter().find(|w| w.name.value == *name);
        let at = at.map_or(&w.span, |w| &w.name.span);
        match &set.device {
            None => {
                let message = format!("the power of LUN set {name:?} cannot be cut: it is real");
                let cure = format!("give it a model: model = \"plain\" has no times of its own; or {WEAKER}");
                findings.add(at, message, cure);
            }
            // Of other models nothing may be volatile because they are what they are: then a cut shows
            // what the stack leaves unflushed.
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
