//! What a trial is told: its place in the block, and who hears of it.

use crate::progress::Progress;
use ledger::PhaseKind;
use plan::Block;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a trial is told.
pub struct Turn<'a> {
    pub(crate) block: &'a Block,
    pub(crate) position: u32,
    pub(crate) stack: usize,
    /// What the result file calls each phase.
    pub(crate) recorded: &'a [PhaseKind],
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Arc<AtomicBool>,
}

impl Turn<'_> {
    /// Says what is being done with a stack.
    pub(crate) fn doing(&self, stack: &str, what: &str) {
        let block = self.block.number + 1;
        self.progress.doing(&format!("block {block} · {stack} · {what}"));
    }
}
