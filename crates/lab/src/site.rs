//! Where a study runs: a host with LUNs and root's tools, or a model. One trait, so that the story is told once.

use crate::instances::ranks::Ranks;
use crate::turn::Turn;
use ledger::Ledger;
use plan::{Stints, Turns};
use std::path::Path;
use std::time::Instant;

/// A place where trials can be run.
pub trait Site {
    /// Makes the result file.
    fn open_result(&mut self, path: &Path) -> anyhow::Result<Ledger>;

    /// Looks whether a file that was begun before can be gone on with here; nothing is written.
    fn must_fit(&self, ledger: &Ledger) -> anyhow::Result<()>;

    /// Other hosts, for the instances of its stacks.
    fn ranks(&self) -> Option<&Ranks> {
        None
    }

    /// Says once what the stacks are.
    fn describe(&mut self, ledger: &mut Ledger) -> anyhow::Result<()>;

    /// Whether this stack takes no part (its reason stands in the result file).
    fn skips(&self, stack: usize) -> bool;

    /// Whether its clock is the wall's.
    fn keeps_real_time(&self) -> bool;

    /// When its preparation began; `None` where that takes no time.
    fn prepared_from(&self) -> Option<Instant> {
        None
    }

    /// How the stacks of a block take turns; known once the site is described.
    fn turns(&self) -> &Turns;

    /// Builds, loads, drives in turns and takes down the stacks of a block, each by its own turn. Everything that was
    /// finished is in the ledger, whatever comes back.
    fn side_by_side(&mut self, ledger: &mut Ledger, turns: &[Turn<'_>], stints: &Stints) -> anyhow::Result<()>;

    /// Builds, loads, drives and takes down one stack. All that was finished is in the ledger, whatever comes back.
    fn trial(&mut self, ledger: &mut Ledger, turn: &Turn<'_>) -> anyhow::Result<()>;
}
