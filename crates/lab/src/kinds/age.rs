//! Phases of kind `age`: every page changed, told as it goes.
//!
//! Prevents: an ageing that one instance tells of and another does in silence.

use super::kind::{Kind, OnPages};
use crate::trial::ageing;
use crate::trial::drive::{SLICE_NS_UNTIMED, Work, closed};
use crate::trial::on_pages::{PageWork, Stage, Worked};
use ledger::PhaseKind;
use pages::{AgeWork, Counters, Shape};
use plan::{Age, RedoStress};
use workloads::Pacing;

impl Kind for Age {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Age
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Work(self)
    }
}

impl PageWork for Age {
    fn run(&self, stage: &mut Stage<'_>) -> anyhow::Result<Worked> {
        // It ends by itself.
        let pacing = Pacing {
            slice_ns: SLICE_NS_UNTIMED,
            ..closed(self.sessions, None, stage.cancel())
        };
        let (work, phase, around) = (work(self), stage.phase(), stage.around);
        stage.all(Work::Age(work), pacing, |instance, paced| {
            Ok(ageing::phase(instance, (phase, &work), around, paced)?)
        })
    }

    /// All.
    fn touched(&self, shape: &Shape, _: &Counters) -> u64 {
        shape.data_bytes()
    }
}

/// The plan's words in the engine's.
fn work(age: &Age) -> AgeWork {
    AgeWork {
        passes: age.passes,
        sessions: age.sessions,
        work_unit: age.work_unit,
        heavy: age.redo_stress == RedoStress::Heavy,
        outstanding: age.outstanding,
    }
}
