//! What surrounds a phase in a trial, and how a finished one becomes rows of the result file.
//!
//! For every database and every kind of phase alike. Prevents: a phase that ran, or failed, and stands nowhere.

use crate::full;
use crate::not_kept;
use crate::record::{self, unix_ns};
use crate::signals;
use crate::sizes::Sizes;
use crate::trial::done::Done;
use crate::turn::Turn;
use anyhow::Context;
use ledger::{Ledger, Measure, PhaseRun, PhaseStatus, TrialId};
use pages::Shape;
use plan::{Phase, Study};
use std::time::Duration;

/// What stays the same through a trial, or through a leg of it between two copies.
pub(crate) struct Around<'a> {
    pub(crate) study: &'a Study,
    /// Of the page engine; `None` where another database works.
    pub(crate) sizes: Option<&'a Sizes>,
    pub(crate) trial: TrialId,
    pub(crate) stack: &'a str,
    pub(crate) turn: &'a Turn<'a>,
    /// Recorded with every phase.
    pub(crate) fixed: Vec<(Measure, f64)>,
}

/// What can follow a recorded phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next phase.
    Next,
    /// None, for the stack has no space left.
    Full,
}

impl Around<'_> {
    /// Of the page engine's database.
    pub(crate) fn shape(&self) -> &Shape {
        &self.sizes.expect("the page engine has sizes").shape
    }

    /// Runs `work` as a phase of the ledger, and counts it as progress.
    pub(crate) fn recorded(
        &self,
        ledger: &mut Ledger,
        ordinal: usize,
        work: impl FnOnce() -> anyhow::Result<Done>,
    ) -> anyhow::Result<After> {
        let phase = &self.study.phases[ordinal];
        if phase.rest.0 > 0 {
            self.doing(phase, " · resting");
            signals::wait(self.turn.cancel, Duration::from_nanos(phase.rest.0))?;
        }
        self.doing(phase, "");
        let began = unix_ns();
        let done = work();
        self.record(ledger, ordinal, began, done)
    }

    /// Records a phase that began at that time and ended with `done`, and counts as progress what is over with it.
    pub(crate) fn record(
        &self,
        ledger: &mut Ledger,
        ordinal: usize,
        began: u64,
        done: anyhow::Result<Done>,
    ) -> anyhow::Result<After> {
        let run = self.run(ordinal, began);
        let after = match done {
            Ok(done) if done.failed.is_some() => return Err(self.failed(ledger, run, done)?),
            Ok(done) if done.full.is_some() => self.ran_out(ledger, run, done)?,
            Ok(done) => self.ended(ledger, run, done)?,
            Err(error) if full::ran_out_of_space(&error) => {
                let full = Some(full::words(0, 0));
                self.ran_out(
                    ledger,
                    run,
                    Done {
                        full,
                        ..Done::default()
                    },
                )?
            }
            Err(error) => {
                let status = PhaseStatus::Failed(format!("{error:#}"));
                let named = self.words_of(&run);
                let failed = record::failed(PhaseRun { status, ..run }, &error);
                // What a signal broke off is no failure; what was lost is lost, whatever came meanwhile.
                if failed.measures.is_empty() && !not_kept::is_loss(&error) {
                    signals::check(self.turn.cancel)?;
                }
                ledger.record_phase(&failed)?;
                return Err(error.context(named));
            }
        };
        signals::check(self.turn.cancel)?;
        let over = match after {
            After::Next => 1,
            After::Full => self.study.phases.len() - ordinal,
        };
        self.turn.progress.advance(over as u64);
        Ok(after)
    }

    /// A phase that began at that time, before anything is known of it.
    fn run(&self, ordinal: usize, began_unix_ns: u64) -> PhaseRun {
        let phase = &self.study.phases[ordinal];
        PhaseRun {
            trial: self.trial,
            ordinal: ordinal as u32,
            name: phase.name.clone(),
            kind: self.turn.recorded[ordinal],
            ranked: phase.ranked,
            began_unix_ns,
            elapsed_ns: 0,
            drain_ns: 0,
            status: PhaseStatus::Valid,
        }
    }

    fn words_of(&self, run: &PhaseRun) -> String {
        format!("stack `{}`, phase `{}`", self.stack, run.name)
    }

    /// Says something of a phase, in a line of its own.
    fn line(&self, run: &PhaseRun, said: &str) {
        let (block, stack) = (self.turn.block.number + 1, self.stack);
        let said = format!("block {block}: {stack}, {}: {said}", run.name);
        self.turn.progress.line(&said);
    }

    /// Records a phase that came to its end.
    fn ended(&self, ledger: &mut Ledger, run: PhaseRun, done: Done) -> anyhow::Result<After> {
        let status = match &done.seen.invalid {
            None => PhaseStatus::Valid,
            Some(why) => {
                self.line(&run, &format!("INVALID, the run goes on: {why}"));
                PhaseStatus::Invalid(why.clone())
            }
        };
        let run = PhaseRun {
            elapsed_ns: done.elapsed_ns,
            drain_ns: done.drain_ns,
            status,
            ..run
        };
        ledger.record_phase(&record::finished(run, &self.fixed, done)?)?;
        Ok(After::Next)
    }

    /// Records a phase that failed, with what it had found by then, also where a signal broke it off; gives why.
    fn failed(&self, ledger: &mut Ledger, run: PhaseRun, mut done: Done) -> anyhow::Result<anyhow::Error> {
        let error = done.failed.take().context("an error")?;
        let run = PhaseRun {
            elapsed_ns: done.elapsed_ns,
            status: PhaseStatus::Failed(format!("{error:#}")),
            ..run
        };
        let named = self.words_of(&run);
        done.measures.extend(record::failed(run.clone(), &error).measures);
        ledger.record_phase(&record::finished(run, &self.fixed, done)?)?;
        Ok(error.context(named))
    }

    /// Records a phase that ended for want of space: a result of the stack, with what was seen by then.
    fn ran_out(&self, ledger: &mut Ledger, run: PhaseRun, mut done: Done) -> anyhow::Result<After> {
        let why = done.full.take().unwrap_or_default();
        self.line(&run, &format!("{why}; the run goes on"));
        let run = PhaseRun {
            elapsed_ns: done.elapsed_ns,
            status: PhaseStatus::Failed(why),
            ..run
        };
        done.measures.push((Measure::OutOfSpace, 1.0));
        ledger.record_phase(&record::finished(run, &self.fixed, done)?)?;
        Ok(After::Full)
    }

    /// Says what is being done.
    pub(crate) fn doing(&self, phase: &Phase, how_far: &str) {
        self.turn.doing(self.stack, &format!("{}{how_far}", phase.name));
    }
}

/// Seed of a phase: the same on all stacks of a block, another for each phase.
pub(crate) fn phase_seed(block_seed: u64, ordinal: usize) -> u64 {
    block_seed ^ (ordinal as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::not_kept::NotKept;
    use crate::progress::{BlockDone, Progress};
    use crate::trial::book;
    use anyhow::anyhow;
    use ledger::Layers;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    const STUDY: &str = r#"
[study]
name = "n"
question = "q"
[[stack]]
name = "a"
kind = "model"
[[stack]]
name = "b"
kind = "model"
[[phase]]
name = "p"
kind = "random"
time = "1s"
"#;

    struct Silent;

    impl Progress for Silent {
        fn doing(&self, _: &str) {}
        fn line(&self, _: &str) {}
        fn milestone(&self, _: &str) {}
        fn judged(&self, _: &BlockDone<'_>) {}
        fn advance(&self, _: u64) {}
    }

    /// How many phases the file has when work ended so, and a signal had come by then.
    fn recorded(done: anyhow::Result<Done>) -> usize {
        let study = plan::parse(STUDY, "s.toml".as_ref()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let of = ledger::Study {
            alpha: 0.05,
            margin: 0.05,
            ..ledger::Study::default()
        };
        let mut ledger = Ledger::create(dir.path().join("s.assay"), &of).unwrap();
        let stack = &study.stacks[0];
        ledger
            .stack(&book::row(0, stack, Layers::plain(["model"]), None))
            .unwrap();
        let block = plan::block(1, 2, 0);
        let turn = Turn {
            block: &block,
            position: 0,
            stack: 0,
            recorded: &crate::kinds::recorded(&study),
            progress: &Silent,
            cancel: &Arc::new(AtomicBool::new(true)),
        };
        let ran = book::recorded(&mut ledger, stack, &turn, ("h", None), |ledger, trial| {
            let around = Around {
                study: &study,
                sizes: None,
                trial,
                stack: "a",
                turn: &turn,
                fixed: Vec::new(),
            };
            around.record(ledger, 0, 1, done).map(|_| ())
        });
        assert!(ran.is_err());
        ledger.phases().unwrap().len()
    }

    #[test]
    fn a_loss_is_recorded_though_a_signal_came_and_work_broken_off_is_not() {
        assert_eq!(recorded(Err(anyhow!("interrupted"))), 0);
        assert_eq!(recorded(Err(NotKept("a page is gone".into()).into())), 1);
        let found = Done {
            measures: vec![(Measure::CutsLosing, 1.0)],
            failed: Some(anyhow!("interrupted")),
            ..Done::default()
        };
        assert_eq!(recorded(Ok(found)), 1);
    }
}
