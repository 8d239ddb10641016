//! A fixed protocol and this procedure, both really run on the same stacks: what each says, in how much time, and what it would find.
//!
//! Takes two result files, gives their comparisons side by side. The fixed protocol is the first three runs of a stack that count, held
//! against three of its base by Welch's test at 95 %, as figures of repeated runs usually are; the procedure is that of every report.
//! Prevents: a saving of time that is computed and never run, and one between studies that were not of the same thing.

use crate::analysis::Verdict;
use crate::history::Book;
use crate::one_thing::must_be_of_one_thing;
use crate::protocol_side::{OneSide, left_out};
use crate::rank::{self, Pair};
use ledger::{Ledger, LedgerError};

/// Both, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocols {
    /// The host of both; empty where all is simulated.
    pub host: String,
    /// Three runs a cell.
    pub fixed: Protocol,
    /// Blocks of short runs.
    pub here: Protocol,
    /// Differences inside it count as equal.
    pub margin: f64,
    /// Every stack against its base in every phase that both files rank.
    pub comparisons: Vec<SideBySide>,
    /// What only one of them ranks, and why.
    pub left_out: Vec<String>,
    /// Comparisons that the fixed protocol has a verdict of and the procedure has none of: (stack, base, phase).
    pub missing: Vec<[String; 3]>,
}

/// One of the two, over all its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Name of its study.
    pub study: String,
    /// Blocks that the design allows: runs of a cell at most.
    pub blocks_most: u32,
    /// Blocks until every comparison had its verdict, those that do not count among them.
    pub blocks: u32,
    /// Length of a run of a ranked phase, drain included, s: the median.
    pub run_seconds: f64,
    /// All runs of ranked phases in these blocks, s.
    pub runs_seconds: f64,
    /// The blocks by the wall, everything included, s; `None` in virtual time.
    pub wall_seconds: Option<f64>,
}

/// One comparison by both.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// The stack.
    pub stack: String,
    /// What it is compared with.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// What the fixed protocol says.
    pub fixed: FixedSays,
    /// What the procedure says.
    pub here: HereSays,
    /// Whether they say the same.
    pub agreement: Agreement,
}

/// What two stacks and a phase took, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// Runs of the phase on both stacks.
    pub runs_seconds: f64,
    /// Their trials by the wall, set-up and other phases included; `None` in virtual time.
    pub wall_seconds: Option<f64>,
}

/// The verdict of the fixed protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedSays {
    /// *Better* or *worse*; `None`: no difference was found.
    pub found: Option<Verdict>,
    /// Ratio of the means, above 1 is better.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Probability of so large a difference if there were none.
    pub p: f64,
    /// Figures of each stack, in the order of the blocks: base, then the other.
    pub figures: [Vec<f64>; 2],
    /// The smallest difference found by 9 of 10 such protocols, as a ratio above 1, if runs scatter as these do.
    pub smallest_found: f64,
    /// Time of all its runs.
    pub took: Took,
}

/// The verdict of the procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct HereSays {
    /// Of the first look that decided.
    pub verdict: Verdict,
    /// At that look.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks run by then.
    pub blocks: u32,
    /// The smallest difference found by 9 of 10 such studies, as a ratio above 1, if blocks scatter as these do.
    pub smallest_found: f64,
    /// Time until that look.
    pub took: Took,
    /// Time of all blocks that the design allows, as these blocks took.
    pub took_most: Took,
}

/// Whether two protocols say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same stack is called better; or the fixed protocol finds no difference, and here it is *equivalent*.
    Same,
    /// Neither told the stacks apart, nor did the procedure find them equivalent: nothing was learnt by either.
    Neither,
    /// The fixed protocol found a difference smaller than the margin, which counts as equal here.
    InsideMargin,
    /// The fixed protocol found nothing, and this procedure did.
    FoundHere,
    /// This procedure found nothing, and the fixed protocol did.
    FoundThere,
    /// Each calls another stack better.
    Opposite,
}

impl Agreement {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Agreement::Same => "the same verdict",
            Agreement::Neither => "neither could tell",
            Agreement::InsideMargin => "the same, inside the margin",
            Agreement::FoundHere => "found here alone",
            Agreement::FoundThere => "found by the fixed protocol alone",
            Agreement::Opposite => "opposite verdicts",
        }
    }

    /// Nothing that the fixed protocol found is missing or contradicted; `None` where neither said anything that could be.
    pub fn is_kept(self) -> Option<bool> {
        match self {
            Agreement::Same | Agreement::InsideMargin | Agreement::FoundHere => Some(true),
            Agreement::Neither => None,
            Agreement::FoundThere | Agreement::Opposite => Some(false),
        }
    }

    fn of(fixed: Option<Verdict>, ratio: f64, here: Verdict, margin: f64) -> Agreement {
        let is_inside = ratio < 1.0 + margin && ratio > 1.0 / (1.0 + margin);
        match (fixed, here) {
            (None, Verdict::Equivalent) => Agreement::Same,
            (None, Verdict::NotEnoughData) => Agreement::Neither,
            (None, Verdict::Better | Verdict::Worse) => Agreement::FoundHere,
            (Some(one), other) if one == other => Agreement::Same,
            (Some(_), Verdict::Better | Verdict::Worse) => Agreement::Opposite,
            (Some(_), Verdict::Equivalent) if is_inside => Agreement::InsideMargin,
            (Some(_), _) => Agreement::FoundThere,
        }
    }
}

impl SideBySide {
    /// The procedure's runs over those of the fixed protocol.
    pub fn time_ratio(&self) -> f64 {
        self.here.took.runs_seconds / self.fixed.took.runs_seconds
    }

    /// The same by the wall, set-up included.
    pub fn wall_ratio(&self) -> Option<f64> {
        Some(self.here.took.wall_seconds? / self.fixed.took.wall_seconds?)
    }
}

/// What two files do not have in common and must.
#[derive(Debug, thiserror::Error)]
#[error("they are not of the same thing: {what} is {fixed} in {fixed_study} and {here} in {here_study}\n  {cure}")]
pub struct Unlike {
    /// What differs.
    pub what: String,
    /// In the fixed protocol's file.
    pub fixed: String,
    /// Its study.
    pub fixed_study: String,
    /// In the other.
    pub here: String,
    /// Its study.
    pub here_study: String,
    /// What to do.
    pub cure: &'static str,
}

/// Why two files cannot be held beside each other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolsError {
    /// A result file can't be read as one.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Something that must be the same is not.
    #[error(transparent)]
    Unlike(Box<Unlike>),
    /// The runs of the fixed protocol are no longer than the others.
    #[error(
        "runs of {fixed_study} take {fixed:.2} s and those of {here_study} {here:.2} s: the fixed protocol has the long ones\n  give the file of long runs to --fixed, that of short ones to --against"
    )]
    NotLonger {
        /// Its study.
        fixed_study: String,
        /// Median run, s.
        fixed: f64,
        /// The other study.
        here_study: String,
        /// Median run, s.
        here: f64,
    },
    /// Too few blocks.
    #[error("{study}: {found} blocks count, and {needed} are needed\n  let it run on: `assay run --resume`")]
    Few {
        /// The study.
        study: String,
        /// Blocks that count.
        found: usize,
        /// Blocks that must.
        needed: usize,
    },
    /// Nothing that both rank.
    #[error(
        "there is nothing that both rank{why}\n  look at their own reports: `assay report` says what is not ranked, and why"
    )]
    Nothing {
        /// What each says, if anything.
        why: String,
    },
}

/// Holds the file of a fixed protocol beside one of this procedure.
///
/// # Errors
/// See [`ProtocolsError`].
pub fn protocols(fixed: &Ledger, here: &Ledger) -> Result<Protocols, ProtocolsError> {
    let books = [Book::read(fixed)?, Book::read(here)?];
    must_be_of_one_thing(&books[0], &books[1])?;
    let rankings = [rank::rank(&books[0])?, rank::rank(&books[1])?];
    let [fixed, here] = [0, 1].map(|nth| OneSide {
        book: &books[nth],
        ranking: &rankings[nth],
    });
    let left_out = left_out(&fixed, &here);
    let shared: Vec<(&Pair, usize)> = (fixed.ranking.pairs.iter())
        .filter(|pair| pair.before.is_none())
        .filter_map(|pair| Some((pair, here.place_of(pair)?)))
        .collect();
    let missing = (fixed.ranking.pairs.iter())
        .filter(|pair| pair.before.is_none() && here.place_of(pair).is_none())
        .map(|pair| [&pair.stack, &pair.base, &pair.phase.name].map(String::clone));
    let missing: Vec<[String; 3]> = missing.collect();
    if shared.is_empty() {
        let why = left_out.first().map_or(String::new(), |first| format!(": {first}"));
        return Err(ProtocolsError::Nothing { why });
    }
    let runs = stats::FIXED_RUNS as usize;
    let counted: Vec<u32> = fixed.valid().into_iter().take(runs).collect();
    if counted.len() < runs {
        return Err(fixed.few(counted.len(), runs));
    }
    if here.ranking.decision.looks.is_empty() {
        let needed = here.design().looks().first().map_or(0, |look| look.n as usize);
        return Err(here.few(here.valid().len(), needed));
    }
    let (long, short) = (fixed.run_seconds(), here.run_seconds());
    if long <= short {
        return Err(ProtocolsError::NotLonger {
            fixed_study: fixed.book.study.name.clone(),
            fixed: long,
            here_study: here.book.study.name.clone(),
            here: short,
        });
    }
    let mut comparisons = Vec::new();
    for (pair, of_here) in shared {
        let fixed = fixed.by_welch(pair, &counted)?;
        let here = here.by_procedure(pair, of_here);
        comparisons.push(SideBySide {
            stack: pair.stack.clone(),
            base: pair.base.clone(),
            phase: pair.phase.name.clone(),
            agreement: Agreement::of(fixed.found, fixed.ratio, here.verdict, books[1].study.margin),
            fixed,
            here,
        });
    }
    let decision = &here.ranking.decision;
    Ok(Protocols {
        host: host(&books[1]),
        fixed: fixed.protocol(stats::FIXED_RUNS, counted.last().map_or(0, |last| last + 1)),
        here: here.protocol(here.design().blocks, decision.blocks_valid + decision.blocks_dropped),
        margin: books[1].study.margin,
        comparisons,
        left_out,
        missing,
    })
}

/// Where it was run; nothing of a simulation, which is the same everywhere.
fn host(book: &Book) -> String {
    let first = book.ran.values().next();
    let host = first.filter(|_| !book.study.modelled).map(|ran| ran.trial.host.clone());
    host.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_agree_where_nothing_is_missing_or_contradicted() {
        use Verdict::{Better, Equivalent, NotEnoughData, Worse};
        let of = |fixed, ratio, here| Agreement::of(fixed, ratio, here, 0.05);
        assert_eq!(of(Some(Worse), 0.8, Worse), Agreement::Same);
        assert_eq!(of(None, 0.97, Equivalent), Agreement::Same);
        assert_eq!(of(None, 0.8, NotEnoughData), Agreement::Neither);
        assert_eq!(of(None, 0.8, Worse), Agreement::FoundHere);
        assert_eq!(of(Some(Worse), 0.97, Equivalent), Agreement::InsideMargin);
        assert_eq!(of(Some(Worse), 0.9, Equivalent), Agreement::FoundThere);
        assert_eq!(of(Some(Better), 1.02, NotEnoughData), Agreement::FoundThere);
        assert_eq!(of(Some(Better), 1.2, Worse), Agreement::Opposite);
        let kept = [Agreement::Same, Agreement::InsideMargin, Agreement::FoundHere].map(Agreement::is_kept);
        let missed = [Agreement::FoundThere, Agreement::Opposite].map(Agreement::is_kept);
        assert_eq!((kept, missed), ([Some(true); 3], [Some(false); 2]));
        assert_eq!(Agreement::Neither.is_kept(), None, "two that say nothing do not agree");
    }
}
