//! Phases of kind `rebalance`.
//!
//! Takes a phase as written; gives [`Rebalance`]. Prevents: a rebalance that moves nothing, and one that has nothing to
//! be compared with.

use super::asked::Asked;
use super::random::random;
use crate::meaning::settle::Settle;
use crate::study::Rebalance;
use crate::units::Duration;
use crate::written::{At, Said, WrittenPhase};

pub(super) fn phase(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
    let work = random(phase, settle);
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
    let rebalance = Rebalance {
        add,
        drop,
        power: settle.count(&phase.power()),
        before: window(phase.before(), settle),
        after: window(phase.after(), settle),
        work,
    };
    Asked::of(rebalance)
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
