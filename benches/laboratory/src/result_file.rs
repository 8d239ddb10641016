//! A result file as this program needs it: what its own report says, what the verdicts were worked out from, and what
//! was recorded of host and study.
//!
//! Takes a path, gives plain rows. Prevents: a comparison of files of which one was read by other rules than its
//! report.

use ledger::{Fact, FactName, FactValue, Ledger, Scope, Setting};
use report::{Analysis, Basis, ReportError};
use std::path::Path;

/// One file.
#[derive(Debug)]
pub(crate) struct ResultFile {
    pub(crate) ledger: Ledger,
    pub(crate) analysis: Analysis,
    pub(crate) basis: Basis,
    pub(crate) settings: Vec<Setting>,
    pub(crate) facts: Vec<Fact>,
}

impl ResultFile {
    pub(crate) fn open(path: &Path) -> Result<ResultFile, ReportError> {
        let ledger = Ledger::open(path)?;
        Ok(ResultFile {
            analysis: Analysis::of(&ledger)?,
            basis: Basis::of(&ledger)?,
            settings: ledger.settings()?,
            facts: ledger.facts()?,
            ledger,
        })
    }

    /// The value of a fact, where it was recorded.
    pub(crate) fn fact(&self, scope: &Scope, name: FactName) -> Option<&FactValue> {
        let found = self
            .facts
            .iter()
            .find(|fact| fact.scope == *scope && fact.key == name.into())?;
        Some(&found.value)
    }

    /// Name of its study.
    pub(crate) fn study(&self) -> &str {
        &self.analysis.study.name
    }
}
