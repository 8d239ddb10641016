//! Blocks of a study whose two stacks are alike: what a machine's own noise is made of.
//!
//! Takes a result file, gives the block ratios of each ranked phase, unjudged. Prevents: an error rate worked out from
//! stacks that were not the same thing, where every true verdict would count as a false one.

use crate::history::Book;
use crate::ranking::drops;
use crate::ranking::rank::{self, taking_part};
use crate::stacks::differences::differences;
use ledger::{Ledger, Stack};
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
    /// The host; empty of simulated devices.
    pub host: String,
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
        "the stacks are not alike: {fact} is {one} on {first} and {other} on {second}\n  \
         make them alike but for their names"
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
        "no block has a figure of every ranked phase on both stacks\n  \
         look at the study's own report: `assay report` says what is not ranked, and why"
    )]
    Nothing,
    /// Too little to say anything.
    #[error(
        "{blocks} blocks count, and {} are the fewest that say anything of the noise\n  \
         run the study with more `blocks`, or more than once",
        crate::ranking::machine_noise::TWIN_BLOCKS_MIN
    )]
    Few {
        /// Blocks that count.
        blocks: usize,
    },
}

/// The blocks of a study of twins. Facts whose names are in `may_differ` may differ besides the places: what was
/// planted, say.
///
/// # Errors
/// See [`TwinsError`].
pub fn twins(ledger: &Ledger, may_differ: &[&str]) -> Result<Twins, TwinsError> {
    let book = Book::read(ledger)?;
    let stacks = pair(&book)?;
    must_be_alike(&book, may_differ)?;
    blocks(&book, stacks)
}

fn pair(book: &Book) -> Result<[&Stack; 2], TwinsError> {
    let stacks: Vec<_> = taking_part(book).collect();
    let found = stacks.len();
    stacks.try_into().map_err(|_| TwinsError::Count { found })
}

fn blocks(book: &Book, [first, second]: [&Stack; 2]) -> Result<Twins, TwinsError> {
    let ranking = rank::rank(book)?;
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
        layers: first.layers.to_string(),
        phase_ns: phases.iter().map(|phase| phase_ns(book, phase)).collect(),
        phases,
        blocks: TwinBlocks::new(blocks).ok_or(TwinsError::Nothing)?,
        dropped: drops::blocks(&ranking.dropped) as u32,
        block_ns: block_ns(book),
        margin: book.study.margin,
        host: hosts(book),
    })
}

fn must_be_alike(book: &Book, may_differ: &[&str]) -> Result<(), TwinsError> {
    let is_place = |value: &str| value.trim_matches('"').starts_with('/');
    for difference in differences(book).0 {
        let values = &difference.values;
        let places = values.iter().all(|of| of.value.as_deref().is_none_or(is_place));
        let fact = difference.fact.as_str();
        if places || OF_THE_PLACE.contains(&fact) || may_differ.contains(&fact) {
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

/// From the begin of a block's first trial to the end of its last, the median of all blocks; of simulated devices the
/// phases in their own time.
fn block_ns(book: &Book) -> u64 {
    let trials = |block: u32| book.trials_of(block);
    let length = |block: u32| {
        if book.study.modelled {
            let phases = trials(block).flat_map(|ran| ran.phases.values());
            return Some(phases.map(|seen| seen.total_s() * 1e9).sum::<f64>());
        }
        let began = trials(block).map(|ran| ran.trial.began_unix_ns).min()?;
        let ended = trials(block).filter_map(|ran| ran.trial.ended_unix_ns).max()?;
        Some(ended.saturating_sub(began) as f64)
    };
    let all: Vec<f64> = (0..book.blocks()).filter_map(length).collect();
    stats::median(&all) as u64
}

/// Of the runs of both stacks.
fn phase_ns(book: &Book, phase: &str) -> u64 {
    let runs = book.trials().filter_map(|(.., ran)| ran.phases.get(phase));
    let all: Vec<f64> = runs.map(|seen| seen.total_s() * 1e9).collect();
    stats::median(&all) as u64
}

fn hosts(book: &Book) -> String {
    let trials = book.trials().filter(|_| !book.study.modelled);
    let hosts: BTreeSet<&str> = trials.map(|(.., ran)| ran.trial.host.as_str()).collect();
    hosts.into_iter().collect::<Vec<_>>().join(", ")
}
