//! What may be said of a stack against its base, in a phase and in its change from an earlier one.
//!
//! Takes the ranking, in which all these pairs are judged together and share the study's error; gives [`Comparison`]s
//! and [`Contrast`]s. Prevents: two figures set beside each other and called a difference without an interval.

use super::rank::Ranking;
use crate::cells::metric::Metric;
use crate::figures::finite;
use crate::format::ratio;
use crate::history::Book;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Judged;

/// The four things that can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than the base.
    Better,
    /// Worse than the base.
    Worse,
    /// The difference lies inside the margin.
    Equivalent,
    /// None of these can be told.
    NotEnoughData,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Equivalent => "equivalent",
            Verdict::NotEnoughData => "not enough data",
        }
    }

    /// In a word that fits into a narrow column.
    pub(crate) fn in_short(self) -> &'static str {
        match self {
            Verdict::Equivalent => "equal",
            Verdict::NotEnoughData => "open",
            Verdict::Better | Verdict::Worse => self.words(),
        }
    }
}

impl From<stats::Verdict> for Verdict {
    fn from(verdict: stats::Verdict) -> Self {
        match verdict {
            stats::Verdict::Better => Verdict::Better,
            stats::Verdict::Worse => Verdict::Worse,
            stats::Verdict::Equivalent => Verdict::Equivalent,
            stats::Verdict::NotEnoughData => Verdict::NotEnoughData,
        }
    }
}

/// A stack against its base in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// The metric compared.
    pub metric: Metric,
    /// What may be said.
    pub verdict: Verdict,
    /// Ratio to the base, oriented so that above 1 is better; `null` before the first look.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Valid blocks in ratio and interval: all up to the last look at this phase.
    pub n: Option<u32>,
    /// Number, from 1, of the look that decided it, else of the last one.
    pub look: Option<u32>,
    /// Error spent at that look.
    pub alpha: f64,
    /// In words.
    pub words: String,
}

/// A stack's change from an earlier phase to a later one, against the change of its base.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contrast {
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// The later phase.
    pub phase: String,
    /// The earlier phase.
    pub against: String,
    /// The metric compared.
    pub metric: Metric,
    /// What may be said.
    pub verdict: Verdict,
    /// Ratio of later to earlier on the stack over that on the base, oriented so that above 1 is better; `null`
    /// before the first look.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Valid blocks in ratio and interval: all up to the last look at this phase.
    pub n: Option<u32>,
    /// Number, from 1, of the look that decided it, else of the last one.
    pub look: Option<u32>,
    /// Error spent at that look.
    pub alpha: f64,
    /// In words.
    pub words: String,
}

impl Contrast {
    /// What was found of a pair, as of any other.
    pub(crate) fn of(one: Comparison, against: String) -> Contrast {
        Contrast {
            stack: one.stack,
            base: one.base,
            phase: one.phase,
            against,
            metric: one.metric,
            verdict: one.verdict,
            ratio: one.ratio,
            low: one.low,
            high: one.high,
            n: one.n,
            look: one.look,
            alpha: one.alpha,
            words: one.words,
        }
    }

    /// The base that a recorded look names: no stack has such a name in a comparison of the phase itself.
    pub(crate) fn base(&self) -> String {
        format!("{}, change from {}", self.base, self.against)
    }
}

/// Of the pairs in a phase, and of those in their change from an earlier one, which come after all of them.
pub(crate) fn verdicts(book: &Book, ranking: &Ranking) -> (Vec<Comparison>, Vec<Contrast>) {
    let (mut comparisons, mut contrasts) = (Vec::new(), Vec::new());
    let decided = ranking.decision.comparisons.iter().zip(&ranking.decision.blocks);
    for (pair, (judged, (valid, _))) in ranking.pairs.iter().zip(decided) {
        let of = match &pair.before {
            Some(before) => format!("{}'s change from {}", pair.base, before.name),
            None => pair.base.clone(),
        };
        let one = Comparison {
            stack: pair.stack.clone(),
            base: pair.base.clone(),
            phase: pair.phase.name.clone(),
            metric: Metric::of(pair.phase.kind),
            verdict: judged.verdict.into(),
            ratio: finite(judged.estimate.map(|e| e.ratio)),
            low: finite(judged.estimate.map(|e| e.low)),
            high: finite(judged.estimate.map(|e| e.high)),
            n: judged.estimate.map(|e| e.n),
            look: judged.look,
            alpha: judged.alpha,
            words: words(judged, &of, *valid, book.study.blocks_planned),
        };
        match &pair.before {
            None => comparisons.push(one),
            Some(before) => contrasts.push(Contrast::of(one, before.name.clone())),
        }
    }
    (comparisons, contrasts)
}

/// What may be said of a ratio to `of`.
fn words(judged: &Judged, of: &str, valid: u32, planned: u32) -> String {
    match judged.estimate {
        Some(e) => format!(
            "{}: {} ({} to {}) of {of}, after {} blocks",
            Verdict::from(judged.verdict).words(),
            ratio(e.ratio),
            ratio(e.low),
            ratio(e.high),
            e.n
        ),
        None => format!("not enough data: no look is due yet, {valid} of {planned} blocks count so far"),
    }
}
