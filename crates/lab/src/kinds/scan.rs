//! Phases of kind `scan`: full table scans, whole or in stints.
//!
//! Prevents: a scan that begins anew with each stint.

use super::kind::{Kind, OnPages};
use crate::ports::PageEngine;
use crate::trial::drive::{Driven, Work, closed, drive_all};
use crate::trial::on_pages::{InStints, PageWork, Paused, Stage, Stint, Worked};
use ledger::PhaseKind;
use pages::{Counters, ScanOperation, ScanWork, Shape};
use plan::{Phase, Scan};

impl Kind for Scan {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Scan
    }

    fn on_pages(&self) -> OnPages<'_> {
        OnPages::Work(self)
    }
}

impl PageWork for Scan {
    fn run(&self, stage: &mut Stage<'_>) -> anyhow::Result<Worked> {
        let phase = stage.phase();
        let pacing = closed(self.parallel * self.degree, phase.time, stage.cancel());
        stage.all(Work::Scan(work(self, phase)), pacing, |instance, paced| {
            Ok(paced.run(instance)?)
        })
    }

    /// What was read.
    fn touched(&self, shape: &Shape, counters: &Counters) -> u64 {
        counters.multiblock_read_bytes.min(shape.data_bytes())
    }

    fn in_stints(&self) -> Option<&dyn InStints> {
        Some(self)
    }
}

impl InStints for Scan {
    /// Scans from where they were; and whether all have been read to the end.
    fn stint(
        &self,
        instance: &mut PageEngine,
        stint: &Stint<'_>,
        scans: &mut Paused,
    ) -> anyhow::Result<(Driven, bool)> {
        let pacing = stint.paced(closed(self.parallel * self.degree, Some(stint.time), stint.cancel));
        let mut operations = match scans.take() {
            None => instance.scan(&work(self, stint.phase), stint.seed)?,
            Some(paused) => instance.scan_on(paused)?,
        };
        let outcome = drive_all(&mut operations, &pacing, stint.seed)?;
        let through = operations.iter().all(ScanOperation::is_through);
        let driven = Driven::scans(outcome, &operations);
        for operation in &mut operations {
            operation.finish()?;
        }
        *scans = Some(operations.into_iter().map(ScanOperation::pause).collect());
        Ok((driven, through))
    }
}

/// A scan with a time goes round its users until the time is over; without one it scans each of them once.
fn work(scan: &Scan, phase: &Phase) -> ScanWork {
    ScanWork {
        users: scan.users,
        degree: scan.degree,
        parallel: scan.parallel,
        passes: u32::from(phase.time.is_none()),
    }
}
