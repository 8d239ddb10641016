//! What a comparison takes of one result file, so that no two files are in memory at once.
//!
//! Takes an open ledger, gives a [`FileTaken`]. Prevents: a comparison of figures that the file's own report does not
//! have.

use crate::analysis::{Analysis, ReportError};
use crate::derived::unpacked;
use crate::ranking::rank::rank;
use ledger::{Fact, FactName, FactValue, Ledger, Scope};
use std::collections::BTreeMap;

/// A result file, read for a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTaken {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) analysis: Analysis,
    /// The log ratios of the blocks that count, in the order of the comparisons.
    pub(crate) log_ratios: Vec<Vec<f64>>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) settings: BTreeMap<String, String>,
}

impl FileTaken {
    /// Reads the file; `file` is its name in the comparison.
    ///
    /// # Errors
    /// As [`Analysis::of`].
    pub fn of(file: impl Into<String>, ledger: &Ledger) -> Result<FileTaken, ReportError> {
        let book = unpacked(ledger)?;
        let ranking = rank(&book)?;
        let compared = ranking.pairs.iter().zip(&ranking.histories);
        let compared = compared.filter(|(pair, _)| pair.before.is_none());
        let log_ratios = compared.map(|(_, history)| history.ys.iter().flatten().copied().collect());
        let log_ratios = log_ratios.collect();
        let settings = book.disclosed.settings().iter();
        Ok(FileTaken {
            file: file.into(),
            text: book.study.text.clone(),
            settings: settings.map(|one| (one.key.clone(), one.value.clone())).collect(),
            log_ratios,
            analysis: Analysis::derived(&book, ranking)?,
            facts: book.disclosed.into_facts(),
        })
    }

    /// Name of the host.
    pub(crate) fn host(&self) -> Option<String> {
        let name = |fact: &&Fact| fact.scope == Scope::Host && fact.key.name == FactName::Host;
        self.facts.iter().find(name).map(|fact| fact.value.to_string())
    }

    /// The names of a fact of a stack.
    pub(crate) fn names(&self, stack: &str, name: FactName) -> &[String] {
        let mine = |fact: &&Fact| matches!(&fact.scope, Scope::Stack(of) if of == stack) && fact.key.name == name;
        self.facts
            .iter()
            .find(mine)
            .map_or(&[], |fact| FactValue::names(&fact.value))
    }

    /// Keys below a prefix, with their values.
    pub(crate) fn keys_below(&self, prefix: &str) -> BTreeMap<&str, &str> {
        let from = self.settings.range(prefix.to_string()..);
        let below = from.map_while(|(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())));
        below.collect()
    }

    /// Whether both files are of one run.
    pub(crate) fn is_of_the_run_of(&self, other: &FileTaken) -> bool {
        self.analysis.study.run_id == other.analysis.study.run_id
    }
}
