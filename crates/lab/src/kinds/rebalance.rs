//! Phases of kind `rebalance`: LUNs join and leave while random work runs.
//!
//! Prevents: a change of a stack that has nothing to be changed.

use super::kind::{Kind, OnPages};
use crate::moves::rebalance;
use crate::trial::on_pages::{PageWork, Stage, Worked, touched_by_draws};
use anyhow::Context;
use ledger::PhaseKind;
use pages::{Counters, Shape};
use plan::Rebalance;

impl Kind for Rebalance {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Rebalance
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Work(self)
    }
}

impl PageWork for Rebalance {
    fn run(&self, stage: &mut Stage<'_>) -> anyhow::Result<Worked> {
        let changes = stage.changes;
        let stack = changes.context("no disk group and no volume is here to be rebalanced")?;
        let (phase, around, seed) = (stage.phase(), stage.around, stage.seed());
        let on = (&mut *stage.instance, &mut *stage.others);
        let (driven, told, each) = rebalance::phase(on, stack, (phase, self), around, seed)?;
        Ok(Worked { driven, told, each })
    }

    fn touched(&self, shape: &Shape, counters: &Counters) -> u64 {
        touched_by_draws(shape, Some(&self.work), counters)
    }
}
