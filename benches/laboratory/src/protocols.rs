//! `laboratory protocols`: a fixed protocol and this procedure, both really run on the same stacks: what each says, in
//! how much time, and what it would find.
//!
//! Takes two result files, gives their comparisons side by side. The fixed protocol is the first three runs of a stack
//! that count, held against three of its base by Welch's test at 95 %, as figures of repeated runs usually are; the
//! procedure is that of every report. Prevents: a saving of time that is computed and never run, and one between
//! studies that were not of the same thing.

#[cfg(test)]
mod refusals;
pub(crate) mod shown;
mod side;

use crate::fixed;
use crate::flags;
use crate::outcome::{Failure, print, print_json};
use crate::result_file::ResultFile;
use crate::same_study::must_be_of_one_thing;
use anyhow::anyhow;
use report::{BlocksCompared, Comparison, ReportError, Verdict};
use side::{OneSide, left_out};
use std::path::Path;

/// Of the fixed protocol's time, at most.
pub(crate) const TIME_RATIO_MAX: f64 = 0.2;

/// Both, side by side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Protocols {
    /// The host of both; empty where all is simulated.
    pub(crate) host: String,
    /// Three runs a cell.
    pub(crate) fixed: Protocol,
    /// Blocks of short runs.
    pub(crate) here: Protocol,
    /// Differences inside it count as equal.
    pub(crate) margin: f64,
    /// Every stack against its base in every phase that both files rank.
    pub(crate) comparisons: Vec<SideBySide>,
    /// What only one of them ranks, and why.
    pub(crate) left_out: Vec<String>,
    /// Comparisons that the fixed protocol has a verdict of and the procedure has none of: (stack, base, phase).
    pub(crate) missing: Vec<[String; 3]>,
}

/// One of the two, over all its cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Protocol {
    /// Name of its study.
    pub(crate) study: String,
    /// Blocks that the design allows: runs of a cell at most.
    pub(crate) blocks_most: u32,
    /// Blocks until every comparison had its verdict, those that do not count among them.
    pub(crate) blocks: u32,
    /// Length of a run of a ranked phase, drain included, s: the median.
    pub(crate) run_seconds: f64,
    /// All runs of ranked phases in these blocks, s.
    pub(crate) runs_seconds: f64,
    /// The blocks by the wall, everything included, s; `None` in virtual time.
    pub(crate) wall_seconds: Option<f64>,
}

/// One comparison by both.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SideBySide {
    /// The stack.
    pub(crate) stack: String,
    /// What it is compared with.
    pub(crate) base: String,
    /// The phase.
    pub(crate) phase: String,
    /// What the fixed protocol says.
    pub(crate) fixed: FixedSays,
    /// What the procedure says.
    pub(crate) here: HereSays,
    /// Whether they say the same.
    pub(crate) agreement: Agreement,
}

/// What two stacks and a phase took, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Took {
    /// Runs of the phase on both stacks.
    pub(crate) runs_seconds: f64,
    /// Their trials by the wall, set-up and other phases included; `None` in virtual time.
    pub(crate) wall_seconds: Option<f64>,
}

/// The verdict of the fixed protocol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FixedSays {
    /// *Better* or *worse*; `None`: no difference was found.
    pub(crate) found: Option<Verdict>,
    /// Ratio of the means, above 1 is better.
    pub(crate) ratio: f64,
    /// Lower end of its interval.
    pub(crate) low: Option<f64>,
    /// Upper end.
    pub(crate) high: Option<f64>,
    /// Probability of so large a difference if there were none.
    pub(crate) p: f64,
    /// Figures of each stack, in the order of the blocks: base, then the other.
    pub(crate) figures: [Vec<f64>; 2],
    /// The smallest difference found by 9 of 10 such protocols, as a ratio above 1, if runs scatter as these do.
    pub(crate) smallest_found: f64,
    /// Time of all its runs.
    pub(crate) took: Took,
}

/// The verdict of the procedure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HereSays {
    /// Of the first look that decided.
    pub(crate) verdict: Verdict,
    /// At that look.
    pub(crate) ratio: Option<f64>,
    /// Lower end of its interval.
    pub(crate) low: Option<f64>,
    /// Upper end.
    pub(crate) high: Option<f64>,
    /// Blocks run by then.
    pub(crate) blocks: u32,
    /// The smallest difference found by 9 of 10 such studies, as a ratio above 1, if blocks scatter as these do.
    pub(crate) smallest_found: f64,
    /// Time until that look.
    pub(crate) took: Took,
    /// Time of all blocks that the design allows, as these blocks took.
    pub(crate) took_most: Took,
}

/// Whether two protocols say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
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
    pub(crate) fn words(self) -> &'static str {
        match self {
            Agreement::Same => "the same verdict",
            Agreement::Neither => "neither could tell",
            Agreement::InsideMargin => "the same, inside the margin",
            Agreement::FoundHere => "found here alone",
            Agreement::FoundThere => "found by the fixed protocol alone",
            Agreement::Opposite => "opposite verdicts",
        }
    }

    /// Nothing that the fixed protocol found is missing or contradicted; `None` where neither said anything that could
    /// be.
    pub(crate) fn is_kept(self) -> Option<bool> {
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
    pub(crate) fn time_ratio(&self) -> f64 {
        self.here.took.runs_seconds / self.fixed.took.runs_seconds
    }

    /// Runs and, by the wall, trials with all their set-up within the share of the fixed protocol's time that is owed.
    pub(crate) fn is_in_time(&self) -> bool {
        self.time_ratio() <= TIME_RATIO_MAX && self.wall_ratio().is_none_or(|ratio| ratio <= TIME_RATIO_MAX)
    }

    /// Within what is owed, and nothing that the fixed protocol found is missing; `None` where neither found anything.
    pub(crate) fn is_kept(&self) -> Option<bool> {
        match (self.agreement.is_kept(), self.is_in_time()) {
            (Some(kept), in_time) => Some(kept && in_time),
            (None, true) => None,
            (None, false) => Some(false),
        }
    }

    /// The same by the wall, set-up included.
    pub(crate) fn wall_ratio(&self) -> Option<f64> {
        Some(self.here.took.wall_seconds? / self.fixed.took.wall_seconds?)
    }
}

/// What two files do not have in common and must.
#[derive(Debug, thiserror::Error)]
#[error("they are not of the same thing: {what} is {fixed} in {fixed_study} and {here} in {here_study}\n  {cure}")]
pub(crate) struct Unlike {
    /// What differs.
    pub(crate) what: String,
    /// In the fixed protocol's file.
    pub(crate) fixed: String,
    /// Its study.
    pub(crate) fixed_study: String,
    /// In the other.
    pub(crate) here: String,
    /// Its study.
    pub(crate) here_study: String,
    /// What to do.
    pub(crate) cure: &'static str,
}

/// Why two files cannot be held beside each other.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProtocolsError {
    /// A result file can't be read as one.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Something that must be the same is not.
    #[error(transparent)]
    Unlike(Box<Unlike>),
    /// The runs of the fixed protocol are no longer than the others.
    #[error(
        "runs of {fixed_study} take {fixed:.2} s and those of {here_study} {here:.2} s: the fixed protocol has the \
         long ones\n  \
         give the file of long runs first, that of short ones second"
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
        "there is nothing that both rank{why}\n  look at their own reports: `assay report` says what is not ranked, \
         and why"
    )]
    Nothing {
        /// What each says, if anything.
        why: String,
    },
}

pub(crate) fn run(flags: &flags::Protocols) -> Result<(), Failure> {
    let both = read(&flags.fixed, &flags.short)?;
    match flags.json {
        true => print_json(&shown::json(&both)),
        false => print(&shown::text(&both)),
    }
    let missed = both.comparisons.iter().filter(|one| one.is_kept() == Some(false));
    let missed = missed.count() + both.missing.len();
    if missed == 0 {
        return Ok(());
    }
    Err(Failure::Missed(anyhow!(
        "{missed} comparisons of the fixed protocol are missing here, say otherwise, \
         or took more than {:.0} % of its time\n  \
         give the short runs more blocks or time (`blocks`, `time`), or lessen their set-up (`database.scale`)",
        TIME_RATIO_MAX * 100.0
    )))
}

/// Both files, held beside each other.
pub(crate) fn read(fixed: &Path, short: &Path) -> Result<Protocols, Failure> {
    let open = |path: &Path| ResultFile::open(path).map_err(Failure::usage);
    let (long, here) = (open(fixed)?, open(short)?);
    let names = format!("{} and {}", fixed.display(), short.display());
    protocols(&long, &here).map_err(|error| Failure::usage(format_args!("{names}: {error}")))
}

/// Holds the file of a fixed protocol beside one of this procedure.
fn protocols(fixed: &ResultFile, here: &ResultFile) -> Result<Protocols, ProtocolsError> {
    must_be_of_one_thing(fixed, here)?;
    let left_out = left_out(fixed, here);
    let (fixed, here) = (OneSide(fixed), OneSide(here));
    let shared: Vec<(&BlocksCompared, &Comparison)> = (fixed.comparisons().iter())
        .filter_map(|compared| Some((compared, here.said_of(compared)?)))
        .collect();
    let missing = (fixed.comparisons().iter())
        .filter(|compared| here.said_of(compared).is_none())
        .map(|compared| [&compared.stack, &compared.base, &compared.phase].map(String::clone));
    let missing: Vec<[String; 3]> = missing.collect();
    if shared.is_empty() {
        let why = left_out.first().map_or(String::new(), |first| format!(": {first}"));
        return Err(ProtocolsError::Nothing { why });
    }
    let runs = fixed::RUNS as usize;
    let counted: Vec<u32> = fixed.valid().into_iter().take(runs).collect();
    if counted.len() < runs {
        return Err(fixed.few(counted.len(), runs));
    }
    if here.0.analysis.looks.is_empty() {
        let needed = here.0.basis.design.looks().first().map_or(0, |look| look.n as usize);
        return Err(here.few(here.valid().len(), needed));
    }
    must_be_longer(&fixed, &here)?;
    let margin = here.0.analysis.study.margin;
    let side_by_side = |(compared, said): (&BlocksCompared, &Comparison)| {
        let (fixed, here) = (fixed.by_welch(compared, &counted), here.by_procedure(said));
        SideBySide {
            stack: compared.stack.clone(),
            base: compared.base.clone(),
            phase: compared.phase.clone(),
            agreement: Agreement::of(fixed.found, fixed.ratio, here.verdict, margin),
            fixed,
            here,
        }
    };
    Ok(Protocols {
        host: here.host(),
        fixed: fixed.protocol(fixed::RUNS, counted.last().map_or(0, |last| last + 1)),
        here: here.protocol(here.0.basis.design.blocks, here.0.basis.blocks_used),
        margin,
        comparisons: shared.into_iter().map(side_by_side).collect(),
        left_out,
        missing,
    })
}

fn must_be_longer(fixed: &OneSide<'_>, here: &OneSide<'_>) -> Result<(), ProtocolsError> {
    let (long, short) = (fixed.run_seconds(), here.run_seconds());
    if long > short {
        return Ok(());
    }
    Err(ProtocolsError::NotLonger {
        fixed_study: fixed.0.study().to_string(),
        fixed: long,
        here_study: here.0.study().to_string(),
        here: short,
    })
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
