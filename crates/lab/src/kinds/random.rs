//! Phases of kind `random`: on the page engine, whole or in stints, and in SQL.
//!
//! Prevents: random work that is paced in one way whole and in another in stints.

use super::kind::{Kind, OnPages};
use crate::ports::PageEngine;
use crate::sql::works::InSql;
use crate::trial::drive::{Driven, Work, drive_all, random_pacing, random_work};
use crate::trial::on_pages::{InStints, PageWork, Paused, Stage, Stint, Worked, touched_by_draws};
use ledger::PhaseKind;
use pages::{Counters, Shape};
use plan::Random;

impl Kind for Random {
    fn recorded(&self) -> PhaseKind {
        match self.rate {
            Some(_) => PhaseKind::Open,
            None => PhaseKind::Random,
        }
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Work(self)
    }

    fn in_sql(&self) -> Option<&dyn InSql> {
        Some(self)
    }
}

impl PageWork for Random {
    fn run(&self, stage: &mut Stage<'_>) -> anyhow::Result<Worked> {
        let pacing = random_pacing(self, stage.phase().time, stage.cancel());
        stage.all(Work::Random(random_work(self)), pacing, |instance, paced| {
            Ok(paced.run(instance)?)
        })
    }

    fn touched(&self, shape: &Shape, counters: &Counters) -> u64 {
        touched_by_draws(shape, Some(self), counters)
    }

    fn in_stints(&self) -> Option<&dyn InStints> {
        Some(self)
    }
}

impl InStints for Random {
    fn stint(&self, instance: &mut PageEngine, stint: &Stint<'_>, _: &mut Paused) -> anyhow::Result<(Driven, bool)> {
        let pacing = stint.paced(random_pacing(self, Some(stint.time), stint.cancel));
        let mut operations = instance.random(&random_work(self), stint.seed)?;
        let driven = Driven::of(drive_all(&mut operations, &pacing, stint.seed)?);
        Ok((driven, false))
    }
}
