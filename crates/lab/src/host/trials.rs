//! This host as the place where a study runs: its trials, one after the other or side by side.

use crate::host::site::HostSite;
use crate::host::{trial, turns};
use crate::instances::ranks::Ranks;
use crate::result_file::{self, Opening};
use crate::site::Site;
use crate::trial::book;
use crate::turn::Turn;
use ledger::Ledger;
use plan::{Stints, Turns};
use std::path::Path;
use std::time::Instant;

/// Rate assumed where nothing was written before the first block.
pub(crate) const NOMINAL_FILL_RATE: u64 = 500 << 20;

impl Site for HostSite<'_> {
    fn open_result(&mut self, path: &Path) -> anyhow::Result<Ledger> {
        let taking_part = self
            .study
            .stacks
            .iter()
            .zip(&self.skipped)
            .filter(|(_, skipped)| skipped.is_none())
            .map(|(stack, _)| stack);
        let estimate = plan::estimate(&self.paced(), self.luns.fill_rate.unwrap_or(NOMINAL_FILL_RATE));
        let opening = Opening {
            study: self.study,
            blocks: estimate.blocks(self.study),
            comparisons: book::comparisons(self.study, taking_part),
            method: self.prepared.method.word(),
            run_id: self.journal.run_id(),
            modelled: false,
        };
        result_file::create(path, &opening)
    }

    fn must_fit(&self, ledger: &Ledger) -> anyhow::Result<()> {
        self.must_keep_turns(ledger)?;
        self.must_keep_stacks(ledger)
    }

    fn ranks(&self) -> Option<&Ranks> {
        self.ranks.as_ref()
    }

    fn describe(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        self.keep_skipped(ledger)?;
        self.describe_study(ledger)?;
        if let Some(ranks) = &self.ranks {
            ledger.hosts_all(&ranks.rows())?;
        }
        self.keep_pace(ledger)?;
        self.describe_turns(ledger)
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn side_by_side(&mut self, ledger: &mut Ledger, turns: &[Turn<'_>], stints: &Stints) -> anyhow::Result<()> {
        turns::run(self, ledger, turns, stints)
    }

    fn skips(&self, stack: usize) -> bool {
        self.skipped[stack].is_some()
    }

    fn keeps_real_time(&self) -> bool {
        true
    }

    fn prepared_from(&self) -> Option<Instant> {
        Some(self.began)
    }

    fn trial(&mut self, ledger: &mut Ledger, turn: &Turn<'_>) -> anyhow::Result<()> {
        trial::run(self, ledger, turn)
    }
}
