//! The kinds of phase in the lab: one row and one file each.
//!
//! Takes a kind of the study; gives what the lab does in it ([`Kind`]). Prevents: a kind that a study may name and that
//! nobody runs.

mod age;
mod bulk;
mod copy;
mod files;
mod kind;
mod power_cut;
mod random;
mod rebalance;
mod redo;
mod scan;
mod tpcc;
mod tpch;

pub(crate) use kind::{OnFiles, OnPages};

use kind::Kind;
use plan::{PhaseKind, Study};

/// What the lab does in a phase of this kind.
pub(crate) fn of(kind: &PhaseKind) -> &dyn Kind {
    match kind {
        PhaseKind::Random(random) => random,
        PhaseKind::Scan(scan) => scan,
        PhaseKind::Age(age) => age,
        PhaseKind::Redo(redo) => redo,
        PhaseKind::Copy(copy) => copy,
        PhaseKind::Rebalance(rebalance) => rebalance,
        PhaseKind::Tpcc(tpcc) => tpcc,
        PhaseKind::Tpch(tpch) => tpch,
        PhaseKind::Bulk(bulk) => bulk,
        PhaseKind::PowerCut(cut) => cut,
        PhaseKind::Files(serving) => serving,
    }
}

/// What the result file calls each phase of a study, in order.
pub(crate) fn recorded(study: &Study) -> Vec<ledger::PhaseKind> {
    study.phases.iter().map(|phase| of(&phase.kind).recorded()).collect()
}
