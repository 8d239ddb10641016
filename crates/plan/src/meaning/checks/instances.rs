//! Contradictions between several instances on a stack and what they are asked to do.
//!
//! Takes the study as written and as meant; gives findings. Prevents: an instance without a schema, a session or a
//! thread, and a phase that one process alone can run.

use super::places::{kind_place, place};
use crate::error::Findings;
use crate::study::{PhaseKind, Redundancy, Stack, Study, ZfsWay};
use crate::written::{WrittenPhase, WrittenStack, WrittenStudy};

pub(super) fn all(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let both = || written.stacks.iter().zip(&study.stacks);
    for (w, stack) in both().filter(|(_, stack)| stack.instances > 1) {
        of_stack(written, (w, stack), study, findings);
    }
    if !study.stacks.iter().any(|stack| stack.instances > 1) {
        return;
    }
    for (w, phase) in written.phases.iter().zip(&study.phases) {
        of_phase(w, &phase.kind, findings);
    }
}

fn of_stack(written: &WrittenStudy, (w, stack): (&WrittenStack, &Stack), study: &Study, findings: &mut Findings) {
    let (name, count) = (&stack.name, stack.instances);
    let said = place(&w.instances, kind_place(w));
    if !stack.engine.is_pages() {
        let message = format!(
            "{name:?} has {}, and only the page engine has instances",
            stack.engine.word()
        );
        findings.add(said, message, "remove `instances`, or write engine = \"pages\"");
        return;
    }
    if let Some(zfs) = stack.kind.pool()
        && zfs.via.is_none_or(|way| way == ZfsWay::Userspace)
    {
        let message = format!("the pool of {name:?} is in a process, which serves one instance");
        findings.add(said, message, "write via = \"kernel\" or \"fuse\", or instances = 1");
    }
    if let Some(group) = stack.kind.disk_group()
        && group.redundancy != Redundancy::External
    {
        let message = format!(
            "the disk group of {name:?} is mirrored: it records which regions are being written, and one process alone \
             can"
        );
        let cure = "write redundancy = \"external\", or instances = 1";
        findings.add(place(&w.redundancy, said), message, cure);
    }
    let workers = study.workers;
    if !workers.is_multiple_of(count) {
        let message = format!("{count} instances of {name:?} cannot share {workers} `workers` equally");
        let cure = format!("write workers = {} in [study]", workers.div_ceil(count) * count);
        findings.add(place(&written.header.workers, said), message, cure);
    }
}

fn of_phase(w: &WrittenPhase, kind: &PhaseKind, findings: &mut Findings) {
    let what = match (kind.copy(), kind.cut()) {
        (Some(_), _) => "a copy",
        (_, Some(_)) => "a power cut or a kill under several instances",
        _ => return,
    };
    let message = format!("{what} is not in this version: one process alone can run it");
    findings.add(
        place(&w.kind, &w.span),
        message,
        "put this phase into a study of one instance",
    );
}
