//! Blocks of a study whose two stacks are alike: what a machine's own noise is made of.
//!
//! Takes a result file, gives the block ratios of each ranked phase, unjudged. Prevents: an error rate worked out from stacks that
//! were not the same thing, where every true verdict would count as a false one.

use crate::differences::differences;
use crate::history::Book;
use crate::one_thing::{self, Told};
use crate::rank::{self, takes_part};
use ledger::Ledger;
use stats::TwinBlocks;
use std::collections::BTreeSet;

/// Facts that name a place or a device, and what is found in a sample: two stacks that are alike still lie apart.
const OF_THE_PLACE: [&str; 5] = [
    "nearest devices",
    "devices",
    "lowest visible devices",
    "data compressibility found",
    "data duplication found",
];

/// A study of two stacks that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Twins {
    /// Name of the study.
    pub study: String,
    /// Base and twin.
    pub stacks: [String; 2],
    /// Layers of both.
    pub layers: String,
    /// Ranked phases.
    pub phases: Vec<String>,
    /// What a run of each takes, drain included, ns: the median.
    pub phase_ns: Vec<u64>,
    /// Their ratios, block by block.
    pub blocks: TwinBlocks,
    /// Blocks that count nowhere, for a reason that the study's own report says.
    pub dropped: u32,
    /// Wall time of a block, ns: the median.
    pub block_ns: u64,
    /// Differences inside it count as equal.
    pub margin: f64,
    /// The run of each recording.
    runs: Vec<String>,
    /// Host, storage and keys of the first recording.
    told: Told,
}

/// Why a file says nothing of twins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TwinsError {
    /// The result file can't be read as one.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
    /// Another number of stacks.
    #[error("{found} stacks were measured, not two\n  give a result of two stacks that are alike but for their names")]
    Count {
        /// How many.
        found: usize,
    },
    /// They are not the same thing.
    #[error(
        "the stacks are not alike: {fact} is {one} on {first} and {other} on {second}\n  make them alike but for their names"
    )]
    Unlike {
        /// What differs.
        fact: String,
        /// The base.
        first: String,
        /// Its value.
        one: String,
        /// The other stack.
        second: String,
        /// Its value.
        other: String,
    },
    /// Nothing that could be judged.
    #[error(
        "no block has a figure of every ranked phase on both stacks\n  look at the study's own report: `assay report` says what is not ranked, and why"
    )]
    Nothing,
    /// The same recording a second time.
    #[error(
        "it is the same recording again (run {run})\n  give each recording once: blocks that count twice say nothing new"
    )]
    Again {
        /// Its run.
        run: String,
    },
    /// A recording of something else.
    #[error(
        "it is of something else than the first: {what} is {first} there and {here} here\n  give recordings of one study on one machine"
    )]
    Another {
        /// What differs.
        what: String,
        /// In the first recording.
        first: String,
        /// In this one.
        here: String,
    },
}

impl Twins {
    /// With another recording of the same study after it.
    ///
    /// # Errors
    /// A recording that is among these already, and one of another study, host or storage.
    pub fn followed_by(self, other: Twins) -> Result<Twins, TwinsError> {
        if let Some(run) = other.runs.iter().find(|run| self.runs.contains(run)) {
            return Err(TwinsError::Again { run: run.clone() });
        }
        let differs = |what: &str, first: &str, here: &str| {
            let said = |value: &str| if value.is_empty() { "nothing" } else { value }.to_string();
            Err(TwinsError::Another {
                what: what.to_string(),
                first: said(first),
                here: said(here),
            })
        };
        let names: BTreeSet<&String> = self.told.keys().chain(other.told.keys()).collect();
        let value = |told: &Told, name: &String| told.get(name).cloned().unwrap_or_default();
        for name in names {
            let (first, here) = (value(&self.told, name), value(&other.told, name));
            if first != here {
                return differs(name, &first, &here);
            }
        }
        if self.study != other.study {
            return differs("the study", &self.study, &other.study);
        }
        if self.margin != other.margin {
            return differs("the margin", &self.margin.to_string(), &other.margin.to_string());
        }
        if self.phases != other.phases {
            return differs("what is ranked", &self.phases.join(", "), &other.phases.join(", "));
        }
        // Of the medians the mean by blocks: they differ by what an hour differs from another.
        let (mine, its) = (self.blocks.blocks() as f64, other.blocks.blocks() as f64);
        let mean = |a: u64, b: u64| ((a as f64 * mine + b as f64 * its) / (mine + its)) as u64;
        let phase_ns = self.phase_ns.iter().zip(&other.phase_ns).map(|(a, b)| mean(*a, *b));
        Ok(Twins {
            phase_ns: phase_ns.collect(),
            block_ns: mean(self.block_ns, other.block_ns),
            dropped: self.dropped + other.dropped,
            blocks: self.blocks.followed_by(other.blocks).ok_or(TwinsError::Nothing)?,
            runs: [self.runs, other.runs].concat(),
            ..self
        })
    }
}

/// The blocks of a study of twins.
///
/// # Errors
/// See [`TwinsError`].
pub fn twins(ledger: &Ledger) -> Result<Twins, TwinsError> {
    let book = Book::read(ledger)?;
    let stacks: Vec<_> = book
        .stacks
        .iter()
        .filter(|stack| takes_part(&book, stack).is_ok())
        .collect();
    let [first, second] = stacks[..] else {
        return Err(TwinsError::Count { found: stacks.len() });
    };
    must_be_alike(&book)?;
    let ranking = rank::rank(&book)?;
    let compared: Vec<usize> = (0..ranking.pairs.len())
        .filter(|nth| ranking.pairs[*nth].before.is_none())
        .collect();
    let block = |nth: usize| {
        let y = |pair: &usize| ranking.histories[*pair].ys.get(nth).copied().flatten();
        compared.iter().map(y).collect::<Option<Vec<f64>>>()
    };
    let blocks: Vec<Vec<f64>> = (0..book.blocks() as usize).filter_map(block).collect();
    let phases: Vec<String> = compared
        .iter()
        .map(|nth| ranking.pairs[*nth].phase.name.clone())
        .collect();
    Ok(Twins {
        study: book.study.name.clone(),
        stacks: [first.name.clone(), second.name.clone()],
        layers: first.layers.clone(),
        phase_ns: phases.iter().map(|phase| phase_ns(&book, phase)).collect(),
        phases,
        blocks: TwinBlocks::new(blocks).ok_or(TwinsError::Nothing)?,
        dropped: ranking.dropped.len() as u32,
        block_ns: block_ns(&book),
        margin: book.study.margin,
        runs: vec![book.study.run_id.clone()],
        told: one_thing::told(&book),
    })
}

fn must_be_alike(book: &Book) -> Result<(), TwinsError> {
    let is_place = |value: &str| value.trim_matches('"').starts_with('/');
    for difference in differences(book).0 {
        let values = &difference.values;
        let places = values.iter().all(|of| of.value.as_deref().is_none_or(is_place));
        if places || OF_THE_PLACE.contains(&difference.fact.as_str()) {
            continue;
        }
        let value = |nth: usize| values[nth].value.clone().unwrap_or_else(|| "nothing".to_string());
        return Err(TwinsError::Unlike {
            fact: difference.fact.clone(),
            first: values[0].stack.clone(),
            one: value(0),
            second: values[1].stack.clone(),
            other: value(1),
        });
    }
    Ok(())
}

/// From the begin of a block's first trial to the end of its last; the median of all blocks.
fn block_ns(book: &Book) -> u64 {
    let length = |block: u32| {
        let trials = || {
            book.ran
                .iter()
                .filter(|((of, _), _)| *of == block)
                .map(|(_, ran)| &ran.trial)
        };
        let began = trials().map(|trial| trial.began_unix_ns).min()?;
        let ended = trials().filter_map(|trial| trial.ended_unix_ns).max()?;
        Some(ended.saturating_sub(began) as f64)
    };
    let all: Vec<f64> = (0..book.blocks()).filter_map(length).collect();
    stats::median(&all) as u64
}

/// Of the runs of both stacks.
fn phase_ns(book: &Book, phase: &str) -> u64 {
    let runs = book.ran.values().filter_map(|ran| ran.phases.get(phase));
    let all: Vec<f64> = runs.map(|seen| seen.total_s() * 1e9).collect();
    stats::median(&all) as u64
}
