//! Phases of kind `redo`: commits alone, whole or in stints.
//!
//! Prevents: commits that are paced in one way whole and in another in stints.

use super::kind::{Kind, OnPages};
use crate::ports::PageEngine;
use crate::trial::drive::{Driven, Work, closed, drive_all};
use crate::trial::on_pages::{InStints, PageWork, Paused, Stage, Stint, Worked};
use ledger::PhaseKind;
use pages::RedoWork;
use plan::Redo;

impl Kind for Redo {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Redo
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Work(self)
    }
}

impl PageWork for Redo {
    fn run(&self, stage: &mut Stage<'_>) -> anyhow::Result<Worked> {
        let pacing = closed(self.sessions, stage.phase().time, stage.cancel());
        stage.all(Work::Redo(work(self)), pacing, |instance, paced| {
            Ok(paced.run(instance)?)
        })
    }

    fn in_stints(&self) -> Option<&dyn InStints> {
        Some(self)
    }
}

impl InStints for Redo {
    fn stint(&self, instance: &mut PageEngine, stint: &Stint<'_>, _: &mut Paused) -> anyhow::Result<(Driven, bool)> {
        let pacing = stint.paced(closed(self.sessions, Some(stint.time), stint.cancel));
        let mut operations = instance.redo(&work(self), stint.seed)?;
        let driven = Driven::of(drive_all(&mut operations, &pacing, stint.seed)?);
        Ok((driven, false))
    }
}

/// The plan's words in the engine's.
fn work(redo: &Redo) -> RedoWork {
    RedoWork {
        sessions: redo.sessions,
        bytes: redo.commit_size.0.min(u64::from(u32::MAX)) as u32,
    }
}
