//! Memory at its highest, stack by stack, against the size of the data and the budget.
//!
//! Takes the gathered file, gives a [`MemoryOfStack`] each. Prevents: a cache that grew unseen beside the database's
//! own.

use crate::history::Book;
use ledger::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// One stack, over all phases and blocks that count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryOfStack {
    /// The stack.
    pub stack: String,
    /// Own memory and page cache at the highest, in bytes.
    pub bytes_peak: f64,
    /// The phase in which that was.
    pub phase: String,
    /// Own memory at the highest of that run, the buffer cache included.
    pub own_bytes_peak: Option<f64>,
    /// The engine's buffer cache.
    pub buffer_cache_bytes: Option<f64>,
    /// Bytes of the database's pages.
    pub data_bytes: Option<f64>,
    /// The budget.
    pub budget_bytes: Option<f64>,
    /// True where the kernel holds to the budget.
    pub enforced: bool,
}

impl MemoryOfStack {
    /// Memory for each byte of data.
    pub(crate) fn of_data(&self) -> Option<f64> {
        crate::figures::over(Some(self.bytes_peak), self.data_bytes)
    }
}

/// In the order of the stacks; those without a figure are left out.
pub(crate) fn memory(book: &Book) -> Vec<MemoryOfStack> {
    let of = |stack: &ledger::Stack| {
        let runs = book.runs(&stack.name);
        let seen = runs
            .flat_map(|(_, ran)| ran.phases.values())
            .filter(|seen| seen.counts());
        let (peak, run) = seen
            .filter_map(|seen| Some((seen.memory_peak_of_all()?, seen)))
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(MemoryOfStack {
            stack: stack.name.clone(),
            bytes_peak: peak,
            phase: run.run.name.clone(),
            own_bytes_peak: run.get(Measure::MemoryOwnBytesPeak),
            buffer_cache_bytes: run.get(Measure::EngineCacheBytes),
            data_bytes: run.get(Measure::DataBytes),
            budget_bytes: run.get(Measure::MemoryBudgetBytes),
            enforced: run.is_budget_enforced(),
        })
    };
    book.stacks.iter().filter_map(of).collect()
}
