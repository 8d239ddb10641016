//! A result file on this host: what a run that goes on keeps as it began, and what it cannot keep.
//!
//! Prevents: a file in which a stack with good blocks is called skipped, and one whose blocks have two schedules.

use crate::host::site::HostSite;
use crate::result_file;
use crate::trial::book;
use anyhow::{anyhow, bail};
use ledger::{Layers, Ledger, Skipped, TakingTurns};
use plan::Turns;

impl HostSite<'_> {
    /// The schedule that the file was begun with; `None` for a new one.
    fn began_with(ledger: &Ledger) -> anyhow::Result<Option<TakingTurns>> {
        Ok(match result_file::scheduled(ledger)? {
            // A file that does not say is one of a time when nobody took turns.
            None if !ledger.trials()?.is_empty() => Some(TakingTurns::Whole),
            began => began,
        })
    }

    /// An error where the schedule of the file cannot be kept.
    pub(super) fn must_keep_turns(&self, ledger: &Ledger) -> anyhow::Result<()> {
        let Some(TakingTurns::Stints(began)) = HostSite::began_with(ledger)? else {
            return Ok(());
        };
        let why = match &self.turns {
            Turns::Stints(stints) if began == stints.words() => return Ok(()),
            Turns::Stints(_) => String::new(),
            Turns::Whole { why } => format!(": {why}"),
        };
        bail!(
            "the run began with the schedule \"{}\", which cannot be kept now{why}\n  \
             free memory, or start anew with another --output",
            TakingTurns::Stints(began)
        )
    }

    /// A new file is told how stacks take turns; one that is taken up goes on as it began.
    pub(super) fn describe_turns(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        match HostSite::began_with(ledger)? {
            None => result_file::schedule(ledger, &self.turns),
            Some(TakingTurns::Stints(_)) => Ok(()),
            Some(TakingTurns::Whole) => {
                self.turns = Turns::Whole {
                    why: "the run began so".to_string(),
                };
                Ok(())
            }
        }
    }

    /// An error where a stack that has trials in the file cannot be built any more.
    pub(super) fn must_keep_stacks(&self, ledger: &Ledger) -> anyhow::Result<()> {
        let trials = ledger.trials()?;
        for (stack, skipped) in self.study.stacks.iter().zip(&self.skipped) {
            let Some(skipped) = skipped else { continue };
            if trials.iter().any(|trial| trial.stack == stack.name) {
                return Err(anyhow!(
                    "stack `{}` has blocks in {}, and cannot be built here now: {}\n  {}; or start anew with another \
                     --output",
                    stack.name,
                    ledger.path().display(),
                    skipped.reason,
                    skipped.cure
                ));
            }
        }
        Ok(())
    }

    /// A stack that the run began without stays out: the number of comparisons was fixed without it.
    pub(super) fn keep_skipped(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        for row in ledger.stacks()? {
            let Some(found) = row.skipped else { continue };
            let (stacks, skipped) = (&self.study.stacks, &mut self.skipped);
            if let Some(index) = stacks.iter().position(|stack| stack.name == row.name) {
                skipped[index].get_or_insert(Skipped {
                    reason: found.reason,
                    cure: "the run began without it; start anew with another --output".to_string(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn describe_skipped(&self, ledger: &mut Ledger) -> anyhow::Result<()> {
        for (ordinal, (stack, skipped)) in self.study.stacks.iter().zip(&self.skipped).enumerate() {
            if skipped.is_some() {
                ledger.stack(&book::row(ordinal, stack, Layers::default(), skipped.clone()))?;
            }
        }
        Ok(())
    }
}
