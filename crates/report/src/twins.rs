//! Blocks of a study whose two stacks are alike: what a machine's own noise is made of.
//!
//! Takes a result file, gives the block ratios of each ranked phase, unjudged. Prevents: an error rate worked out from stacks that
//! were not the same thing, where every true verdict would count as a false one.

use crate::differences::differences;
use crate::history::Book;
use crate::one_thing::{self, Told};
use crate::rank::{self, takes_part};
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

/// Values of the keys of a disadvantage that is none.
const NOTHING_PLANTED: [&str; 2] = ["\"0%\"", "\"none\""];

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
    /// What was planted below the second of them; `None` of twins.
    pub planted: Option<String>,
    /// Seeds of the blocks.
    seeds: BTreeSet<u64>,
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
    /// One of them was to be slower.
    #[error(
        "no slowdown is planted below the second stack, and below it alone\n  give the second of the twins `inject = {{ late = \"50%\" }}`, nothing else, and the first nothing"
    )]
    NothingPlanted,
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
    /// Blocks of another recording's seeds.
    #[error(
        "it has seeds of another recording (seed {seed})\n  blocks of one seed are one measurement: give each run of the study another `seed`"
    )]
    Seeds {
        /// One of them.
        seed: u64,
    },
    /// Not these twins.
    #[error(
        "it is not of the twins that were given: {what} is {first} there and {here} here\n  give the twins' own study with `inject` below the second stack (studies/twins-slowed.toml is that of twins-short.toml)"
    )]
    NotOfTwins {
        /// What differs.
        what: String,
        /// In the twins.
        first: String,
        /// In this one.
        here: String,
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
    /// Nothing, where the other is these twins with a disadvantage planted in one of them.
    ///
    /// # Errors
    /// Another host, other storage, data, phases or margin.
    pub fn must_be_of_slowed(&self, slowed: &Twins) -> Result<(), TwinsError> {
        let unlike = self.unlike(slowed, |name| !one_thing::is_planted(name));
        unlike.map_or(Ok(()), |[what, first, here]| {
            Err(TwinsError::NotOfTwins { what, first, here })
        })
    }

    /// The first thing of what is `asked` that is not the same in another recording: its name, and what it is here and there.
    fn unlike(&self, other: &Twins, asked: impl Fn(&str) -> bool) -> Option<[String; 3]> {
        let names: BTreeSet<&String> = self.told.keys().chain(other.told.keys()).collect();
        let value = |told: &Told, name: &String| told.get(name).cloned().unwrap_or_else(|| "nothing".to_string());
        let told = names
            .into_iter()
            .filter(|name| asked(name))
            .map(|name| [name.clone(), value(&self.told, name), value(&other.told, name)]);
        let both = |what: &str, of: fn(&Twins) -> String| [what.to_string(), of(self), of(other)];
        let besides = [
            both("the margin", |of| of.margin.to_string()),
            both("what is ranked", |of| of.phases.join(", ")),
        ];
        told.chain(besides).find(|[_, first, here]| first != here)
    }

    /// With another recording of the same study after it.
    ///
    /// # Errors
    /// A recording that is among these already, and one of another study, host or storage.
    pub fn followed_by(self, other: Twins) -> Result<Twins, TwinsError> {
        if let Some(run) = other.runs.iter().find(|run| self.runs.contains(run)) {
            return Err(TwinsError::Again { run: run.clone() });
        }
        let study = || ["the study".to_string(), self.study.clone(), other.study.clone()];
        let unlike = self
            .unlike(&other, |_| true)
            .or_else(|| (self.study != other.study).then(study));
        if let Some([what, first, here]) = unlike {
            return Err(TwinsError::Another { what, first, here });
        }
        if let Some(seed) = self.seeds.intersection(&other.seeds).next() {
            return Err(TwinsError::Seeds { seed: *seed });
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
            seeds: self.seeds.union(&other.seeds).copied().collect(),
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
    pair(&book)?;
    must_be_alike(&book, |_| true)?;
    blocks(&book)
}

/// The blocks of a study of twins, one of which was given a disadvantage.
///
/// # Errors
/// See [`TwinsError`].
pub fn slowed_twins(ledger: &Ledger) -> Result<Twins, TwinsError> {
    let book = Book::read(ledger)?;
    pair(&book)?;
    must_be_alike(&book, |fact| fact != "planted disadvantage")?;
    match blocks(&book)? {
        of if of.planted.is_some() => Ok(of),
        _ => Err(TwinsError::NothingPlanted),
    }
}

fn pair(book: &Book) -> Result<[&Stack; 2], TwinsError> {
    let taking_part = || book.stacks.iter().filter(|stack| takes_part(book, stack).is_ok());
    let stacks: Vec<_> = taking_part().collect();
    stacks.try_into().map_err(|_| TwinsError::Count {
        found: taking_part().count(),
    })
}

/// The slowdown below the second stack, where nothing else is planted anywhere.
fn planted(book: &Book, [first, second]: [&Stack; 2]) -> Option<String> {
    let keys = |stack: &Stack| {
        let prefix = format!("stack.{}.inject.", stack.name);
        let of = book.settings.iter().filter_map(|setting| {
            let is_anything = !NOTHING_PLANTED.contains(&setting.value.as_str());
            setting.key.strip_prefix(&prefix).filter(|_| is_anything)
        });
        of.collect::<Vec<_>>()
    };
    let is_late = keys(first).is_empty() && keys(second) == ["late"];
    second.injected.clone().filter(|_| is_late)
}

fn blocks(book: &Book) -> Result<Twins, TwinsError> {
    let [first, second] = pair(book)?;
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
        dropped: ranking.dropped.len() as u32,
        block_ns: block_ns(book),
        margin: book.study.margin,
        runs: vec![book.study.run_id.clone()],
        planted: planted(book, [first, second]),
        host: hosts(book),
        seeds: book.ran.values().map(|ran| ran.trial.seed).collect(),
        told: one_thing::told(book),
    })
}

fn must_be_alike(book: &Book, asked: impl Fn(&str) -> bool) -> Result<(), TwinsError> {
    let is_place = |value: &str| value.trim_matches('"').starts_with('/');
    for difference in differences(book).0 {
        let values = &difference.values;
        let places = values.iter().all(|of| of.value.as_deref().is_none_or(is_place));
        if places || OF_THE_PLACE.contains(&difference.fact.as_str()) || !asked(&difference.fact) {
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

/// From the begin of a block's first trial to the end of its last, the median of all blocks; of simulated devices the phases in their own
/// time.
fn block_ns(book: &Book) -> u64 {
    let trials = |block: u32| (book.ran.iter()).filter_map(move |((of, _), ran)| (*of == block).then_some(ran));
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
    let runs = book.ran.values().filter_map(|ran| ran.phases.get(phase));
    let all: Vec<f64> = runs.map(|seen| seen.total_s() * 1e9).collect();
    stats::median(&all) as u64
}

fn hosts(book: &Book) -> String {
    let trials = book.ran.values().filter(|_| !book.study.modelled);
    let hosts: BTreeSet<&str> = trials.map(|ran| ran.trial.host.as_str()).collect();
    hosts.into_iter().collect::<Vec<_>>().join(", ")
}
