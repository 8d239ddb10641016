//! Contradictions between several instances on a stack and what they are asked to do.
//!
//! Takes the study as written and as meant; gives findings. Prevents: an instance without a schema, a session or a
//! thread, a phase that one process alone can run, and a host that works on storage of its own.

use super::places::{kind_place, place};
use crate::error::Findings;
use crate::study::{Access, LunSource, PhaseKind, Redundancy, Stack, Study, Via, ZfsWay};
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
    if study.instances.is_some_and(|all| all.via == Via::Mpi) {
        on_hosts((w, stack), study, findings);
    }
    let workers = study.workers;
    if !workers.is_multiple_of(count) {
        let message = format!("{count} instances of {name:?} cannot share {workers} `workers` equally");
        let cure = format!("write workers = {} in [study]", workers.div_ceil(count) * count);
        findings.add(place(&written.header.workers, said), message, cure);
    }
}

/// What several hosts cannot share.
fn on_hosts((w, stack): (&WrittenStack, &Stack), study: &Study, findings: &mut Findings) {
    let name = &stack.name;
    if !stack.kind.is_of_several_hosts() {
        let message =
            format!("the stack {name:?} belongs to one host, and its instances are on several (via = \"mpi\")");
        let cure = "write kind = \"raw\", \"diskgroup\", or \"directory\" in a file system that all hosts have mounted";
        findings.add(kind_place(w), message, cure);
        return;
    }
    let home = kind_place(w);
    if stack.access == Access::Buffered {
        let message = format!(
            "{name:?} goes through the page cache of each host, and its instances are on several: no host sees what \
             another one's cache holds or serves"
        );
        findings.add(
            place(&w.access, home),
            message,
            "write access = \"direct\", or remove it",
        );
    }
    for (set, at) in [(&stack.data, place(&w.data, home)), (&stack.redo, place(&w.redo, home))] {
        let Some(set) = study.luns.iter().find(|found| Some(&found.name) == set.as_ref()) else {
            continue;
        };
        let (message, cure) = match (&set.source, &set.device) {
            (LunSource::Files { .. }, _) => (
                format!(
                    "the LUNs of {:?} are files of one host, and the instances are on several",
                    set.name
                ),
                "write devices = [...]: block devices that each host finds at the same path",
            ),
            (_, Some(_)) => (
                format!(
                    "the LUNs of {:?} are modelled by one host, and the instances are on several",
                    set.name
                ),
                "remove `model` of the LUN set, or write via = \"processes\"",
            ),
            _ => continue,
        };
        findings.add(at, message, cure);
    }
}

fn of_phase(w: &WrittenPhase, kind: &PhaseKind, findings: &mut Findings) {
    let Some(what) = kind.own().one_process() else {
        return;
    };
    let message = format!("{what} is not in this version: one process alone can run it");
    findings.add(
        place(&w.kind, &w.span),
        message,
        "put this phase into a study of one instance",
    );
}
