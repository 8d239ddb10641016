//! What temporary files on LUNs of their own change: each stack against its twin that has them beside the data, and the
//! difference of two stacks with them beside and apart.
//!
//! Takes the gathered file and the blocks that count; gives ratios with plain 95 % intervals, and whether temporary
//! space explains a difference, or that it is not decided. Prevents: a suspicion about temporary space that is taken
//! for an answer, and an answer of a few blocks.

use super::drops::Dropped;
use super::rank::{base_of, taking_part};
use super::{pairs, refusals};
use crate::cells::metric::Metric;
use crate::figures::finite;
use crate::format::ratio;
use crate::history::{Book, PhaseHead};
use ledger::{LedgerError, Stack};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

const CONFIDENCE: f64 = 0.95;

/// On fewer blocks nothing is explained: with four, intervals of 95 % are half as wide again as with six, and one slow
/// block decides where they lie.
pub const BLOCKS_MIN: u32 = 6;

/// A ratio over blocks, above 1 is better: not tested.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TempRatio {
    /// Geometric mean of the blocks.
    pub ratio: f64,
    /// Lower end of the plain 95 % interval; `null` below two blocks.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: u32,
}

/// A stack whose temporary files have LUNs of their own, over its twin that has them beside the data.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TempApart {
    /// The stack.
    pub stack: String,
    /// Its twin.
    pub beside: String,
    /// The phase.
    pub phase: String,
    /// The metric compared.
    pub metric: Metric,
    /// The ratio.
    pub ratio: TempRatio,
}

/// What temporary space has to do with a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Explains {
    /// There is no difference beyond the margin with temporary files beside the data.
    Nothing,
    /// On LUNs of their own the difference is gone: what may be left is inside the margin.
    All,
    /// On LUNs of their own it is smaller, and the interval holds both no difference and one beyond the margin.
    PartOrAll,
    /// On LUNs of their own it is smaller, and still there.
    Part,
    /// On LUNs of their own it is there as before.
    None,
    /// Not decided: too few blocks, or intervals too wide to say.
    NotTold,
}

/// Two stacks with temporary files beside the data, and their twins.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TempExplained {
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// Stack over base, beside the data.
    pub beside: TempRatio,
    /// Twin over twin of the base.
    pub apart: TempRatio,
    /// The second ratio over the first.
    pub change: TempRatio,
    /// What follows.
    pub explains: Explains,
    /// In words.
    pub words: String,
}

/// Everything that is said of temporary space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TemporarySpace {
    /// Stacks over their twins.
    pub apart: Vec<TempApart>,
    /// Differences of stacks to their base.
    pub explained: Vec<TempExplained>,
}

/// A stack and the one that differs from it by the place of its temporary files alone.
struct Twins<'b> {
    beside: &'b Stack,
    apart: &'b Stack,
}

/// Of all stacks that took part.
pub(crate) fn temporary(book: &Book, dropped: &Dropped<'_>) -> Result<TemporarySpace, LedgerError> {
    let mut found = TemporarySpace::default();
    let margin = book.study.margin;
    if refusals::of_file(book).is_some() {
        return Ok(found);
    }
    let stacks: Vec<&Stack> = taking_part(book).collect();
    let mut twins: BTreeMap<&str, Twins<'_>> = BTreeMap::new();
    for &beside in &stacks {
        if let Some(&apart) = stacks.iter().find(|apart| are_twins(book, beside, apart)) {
            twins.insert(&beside.name, Twins { beside, apart });
        }
    }
    for phase in book.phases.iter().filter(|phase| phase.ranked) {
        let take = |stack: &str| pairs::objection_of(book, stack, phase).is_none();
        let fit = |pair: &Twins<'_>| take(&pair.beside.name) && take(&pair.apart.name);
        for stack in &stacks {
            let Some(own) = twins.get(stack.name.as_str()).filter(|own| fit(own)) else {
                continue;
            };
            let of = |names: [&str; 2]| logs(book, dropped, phase, names);
            let ys: Vec<f64> = of([&own.apart.name, &own.beside.name])?.into_values().collect();
            if let Some(ratio) = TempRatio::of(&ys) {
                found.apart.push(TempApart {
                    stack: own.apart.name.clone(),
                    beside: own.beside.name.clone(),
                    phase: phase.name.clone(),
                    metric: Metric::of(phase.kind),
                    ratio,
                });
            }
            let base = base_of(book, stack).and_then(|base| twins.get(base));
            if let Some(base) = base.filter(|base| fit(base)) {
                let beside = of([&own.beside.name, &base.beside.name])?;
                let apart = of([&own.apart.name, &base.apart.name])?;
                found
                    .explained
                    .extend(explained((phase, margin), [own, base], &beside, &apart));
            }
        }
    }
    Ok(found)
}

/// Whether the second has its temporary files on LUNs of their own and is otherwise as the first.
fn are_twins(book: &Book, beside: &Stack, apart: &Stack) -> bool {
    let of = |stack: &Stack| {
        (
            stack.kind.clone(),
            stack.group(),
            stack.access,
            stack.data_lun_set.clone(),
        )
    };
    temp_of(book, beside).is_none()
        && temp_of(book, apart).is_some()
        && of(beside) == of(apart)
        && others(book, beside) == others(book, apart)
}

/// The LUN set of its temporary files.
pub(crate) fn temp_of<'b>(book: &'b Book, stack: &Stack) -> Option<&'b str> {
    let found = book.setting(&format!("stack.{}.temp", stack.name))?;
    Some(found.trim_matches('"')).filter(|set| *set != "none")
}

/// What else the study says of a stack.
fn others<'b>(book: &'b Book, stack: &Stack) -> BTreeMap<&'b str, &'b str> {
    let all = book.disclosed.settings_below(&format!("stack.{}.", stack.name));
    all.into_iter()
        .filter(|(key, _)| !matches!(*key, "name" | "temp"))
        .collect()
}

/// ln(first / second) of each block that counts, above 0 is better.
fn logs(
    book: &Book,
    dropped: &Dropped<'_>,
    phase: &PhaseHead,
    [first, second]: [&str; 2],
) -> Result<BTreeMap<u32, f64>, LedgerError> {
    let metric = Metric::of(phase.kind);
    let value = |block, stack| match book.at(block, stack, &phase.name) {
        Some(seen) if seen.counts() => metric.value(seen),
        _ => Ok(None),
    };
    let mut ys = BTreeMap::new();
    for block in (0..book.blocks()).filter(|block| dropped.counts(*block, &phase.name)) {
        if let (Some(x), Some(base)) = (value(block, first)?, value(block, second)?)
            && let Some(y) = stats::log_ratio(x, base, metric.orientation())
        {
            ys.insert(block, y);
        }
    }
    Ok(ys)
}

fn explained(
    (phase, margin): (&PhaseHead, f64),
    [own, base]: [&Twins<'_>; 2],
    beside: &BTreeMap<u32, f64>,
    apart: &BTreeMap<u32, f64>,
) -> Option<TempExplained> {
    let both = beside.iter().filter_map(|(block, y)| Some((*y, *apart.get(block)?)));
    let both: Vec<(f64, f64)> = both.collect();
    let of = |pick: fn(&(f64, f64)) -> f64| TempRatio::of(&both.iter().map(pick).collect::<Vec<_>>());
    let mut found = TempExplained {
        stack: own.beside.name.clone(),
        base: base.beside.name.clone(),
        phase: phase.name.clone(),
        beside: of(|(beside, _)| *beside)?,
        apart: of(|(_, apart)| *apart)?,
        change: of(|(beside, apart)| apart - beside)?,
        explains: Explains::NotTold,
        words: String::new(),
    };
    found.explains = found.judge(margin);
    found.words = found.said();
    Some(found)
}

impl TempRatio {
    fn of(ys: &[f64]) -> Option<TempRatio> {
        let interval = stats::ratio_interval(ys, CONFIDENCE);
        (!ys.is_empty()).then(|| TempRatio {
            ratio: stats::mean(ys).exp(),
            low: finite(interval.map(|found| found.low)),
            high: finite(interval.map(|found| found.high)),
            n: ys.len() as u32,
        })
    }

    /// Above 1 or below it, if the whole interval is; 0: it may be 1.
    fn side(&self) -> i8 {
        match (self.low, self.high) {
            (Some(low), _) if low > 1.0 => 1,
            (_, Some(high)) if high < 1.0 => -1,
            _ => 0,
        }
    }

    /// True if the whole interval is inside the margin of an equal ratio.
    fn is_within(&self, margin: f64) -> bool {
        let edge = margin.ln_1p();
        let inside = |end: Option<f64>| end.is_some_and(|end| end.ln().abs() < edge);
        inside(self.low) && inside(self.high)
    }

    /// "0.50 (0.48 to 0.52)".
    pub(crate) fn with_interval(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} ({} to {})", ratio(self.ratio), ratio(low), ratio(high)),
            _ => ratio(self.ratio),
        }
    }
}

impl TempExplained {
    fn judge(&self, margin: f64) -> Explains {
        let (beside, apart, change) = (self.beside.side(), self.apart.side(), self.change.side());
        match (beside, apart) {
            _ if self.change.n < BLOCKS_MIN => Explains::NotTold,
            _ if self.beside.is_within(margin) => Explains::Nothing,
            (0, _) => Explains::NotTold,
            _ if change == -beside && self.apart.is_within(margin) => Explains::All,
            (_, 0) if change == -beside => Explains::PartOrAll,
            _ if beside == apart && change == -beside => Explains::Part,
            _ if beside == apart && (change == beside || self.change.is_within(margin)) => Explains::None,
            _ => Explains::NotTold,
        }
    }

    fn said(&self) -> String {
        let (stack, base, phase) = (&self.stack, &self.base, &self.phase);
        let beside = self.beside.with_interval();
        let apart = self.apart.with_interval();
        let follows = self.follows();
        format!(
            "{phase}: {stack} over {base} is {beside} with temporary files beside the data, and {apart} with them on \
             LUNs of their own: {follows}"
        )
    }

    fn follows(&self) -> String {
        let words = match self.explains {
            Explains::Nothing => "no difference beyond the margin, so temporary space has none to explain",
            Explains::All => "temporary space explains the difference",
            Explains::PartOrAll => "temporary space explains a part of the difference, and may explain all of it",
            Explains::Part => "temporary space explains a part of the difference",
            Explains::None => "temporary space does not explain the difference",
            Explains::NotTold if self.change.n < BLOCKS_MIN => {
                return format!(
                    "not decided whether temporary space explains the difference (blocks that count: {} of the \
                     {BLOCKS_MIN} that it takes)",
                    self.change.n
                );
            }
            Explains::NotTold if self.beside.side() == 0 => {
                "not decided: these blocks show no difference to explain, and do not shut out one beyond the margin"
            }
            Explains::NotTold => "not decided: these blocks do not show whether temporary space explains it",
        };
        words.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two stacks whose ratio has intervals so wide, over so many blocks.
    fn told(beside: f64, apart: f64, wide: f64, n: u32) -> TempExplained {
        let around = |ratio: f64| TempRatio {
            ratio,
            low: Some(ratio / wide),
            high: Some(ratio * wide),
            n,
        };
        let mut found = TempExplained {
            stack: "a".into(),
            base: "b".into(),
            phase: "p".into(),
            beside: around(beside),
            apart: around(apart),
            change: around(apart / beside),
            explains: Explains::NotTold,
            words: String::new(),
        };
        found.explains = found.judge(0.05);
        found.words = found.said();
        found
    }

    #[test]
    fn only_a_difference_that_is_there_and_goes_is_explained() {
        let judged = |beside: f64, apart: f64, wide: f64| told(beside, apart, wide, BLOCKS_MIN).explains;
        assert_eq!(judged(1.01, 1.3, 1.03), Explains::Nothing);
        assert_eq!(judged(1.01, 1.3, 1.05), Explains::NotTold);
        // A difference that is there, and inside the margin, needs no explanation.
        assert_eq!(judged(1.03, 1.0, 1.01), Explains::Nothing);
        assert_eq!(judged(0.97, 0.97, 1.01), Explains::Nothing);
        assert_eq!(judged(1.3, 1.01, 1.03), Explains::All);
        assert_eq!(judged(0.7, 0.99, 1.03), Explains::All);
        // What is left is beyond chance, and inside the margin.
        assert_eq!(judged(1.3, 1.02, 1.01), Explains::All);
        // No difference is seen, and one beyond the margin may be there.
        assert_eq!(judged(1.3, 1.01, 1.05), Explains::PartOrAll);
        assert_eq!(judged(0.7, 0.97, 1.1), Explains::PartOrAll);
        assert_eq!(judged(1.5, 1.2, 1.05), Explains::Part);
        assert_eq!(judged(1.3, 1.31, 1.03), Explains::None);
        // Half of it may be explained, or nothing.
        assert_eq!(judged(2.0, 1.4, 1.45), Explains::NotTold);
        assert_eq!(judged(1.3, 1.6, 1.05), Explains::None);
        // Gone, and perhaps not.
        assert_eq!(judged(1.12, 1.04, 1.1), Explains::NotTold);
        assert_eq!(judged(1.3, 0.8, 1.05), Explains::NotTold);
    }

    #[test]
    fn few_blocks_and_wide_intervals_decide_nothing_and_the_sentence_says_so() {
        // The clearest of all answers, and equality too, on a block less than it takes.
        for (beside, apart) in [(1.3, 1.0), (1.3, 1.3), (1.0, 1.0)] {
            let few = told(beside, apart, 1.01, BLOCKS_MIN - 1);
            assert_eq!(few.explains, Explains::NotTold);
            assert!(few.words.contains("not decided"), "{}", few.words);
            assert!(few.words.contains("5 of the 6"), "{}", few.words);
            let enough = told(beside, apart, 1.01, BLOCKS_MIN);
            assert!(!enough.words.contains("not decided"), "{}", enough.words);
        }
        let unseen = told(0.9, 0.98, 1.2, BLOCKS_MIN);
        assert!(
            unseen.words.contains("not decided: these blocks show no difference"),
            "{}",
            unseen.words
        );
        let wide = told(2.0, 1.4, 1.45, BLOCKS_MIN);
        assert!(
            wide.words.contains("not decided: these blocks do not show whether"),
            "{}",
            wide.words
        );
    }
}
