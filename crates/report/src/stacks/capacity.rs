//! What arrays with inline reduction kept: after each phase, and over its time.
//!
//! Takes the gathered file, gives a [`Capacity`] for each phase of a stack on such an array. Prevents: a ratio of an
//! array that nobody can hold against the data, and one that counts LUNs which are not reduced.

use crate::cells::over_time::{held, resampled};
use crate::figures::{Figure, over};
use crate::history::{Book, Runs, Seen};
use crate::published::capacity_of;
use ledger::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// Parts of a phase in [`Capacity::stored_over_time`].
const PARTS: usize = 24;

/// What an array had kept for a stack by the end of a phase, over its valid blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Capacity {
    /// The phase.
    pub phase: String,
    /// The stack.
    pub stack: String,
    /// Bytes that were ever written to LUNs which keep them as they are.
    pub whole_bytes: Option<Figure>,
    /// Bytes that were ever written to LUNs which are reduced, overwritten ones once.
    pub asked_bytes: Option<Figure>,
    /// What the array keeps of those.
    pub stored_bytes: Option<Figure>,
    /// Asked over stored: what the array would say of its LUNs.
    pub ratio: Option<Figure>,
    /// Bytes over compressed bytes, each content once: what the compressor found, before granules.
    pub compressed: Option<Figure>,
    /// Share of what was asked that is a copy of something else, where the array looks for copies.
    pub copies_share: Option<Figure>,
    /// Bytes stored in equal parts of the phase, median over blocks; empty where nobody looked.
    pub stored_over_time: Vec<f64>,
    /// Ratios that the study's publication gives for its stack: another array, and other data.
    pub published: Vec<f64>,
}

/// In the order of phases and stacks.
pub(crate) fn capacity(book: &Book) -> Vec<Capacity> {
    let mut rows = Vec::new();
    for phase in book.phases.iter().map(|head| &head.name) {
        for stack in &book.stacks {
            let runs = book.valid(&stack.name, phase);
            if runs.iter().any(|run| run.get(Measure::ArrayAskedBytes).is_some()) {
                rows.push(of(book, phase, &stack.name, &runs));
            }
        }
    }
    rows
}

fn of(book: &Book, phase: &str, stack: &str, runs: &[&Seen]) -> Capacity {
    use Measure as M;
    let some = |measure: Measure| runs.measured(measure).filter(|figure| figure.high > 0.0);
    let per = |above: Measure, below: Measure| runs.figure(|run| over(run.get(above), run.get(below)));
    let copies = |run: &Seen| {
        let (asked, distinct) = (run.get(M::ArrayAskedBytes)?, run.get(M::ArrayDistinctBytes)?);
        over(Some(asked - distinct), Some(asked))
    };
    let ratio = per(M::ArrayAskedBytes, M::ArrayStoredBytes);
    Capacity {
        phase: phase.into(),
        stack: stack.into(),
        whole_bytes: some(M::ArrayWholeBytes),
        asked_bytes: some(M::ArrayAskedBytes),
        stored_bytes: some(M::ArrayStoredBytes),
        ratio,
        compressed: per(M::ArrayDistinctBytes, M::ArrayPackedBytes),
        copies_share: runs.figure(copies).filter(|figure| figure.high > 0.0),
        stored_over_time: over_time(runs),
        published: ratio.map_or_else(Vec::new, |_| capacity_of(book, stack)),
    }
}

/// Each block in equal parts of its time, then the median of the blocks.
fn over_time(runs: &[&Seen]) -> Vec<f64> {
    let blocks: Vec<Vec<Option<f64>>> = runs
        .iter()
        .filter(|run| !run.stored.is_empty())
        .map(|run| {
            let all_ns = run.run.elapsed_ns.saturating_add(run.run.drain_ns);
            resampled(&held(&run.stored), all_ns, PARTS)
        })
        .collect();
    let of_part = |part: usize| -> Vec<f64> { blocks.iter().filter_map(|block| block[part]).collect() };
    let parts = (0..PARTS).map(of_part).filter(|values| !values.is_empty());
    parts.map(|values| stats::median(&values)).collect()
}
