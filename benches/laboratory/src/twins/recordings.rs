//! Recordings of one study of twins, put one after the other: many hours of one machine instead of one.
//!
//! Takes result files, gives their blocks. Prevents: blocks that count twice because a file was given twice or ran
//! under the same seeds, and recordings of unlike things in one rate.

use crate::outcome::Failure;
use crate::result_file::ResultFile;
use crate::same_study::{self, Recorded};
use report::{ReportError, Twins, TwinsError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Values of the keys of a disadvantage that is none.
const NOTHING_PLANTED: [&str; 2] = ["\"0%\"", "\"none\""];

/// The fact of a stack that was given a disadvantage.
const PLANTED: &str = "planted disadvantage";

/// Blocks of one study, of one recording or several.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) twins: Twins,
    /// What was planted below the second stack; `None` of twins.
    pub(crate) planted: Option<String>,
    /// Seeds of the blocks.
    seeds: BTreeSet<u64>,
    /// The run of each file.
    runs: Vec<String>,
    /// Host, storage and keys of the first.
    recorded: Recorded,
}

/// Whether a disadvantage is planted in one of the twins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// In neither.
    Nothing,
    /// In the second, and there alone.
    Slowdown,
}

/// Why a file is none of these recordings.
#[derive(Debug, thiserror::Error)]
enum RecordingError {
    #[error(transparent)]
    Twins(#[from] TwinsError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(
        "no slowdown is planted below the second stack, and below it alone\n  \
         give the second of the twins `inject = {{ late = \"50%\" }}`, nothing else, and the first nothing"
    )]
    NothingPlanted,
    #[error(
        "it is the same recording again (run {run})\n  give each recording once: blocks that count twice say nothing \
         new"
    )]
    Again { run: String },
    #[error(
        "it has seeds of another recording (seed {seed})\n  \
         blocks of one seed are one measurement: give each run of the study another `seed`"
    )]
    Seeds { seed: u64 },
    #[error(
        "it is not of the twins that were given: {what} is {first} there and {here} here\n  \
         give the twins' own study with `inject` below the second stack (twins-slowed.toml is that of twins-short.toml)"
    )]
    NotOfTwins { what: String, first: String, here: String },
    #[error(
        "it is of something else than the first: {what} is {first} there and {here} here\n  \
         give recordings of one study on one machine"
    )]
    Another { what: String, first: String, here: String },
}

impl Recording {
    /// Several files of one study, one after the other.
    pub(crate) fn read(files: &[PathBuf], below: Below) -> Result<Recording, Failure> {
        let mut all: Option<Recording> = None;
        for file in files {
            let refused = |error: RecordingError| Failure::usage(format_args!("{}: {error}", file.display()));
            let next = Recording::of(file, below).map_err(|error| match error {
                // It names the file itself.
                RecordingError::Report(error) => Failure::usage(error),
                other => refused(other),
            })?;
            all = Some(match all {
                None => next,
                Some(before) => before.followed_by(next).map_err(|e| {
                    Failure::usage(format_args!(
                        "{}: {e}\n  the first is {}",
                        file.display(),
                        files[0].display()
                    ))
                })?,
            });
        }
        all.ok_or_else(|| Failure::usage("give a result file"))
    }

    /// Of block figures: where they were recorded, they were alike.
    pub(crate) fn of_figures(twins: Twins) -> Recording {
        Recording {
            twins,
            planted: None,
            seeds: BTreeSet::new(),
            runs: Vec::new(),
            recorded: Recorded::default(),
        }
    }

    fn of(path: &Path, below: Below) -> Result<Recording, RecordingError> {
        let file = ResultFile::open(path)?;
        let may_differ: &[&str] = match below {
            Below::Nothing => &[],
            Below::Slowdown => &[PLANTED],
        };
        let twins = report::twins(&file.ledger, may_differ)?;
        let planted = planted(&file, &twins);
        if below == Below::Slowdown && planted.is_none() {
            return Err(RecordingError::NothingPlanted);
        }
        Ok(Recording {
            planted,
            seeds: file.basis.trials.iter().map(|trial| trial.seed).collect(),
            runs: vec![file.analysis.study.run_id.clone()],
            recorded: same_study::recorded(&file),
            twins,
        })
    }

    /// Refuses what is not these twins with a disadvantage planted in one of them.
    pub(crate) fn must_be_of_slowed(&self, slowed: &Recording, file: &Path) -> Result<(), Failure> {
        let unlike = self.unlike(slowed, |name| !same_study::is_planted(name));
        unlike.map_or(Ok(()), |[what, first, here]| {
            let error = RecordingError::NotOfTwins { what, first, here };
            Err(Failure::usage(format_args!("{}: {error}", file.display())))
        })
    }

    /// The first thing of what is `asked` that is not the same in another recording: its name, and what it is here and
    /// there.
    fn unlike(&self, other: &Recording, asked: impl Fn(&str) -> bool) -> Option<[String; 3]> {
        let names: BTreeSet<&String> = self.recorded.keys().chain(other.recorded.keys()).collect();
        let value = |of: &Recorded, name: &String| of.get(name).cloned().unwrap_or_else(|| "nothing".to_string());
        let recorded = names
            .into_iter()
            .filter(|name| asked(name))
            .map(|name| [name.clone(), value(&self.recorded, name), value(&other.recorded, name)]);
        let both = |what: &str, of: fn(&Twins) -> String| [what.to_string(), of(&self.twins), of(&other.twins)];
        let besides = [
            both("the margin", |of| of.margin.to_string()),
            both("what is ranked", |of| of.phases.join(", ")),
        ];
        recorded.chain(besides).find(|[_, first, here]| first != here)
    }

    /// With another recording of the same study after it.
    fn followed_by(self, other: Recording) -> Result<Recording, RecordingError> {
        if let Some(run) = other.runs.iter().find(|run| self.runs.contains(run)) {
            return Err(RecordingError::Again { run: run.clone() });
        }
        let study = || {
            [
                "the study".to_string(),
                self.twins.study.clone(),
                other.twins.study.clone(),
            ]
        };
        let unlike = self
            .unlike(&other, |_| true)
            .or_else(|| (self.twins.study != other.twins.study).then(study));
        if let Some([what, first, here]) = unlike {
            return Err(RecordingError::Another { what, first, here });
        }
        if let Some(seed) = self.seeds.intersection(&other.seeds).next() {
            return Err(RecordingError::Seeds { seed: *seed });
        }
        Ok(Recording {
            twins: one_after_the_other(self.twins, other.twins)?,
            seeds: self.seeds.union(&other.seeds).copied().collect(),
            runs: [self.runs, other.runs].concat(),
            ..self
        })
    }
}

fn one_after_the_other(first: Twins, second: Twins) -> Result<Twins, TwinsError> {
    // Of the medians the mean by blocks: they differ by what an hour differs from another.
    let (mine, its) = (first.blocks.blocks() as f64, second.blocks.blocks() as f64);
    let mean = |a: u64, b: u64| ((a as f64 * mine + b as f64 * its) / (mine + its)) as u64;
    let phase_ns = first.phase_ns.iter().zip(&second.phase_ns).map(|(a, b)| mean(*a, *b));
    Ok(Twins {
        phase_ns: phase_ns.collect(),
        block_ns: mean(first.block_ns, second.block_ns),
        dropped: first.dropped + second.dropped,
        blocks: first.blocks.followed_by(second.blocks).ok_or(TwinsError::Nothing)?,
        ..first
    })
}

/// The slowdown below the second stack, where nothing else is planted anywhere.
fn planted(file: &ResultFile, twins: &Twins) -> Option<String> {
    let [first, second] = &twins.stacks;
    let keys = |stack: &str| {
        let prefix = format!("stack.{stack}.inject.");
        let of = file.settings.iter().filter_map(|setting| {
            let is_anything = !NOTHING_PLANTED.contains(&setting.value.as_str());
            setting.key.strip_prefix(&prefix).filter(|_| is_anything)
        });
        of.map(str::to_string).collect::<Vec<_>>()
    };
    let is_late = keys(first).is_empty() && keys(second) == ["late"];
    let stack = file.analysis.stacks.iter().find(|stack| stack.name == *second)?;
    stack.injected.clone().filter(|_| is_late)
}
