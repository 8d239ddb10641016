//! What is around an engine while a phase runs: a host with its devices, or a model.
//!
//! Prevents: a phase measured one way on one kind of stack and another way on the next.

use crate::ports::PageEngine;
use ledger::{FileLayout, Measure, Sample};

/// What was seen around one phase.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) samples: Vec<Sample>,
    /// How the data files lie now, if something was written.
    pub(crate) layouts: Vec<FileLayout>,
    /// Worth an event.
    pub(crate) notes: Vec<String>,
    /// Worth knowing, and no warning.
    pub(crate) remarks: Vec<String>,
    /// Why the phase can't count, if it can't.
    pub(crate) invalid: Option<String>,
}

/// Begins and ends the observation of a phase.
pub(crate) trait Surroundings {
    /// Which phase comes next.
    fn expect(&mut self, phase: &plan::Phase) {
        let _ = phase;
    }

    /// Just before the first operation.
    fn begin(&mut self, instance: &mut PageEngine) -> anyhow::Result<()>;

    /// After the last operation and the engine's checkpoint: whatever lies below is brought to rest. Gives the time, in
    /// nanoseconds, that was spent only on proving the rest and is not charged to the phase.
    fn settle(&mut self, instance: &mut PageEngine) -> anyhow::Result<u64>;

    /// What was seen since the beginning; `full`: the stack has no space left, and may refuse to be looked at.
    fn end(&mut self, instance: &mut PageEngine, full: bool) -> anyhow::Result<Seen>;
}
