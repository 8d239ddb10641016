//! What one run of a phase counted, where more than one measure tells it.
//!
//! Takes what was seen in a run, gives amounts. Prevents: operations, orders or memory counted in two ways.

use super::answers::Answers;
use crate::distribution::Distribution;
use crate::figures::total;
use crate::history::Seen;
use ledger::{Measure, Stamp};

/// The class of transactions that order entry counts.
pub(crate) const NEW_ORDER: &str = "new order";

/// The class of reads that a scan makes.
const SCAN_READ: &str = "scan read";

/// What is compared with a budget is counted in batches.
pub(crate) const BUDGET_SLACK: f64 = 1.02;

/// A smaller share of temporary files does not change a ratio of bytes.
const TEMPORARY_SHARE_MAX: f64 = 0.01;

/// What the engine asks of storage to read.
pub(crate) const READS_ASKED: [Measure; 1] = [Measure::EngineReadBytes];

/// What it asks of storage to write.
pub(crate) const WRITES_ASKED: [Measure; 2] = [Measure::EngineWriteBytes, Measure::EngineRedoBytes];

impl Seen {
    /// The distributions between these two stamps, a class each.
    pub(crate) fn of_stamp(&self, stamp: Stamp) -> impl Iterator<Item = &Distribution> {
        self.histograms.iter().filter(move |row| row.stamp == stamp)
    }

    /// The distribution of a class.
    pub(crate) fn of_class(&self, class: &str, stamp: Stamp) -> Option<&Distribution> {
        self.of_stamp(stamp).find(|row| row.class == class)
    }

    /// Operations: the engine's count, else that of the distributions.
    pub(crate) fn operations(&self) -> Option<f64> {
        let counted = self.get(Measure::EngineOperations).filter(|count| *count > 0.0);
        counted.or_else(|| {
            let count = total(self.of_stamp(Stamp::Service).map(|row| row.count));
            (count > 0).then_some(count as f64)
        })
    }

    /// New orders committed, of a phase of order entry.
    pub(crate) fn new_orders(&self) -> Option<f64> {
        self.of_class(NEW_ORDER, Stamp::Response).map(|row| row.units as f64)
    }

    /// Bytes that scans read, those of unfinished tables too; where they were not counted, what the engine asked for.
    ///
    /// Whole tables alone would be a step function of the speed in a phase of fixed time.
    pub(crate) fn scanned_bytes(&self) -> Option<f64> {
        let read = self.of_class(SCAN_READ, Stamp::Service).map_or(0, |row| row.units);
        match read {
            0 => self.sum(&READS_ASKED),
            read => Some(read as f64),
        }
    }

    /// Bytes of doublewrite copies; engines of others make none.
    fn copied_bytes(&self) -> f64 {
        self.get(Measure::EngineDoublewriteBytes).unwrap_or(0.0)
    }

    /// Write requests of data pages, redo left out; `None` where doublewrite copies are counted with them.
    pub(crate) fn data_writes(&self) -> Option<f64> {
        self.get(Measure::EngineWrites).filter(|_| self.copied_bytes() == 0.0)
    }

    /// Bytes of data pages written, redo and doublewrite copies left out.
    pub(crate) fn data_write_bytes(&self) -> Option<f64> {
        let written = self.get(Measure::EngineWriteBytes)?;
        Some((written - self.copied_bytes()).max(0.0))
    }

    /// Bytes that the engine asked of storage, both directions.
    pub(crate) fn asked_bytes(&self) -> Option<f64> {
        self.sum(&[&READS_ASKED[..], &WRITES_ASKED[..]].concat())
    }

    /// The same, if it is all that devices were asked for: not beside temporary files, which a database counts apart.
    pub(crate) fn all_asked_bytes(&self) -> Option<f64> {
        self.asked_bytes().filter(|_| !self.temporary_weighs())
    }

    /// Bytes of temporary files: written, or at least written ([`Seen::temporary_is_least`]).
    pub(crate) fn temporary_bytes(&self) -> Option<f64> {
        let written = self.get(Measure::DatabaseTempBytes);
        written.or_else(|| self.get(Measure::DatabaseTempFileBytes))
    }

    /// Of temporary files only sizes are known: their blocks may have been written several times.
    pub(crate) fn temporary_is_least(&self) -> bool {
        self.get(Measure::DatabaseTempBytes).is_none() && self.get(Measure::DatabaseTempFileBytes).is_some()
    }

    /// Whether temporary files are, or may be, more than a hundredth of what the database asked for beside them:
    /// questions make some, and not every database counts them (SQLite through the page cache).
    pub(crate) fn temporary_weighs(&self) -> bool {
        let least = || TEMPORARY_SHARE_MAX * self.asked_bytes().unwrap_or(0.0);
        match self.temporary_bytes() {
            Some(temporary) => temporary > least(),
            None => self.questions.is_some(),
        }
    }

    /// Whether a database gave an answer that is wrong: none to its question, or another than it must be.
    pub(crate) fn has_wrong_answer(&self) -> bool {
        self.answers == Answers::Wrong || self.get(Measure::DatabaseAnswersWrong).is_some_and(|count| count > 0.0)
    }

    /// Whether a table did not hold what was written into it.
    pub(crate) fn has_wrong_table(&self) -> bool {
        self.get(Measure::DatabaseTablesWrong).is_some_and(|count| count > 0.0)
    }

    /// Bytes that the lowest devices moved, both directions.
    pub(crate) fn moved_bytes(&self) -> Option<f64> {
        self.sum(&[Measure::LowReadBytes, Measure::LowWriteBytes])
    }

    /// Share of the pages that were overwritten.
    pub(crate) fn overwritten_share(&self) -> Option<f64> {
        crate::figures::over(self.get(Measure::EngineOverwrittenBytes), self.get(Measure::DataBytes))
    }

    /// What is compared with a memory budget. Of several hosts it is that of rank 0's, which alone has the budget.
    pub(crate) fn memory_peak(&self) -> Option<f64> {
        let both = [Measure::MemoryOwnBytesPeak, Measure::MemoryCacheBytesPeak];
        // On several hosts the first of the two is that of all.
        let summed = || self.sum(&both).filter(|_| !self.is_on_several_hosts());
        self.get(Measure::MemoryTotalBytesPeak).or_else(summed)
    }

    /// Memory of all hosts: on another one than rank 0's, that of its instance.
    pub(crate) fn memory_peak_of_all(&self) -> Option<f64> {
        let peak = self.memory_peak()?;
        if !self.is_on_several_hosts() {
            return Some(peak);
        }
        let others = self.instances.iter().skip(1).map(|row| row.memory_bytes_peak);
        // 0: it is not known.
        let known = others.map(|bytes| (bytes > 0).then_some(bytes as f64));
        known.sum::<Option<f64>>().map(|others| peak + others)
    }

    /// Whether the kernel held to the memory budget.
    pub(crate) fn is_budget_enforced(&self) -> bool {
        self.get(Measure::MemoryBudgetEnforced).is_some_and(|code| code > 0.0)
    }

    /// The memory budget, where it was enforced and kept. On several hosts nobody bounds the memory of the others.
    pub(crate) fn kept_budget(&self) -> Option<f64> {
        self.kept_own_budget().filter(|_| !self.is_on_several_hosts())
    }

    /// The same of the run's own host, that of rank 0.
    pub(crate) fn kept_own_budget(&self) -> Option<f64> {
        let budget = self
            .get(Measure::MemoryBudgetBytes)
            .filter(|_| self.is_budget_enforced())?;
        (self.memory_peak()? <= budget * BUDGET_SLACK).then_some(budget)
    }
}
