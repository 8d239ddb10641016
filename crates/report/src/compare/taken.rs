//! What a comparison takes of one result file, so that no two files are in memory at once.
//!
//! Takes an open ledger, gives a [`FileTaken`]. Prevents: a comparison of figures that the file's own report does not
//! have.

use super::found::OwnRatio;
use crate::analysis::{Analysis, ReportError};
use crate::cells::metric::Metric;
use crate::derived::unpacked;
use crate::figures::finite;
use crate::ranking::rank::{Pair, Ranking, rank};
use ledger::{Fact, FactName, FactValue, Ledger, Scope, Stack};
use stats::{History, Judged};
use std::collections::BTreeMap;

/// Of plain intervals.
pub(super) const CONFIDENCE: f64 = 0.95;

/// A result file, read for a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTaken {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) analysis: Analysis,
    /// As the study has them.
    pub(crate) stacks: Vec<Stack>,
    /// What is ranked: comparisons in phases, then in changes from an earlier one.
    pub(crate) ranked: Vec<RankedTaken>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) settings: BTreeMap<String, String>,
}

/// What two files must both rank for a row of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RankedKey {
    pub(crate) phase: String,
    /// The earlier phase, where the changes since then are compared.
    pub(crate) against: Option<String>,
    pub(crate) stack: String,
    pub(crate) base: String,
}

/// A stack against its base in one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankedTaken {
    pub(crate) key: RankedKey,
    pub(crate) metric: Metric,
    /// `None` before the first block.
    pub(crate) ratio: Option<OwnRatio>,
    /// The log ratios of the blocks in it.
    pub(crate) log_ratios: Vec<f64>,
}

impl RankedTaken {
    fn of(pair: &Pair, judged: &Judged, history: &History) -> RankedTaken {
        let mut log_ratios: Vec<f64> = history.ys.iter().flatten().copied().collect();
        // Blocks after the last look are not in the ratio that the file's own report has.
        if let Some(estimate) = judged.estimate {
            log_ratios.truncate(estimate.n as usize);
        }
        RankedTaken {
            key: RankedKey {
                phase: pair.phase.name.clone(),
                against: pair.before.as_ref().map(|before| before.name.clone()),
                stack: pair.stack.clone(),
                base: pair.base.clone(),
            },
            metric: Metric::of(pair.phase.kind),
            ratio: own_ratio(judged, &log_ratios),
            log_ratios,
        }
    }
}

fn ranked(ranking: &Ranking) -> Vec<RankedTaken> {
    let judged = ranking.decision.comparisons.iter().zip(&ranking.histories);
    let all = ranking.pairs.iter().zip(judged);
    all.map(|(pair, (judged, history))| RankedTaken::of(pair, judged, history))
        .collect()
}

/// As its own report has it; before the first look, a plain interval of its blocks.
fn own_ratio(judged: &Judged, log_ratios: &[f64]) -> Option<OwnRatio> {
    let plain = stats::ratio_interval(log_ratios, CONFIDENCE);
    let mean = || (!log_ratios.is_empty()).then(|| stats::mean(log_ratios).exp());
    let ratio = judged.estimate.map(|found| found.ratio).or_else(mean);
    let ends = match judged.estimate {
        Some(found) => Some((found.low, found.high)),
        None => plain.map(|found| (found.low, found.high)),
    };
    Some(OwnRatio {
        ratio: finite(ratio)?,
        low: finite(ends.map(|(low, _)| low)),
        high: finite(ends.map(|(_, high)| high)),
        n: log_ratios.len() as u32,
        verdict: judged.verdict.into(),
    })
}

impl FileTaken {
    /// Reads the file; `file` is its name in the comparison.
    ///
    /// # Errors
    /// As [`Analysis::of`].
    pub fn of(file: impl Into<String>, ledger: &Ledger) -> Result<FileTaken, ReportError> {
        let book = unpacked(ledger)?;
        let ranking = rank(&book)?;
        let ranked = ranked(&ranking);
        let settings = book.disclosed.settings().iter();
        Ok(FileTaken {
            file: file.into(),
            text: book.study.text.clone(),
            settings: settings.map(|one| (one.key.clone(), one.value.clone())).collect(),
            stacks: book.stacks.clone(),
            ranked,
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
