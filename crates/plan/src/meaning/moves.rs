//! Phases that move data: copies to another stack, and LUNs that join and leave a disk group.
//!
//! Takes the phases as written; gives [`Copy`] and [`Rebalance`]. Prevents: a move without a source or a target,
//! and one that never ends (a rebalance of power 0).

use super::settle::Settle;
use crate::study::{Copy, CopyTarget, Random, Rebalance};
use crate::units::Duration;
use crate::written::{At, Said, WrittenPhase, case};

/// Chunks of a copy that may be on their way at once.
const CHUNKS_MAX: u64 = 64;

pub(super) fn copy(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Copy {
    let home = &phase.span;
    let to = match &phase.to {
        Some(at) if at.value == "home" => CopyTarget::Home,
        Some(at) => CopyTarget::Stack(at.value.clone()),
        None => {
            let cure = "name the stack that takes the database: to = \"xfs\", or \"home\" for the way back";
            settle.findings.add(home, "this copy has no `to`", cure);
            CopyTarget::Home
        }
    };
    let chunk = phase.chunk();
    if let Some(at) = chunk.odd() {
        let message = format!("a copy cannot go in requests of {}", at.value);
        let cure = format!("write a power of two from {}: {}", chunk.limits, chunk.example());
        settle.findings.add(&at.span, message, cure);
    }
    Copy {
        to,
        data: phase.data.as_ref().map(|at| at.value.clone()),
        redo: phase.redo.as_ref().map(|at| at.value.clone()),
        chunk: chunk.value(),
        outstanding: settle.count(&phase.outstanding().or(case::COPY_CHUNKS).at_most(CHUNKS_MAX)),
        verify: phase.verify().value(),
    }
}

pub(super) fn rebalance(phase: &WrittenPhase, work: Random, settle: &mut Settle<'_>) -> Rebalance {
    let home = &phase.span;
    if let Some(at) = phase.work_loop.as_ref().filter(|at| at.value > 0) {
        let cure = "remove it: the work goes on until the rebalance is done, and for `after` more";
        settle
            .findings
            .add(&at.span, "the work of a rebalance has no number of operations", cure);
    }
    let add = disks(&phase.add, "add", settle);
    let drop = disks(&phase.drop, "drop", settle);
    let said = |written: &Option<At<Vec<String>>>| written.as_ref().is_some_and(|at| !at.value.is_empty());
    if !said(&phase.add) && !said(&phase.drop) {
        let cure = "name LUNs of the set by their number: add = [\"disk5\"], drop = [\"disk0\"]";
        settle
            .findings
            .add(home, "this rebalance neither adds nor drops a LUN", cure);
    }
    let window = |key: Said<'_, Duration>, settle: &mut Settle<'_>| {
        if let Some(at) = key.written.filter(|at| at.value.0 == 0) {
            settle.findings.add(
                &at.span,
                format!("`{}` cannot be 0s: there would be nothing to compare with", key.key),
                format!("write how long the work runs: {}", key.example()),
            );
        }
        key.value()
    };
    Rebalance {
        add,
        drop,
        power: settle.count(&phase.power()),
        before: window(phase.before(), settle),
        after: window(phase.after(), settle),
        work,
    }
}

/// LUN numbers from names such as \"disk5\".
fn disks(written: &Option<At<Vec<String>>>, key: &str, settle: &mut Settle<'_>) -> Vec<u32> {
    let Some(at) = written else { return Vec::new() };
    let mut luns = Vec::new();
    for name in &at.value {
        let number = name.strip_prefix("disk").and_then(|digits| digits.parse::<u32>().ok());
        match number.filter(|number| format!("disk{number}") == *name && !luns.contains(number)) {
            Some(number) => luns.push(number),
            None => {
                let cure = format!("name each LUN once, by its number in the set, from 0: {key} = [\"disk5\"]");
                settle.findings.add(&at.span, format!("`{key}` holds {name:?}"), cure);
            }
        }
    }
    luns
}
