//! Rows that belong to trials, by trial.
//!
//! Takes the rows of a table, gives those of a trial in their order. Prevents: a table gone through once for each
//! stack.

use crate::looked::looked;
use ledger::TrialId;
use std::collections::BTreeMap;

/// Rows by trial, in the order of the file.
#[derive(Debug)]
pub(crate) struct ByTrial<R>(BTreeMap<TrialId, Vec<R>>);

impl<R> ByTrial<R> {
    pub(crate) fn new(rows: Vec<R>, trial: impl Fn(&R) -> TrialId) -> ByTrial<R> {
        let mut found: BTreeMap<TrialId, Vec<R>> = BTreeMap::new();
        for row in rows {
            found.entry(trial(&row)).or_default().push(row);
        }
        ByTrial(found)
    }

    pub(crate) fn none() -> ByTrial<R> {
        ByTrial(BTreeMap::new())
    }

    /// The rows of a trial.
    pub(crate) fn of(&self, trial: TrialId) -> &[R] {
        let rows = self.0.get(&trial).map_or(&[][..], Vec::as_slice);
        looked(1 + rows.len());
        rows
    }
}
