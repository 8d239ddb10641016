//! One phase against another on the same stack: what ageing, say, changed.
//!
//! Takes the ranking, in which these pairs are judged together with those of two stacks and share the study's error;
//! gives [`Change`]s. Prevents: two figures of one stack set beside each other and called a difference without an
//! interval.

use crate::analysis::{Verdict, finite};
use crate::cells::Metric;
use crate::history::Book;
use crate::ranking::rank::{Pair, Ranking};
use crate::words::format::ratio;
use schemars::JsonSchema;
use serde::Serialize;

/// A phase against an earlier one, on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The stack.
    pub stack: String,
    /// The phase.
    pub phase: String,
    /// The earlier phase that it is held against.
    pub against: String,
    /// The metric compared.
    pub metric: Metric,
    /// What may be said.
    pub verdict: Verdict,
    /// Ratio of the two, oriented so that above 1 is better than before; `null` before the first look.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: Option<u32>,
    /// Number of the look it is from, from 1.
    pub look: Option<u32>,
    /// Error spent at that look.
    pub alpha: f64,
    /// In words.
    pub words: String,
}

/// Pairs of phases that stand after all pairs of stacks.
pub(crate) fn changes(book: &Book, ranking: &Ranking) -> Vec<Change> {
    let judged = ranking.pairs.iter().zip(&ranking.decision.comparisons);
    judged
        .filter_map(|(pair, judged)| Some((pair, pair.before.as_ref()?, judged)))
        .map(|(pair, before, judged)| {
            let verdict = Verdict::from(judged.verdict);
            Change {
                stack: pair.stack.clone(),
                phase: pair.phase.name.clone(),
                against: before.name.clone(),
                metric: Metric::of(pair.phase.kind),
                verdict,
                ratio: finite(judged.estimate.map(|e| e.ratio)),
                low: finite(judged.estimate.map(|e| e.low)),
                high: finite(judged.estimate.map(|e| e.high)),
                n: judged.estimate.map(|e| e.n),
                look: judged.look,
                alpha: judged.alpha,
                words: words(judged, &before.name, ranking, book.study.blocks_planned),
            }
        })
        .collect()
}

impl Change {
    /// The base that a recorded look names.
    pub(crate) fn base(&self) -> String {
        base(&self.stack, &self.against)
    }
}

pub(crate) fn base(stack: &str, against: &str) -> String {
    format!("{stack} in {against}")
}

/// Where each stack of a phase stands, for the last sentence: "btrfs 0.42 of fresh scan (0.40 to 0.44), disk group as
/// before".
pub(crate) fn clause(changes: &[Change]) -> Option<String> {
    // Of several phases the one that changed the most stacks' figure the furthest.
    let far = |one: &&Change| match one.verdict {
        Verdict::Better | Verdict::Worse => one.ratio.map_or(0.0, |ratio| ratio.ln().abs()),
        Verdict::Equivalent | Verdict::NotEnoughData => 0.0,
    };
    let furthest = changes.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let same = |one: &&Change| one.phase == furthest.phase;
    let said: Vec<String> = changes
        .iter()
        .filter(same)
        .filter_map(|one| {
            Some(match one.verdict {
                Verdict::NotEnoughData => return None,
                Verdict::Equivalent => format!("{} equivalent", one.stack),
                Verdict::Better | Verdict::Worse => format!(
                    "{} {} ({} to {})",
                    one.stack,
                    ratio(one.ratio?),
                    one.low.map_or("0".into(), ratio),
                    one.high.map_or("unbounded".into(), ratio)
                ),
            })
        })
        .collect();
    (!said.is_empty()).then(|| format!("{} against {}: {}", furthest.phase, furthest.against, said.join(", ")))
}

/// The pairs of two stacks among all.
pub(crate) fn of_stacks(pairs: &[Pair]) -> Vec<Pair> {
    pairs.iter().filter(|pair| pair.before.is_none()).cloned().collect()
}

/// What may be said of a ratio to `of`.
pub(crate) fn words(judged: &stats::Judged, of: &str, ranking: &Ranking, planned: u32) -> String {
    match judged.estimate {
        Some(e) => format!(
            "{}: {} ({} to {}) of {of}, after {} blocks",
            Verdict::from(judged.verdict).words(),
            crate::words::format::ratio(e.ratio),
            crate::words::format::ratio(e.low),
            crate::words::format::ratio(e.high),
            e.n
        ),
        None if ranking.decision.looks.is_empty() => format!(
            "not enough data: no look is due yet, {} of {planned} blocks count so far",
            ranking.decision.blocks_valid
        ),
        None => "not enough data".into(),
    }
}
