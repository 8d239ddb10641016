//! One of two result files that are held beside each other: its figures judged as a fixed protocol's, or by the
//! procedure, and its time.
//!
//! Takes a result file, gives what it says of a comparison and what that took. Prevents: time that is counted without
//! the blocks that had to be dropped, and set-up that is counted on one side only.

use super::{FixedSays, HereSays, Protocol, ProtocolsError, Took};
use crate::fixed::welch::{self, Welch};
use crate::result_file::ResultFile;
use report::{BlocksCompared, Comparison, PhaseTaken, TrialTaken, Unranked, Verdict};
use stats::Orientation;

/// Studies drawn for what the fixed protocol would find: the figure is then good to about 1 %.
const DRAWN: u32 = 20_000;

/// Of the fixed protocol's test.
const CONFIDENCE: f64 = 0.95;

/// A file of one of the two.
pub(super) struct OneSide<'a>(pub(super) &'a ResultFile);

impl OneSide<'_> {
    pub(super) fn comparisons(&self) -> &[BlocksCompared] {
        &self.0.basis.comparisons
    }

    /// What this file's report says of a comparison of the other.
    pub(super) fn said_of(&self, of: &BlocksCompared) -> Option<&Comparison> {
        let is_it = |one: &&Comparison| (&one.stack, &one.base, &one.phase) == (&of.stack, &of.base, &of.phase);
        self.0.analysis.comparisons.iter().find(is_it)
    }

    /// Blocks that count for every comparison.
    pub(super) fn valid(&self) -> Vec<u32> {
        let comparisons = self.comparisons();
        let blocks = comparisons.iter().map(|compared| compared.ys.len()).max().unwrap_or(0);
        let counts = |block: &usize| {
            comparisons
                .iter()
                .all(|one| one.ys.get(*block).is_some_and(Option::is_some))
        };
        (0..blocks).filter(counts).map(|block| block as u32).collect()
    }

    pub(super) fn few(&self, found: usize, needed: usize) -> ProtocolsError {
        ProtocolsError::Few {
            study: self.0.study().to_string(),
            found,
            needed,
        }
    }

    /// Root of the file's seeds; of a text that is none, a seed like any other.
    fn seed(&self) -> u64 {
        self.0.analysis.study.seed.parse().unwrap_or(1)
    }

    pub(super) fn by_welch(&self, compared: &BlocksCompared, blocks: &[u32]) -> FixedSays {
        // A block that counts has a figure of each: it has a ratio.
        let figures = compared.figures.each_ref().map(|of| -> Vec<f64> {
            let figure = |block: &u32| of.get(*block as usize).copied().flatten().unwrap_or(f64::NAN);
            blocks.iter().map(figure).collect()
        });
        let [base, other] = &figures;
        let middle = stats::mean(base);
        let test = welch::welch_interval(base, other, CONFIDENCE).unwrap_or(Welch {
            difference: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
            p: f64::NAN,
        });
        let ratio = 1.0 + test.difference / middle;
        let (low, high) = (1.0 + test.low / middle, 1.0 + test.high / middle);
        let is_found = test.p < 1.0 - CONFIDENCE;
        let is_better = (ratio > 1.0) == (compared.orientation == Orientation::HigherIsBetter);
        // A time of nothing or less is no time: such an end is open.
        let inverse = |value: f64| Some(1.0 / value).filter(|inverse| *inverse > 0.0);
        let (ratio, low, high) = match compared.orientation {
            Orientation::HigherIsBetter => (ratio, Some(low), Some(high)),
            Orientation::LowerIsBetter => (1.0 / ratio, inverse(high), inverse(low)),
        };
        let side = |x: &[f64]| (stats::sd(x) / middle, x.len());
        FixedSays {
            found: is_found.then_some(if is_better { Verdict::Better } else { Verdict::Worse }),
            ratio,
            low: end(low),
            high: end(high),
            p: test.p,
            smallest_found: 1.0 + welch::welch_finds([side(base), side(other)], DRAWN, self.seed()),
            took: self.took(
                [&compared.base, &compared.stack],
                &compared.phase,
                blocks.last().map_or(0, |last| last + 1),
            ),
            figures,
        }
    }

    pub(super) fn by_procedure(&self, said: &Comparison) -> HereSays {
        let (analysis, design) = (&self.0.analysis, &self.0.basis.design);
        // Without a verdict it took until the last look; the time until its own, else.
        let look = said.look.unwrap_or(1);
        let looks = analysis.looks.iter();
        let blocks = looks.filter(|one| one.number == look).map(|one| one.blocks_run).next();
        let blocks = blocks.unwrap_or(0);
        let compared = (self.comparisons().iter())
            .find(|one| (&one.stack, &one.base, &one.phase) == (&said.stack, &said.base, &said.phase));
        let ys: Vec<f64> = compared.map_or(Vec::new(), |one| one.ys.iter().copied().flatten().collect());
        let took = self.took([&said.base, &said.stack], &said.phase, blocks);
        let times = f64::from(design.blocks) / f64::from(blocks.max(1));
        HereSays {
            verdict: said.verdict,
            ratio: said.ratio,
            low: said.low,
            high: said.high,
            blocks,
            smallest_found: stats::detectable(design, stats::sd(&ys)),
            took,
            took_most: Took {
                runs_seconds: took.runs_seconds * times,
                wall_seconds: took.wall_seconds.map(|wall| wall * times),
            },
        }
    }

    /// Trials of some stacks in the first so many blocks, block by block: those that do not count took their time too.
    fn trials(&self, blocks: u32, is_asked: impl Fn(&str) -> bool) -> Vec<Vec<&TrialTaken>> {
        let mut all = vec![Vec::new(); blocks as usize];
        for trial in self.0.basis.trials.iter().filter(|trial| is_asked(&trial.stack)) {
            if let Some(block) = all.get_mut(trial.block as usize) {
                block.push(trial);
            }
        }
        all
    }

    /// What a comparison took in the first so many blocks.
    fn took(&self, stacks: [&str; 2], phase: &str, blocks: u32) -> Took {
        self.time_of(&self.trials(blocks, |stack| stacks.contains(&stack)), |of| {
            of.name == phase
        })
    }

    fn time_of(&self, trials: &[Vec<&TrialTaken>], is_asked: impl Fn(&PhaseTaken) -> bool) -> Took {
        let phases = trials.iter().flatten().flat_map(|trial| &trial.phases);
        let seconds = phases.filter(|phase| is_asked(phase)).map(|phase| phase.seconds);
        let is_virtual = self.0.analysis.study.modelled;
        Took {
            runs_seconds: seconds.sum(),
            wall_seconds: (!is_virtual).then(|| trials.iter().map(|of| wall_seconds(of)).sum()),
        }
    }

    /// Median of the runs of ranked phases.
    pub(super) fn run_seconds(&self) -> f64 {
        let phases = self.0.basis.trials.iter().flat_map(|trial| &trial.phases);
        let all: Vec<f64> = phases.filter(|phase| phase.ranked).map(|phase| phase.seconds).collect();
        stats::median(&all)
    }

    pub(super) fn protocol(&self, blocks_most: u32, blocks: u32) -> Protocol {
        let took = self.time_of(&self.trials(blocks, |_| true), |phase| phase.ranked);
        Protocol {
            study: self.0.study().to_string(),
            blocks_most,
            blocks,
            run_seconds: self.run_seconds(),
            runs_seconds: took.runs_seconds,
            wall_seconds: took.wall_seconds,
        }
    }

    /// Where it was run; nothing of a simulation, which is the same everywhere.
    pub(super) fn host(&self) -> String {
        let first = self.0.basis.trials.first();
        let host = first
            .filter(|_| !self.0.analysis.study.modelled)
            .map(|trial| trial.host.clone());
        host.unwrap_or_default()
    }
}

/// The end of an interval that has one.
fn end(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Time that these trials took by the wall, that of several at once counted once, s.
fn wall_seconds(trials: &[&TrialTaken]) -> f64 {
    let span = |trial: &&TrialTaken| Some((trial.began_unix_ns, trial.ended_unix_ns?));
    let mut spans: Vec<(u64, u64)> = trials.iter().filter_map(span).collect();
    spans.sort_unstable();
    let mut reached = 0;
    let mut sum = 0;
    for (began, ended) in spans {
        sum += ended.saturating_sub(began.max(reached));
        reached = reached.max(ended);
    }
    sum as f64 / 1e9
}

/// Comparisons of the one that the other does not have, with what it says of them.
pub(super) fn left_out(fixed: &ResultFile, here: &ResultFile) -> Vec<String> {
    let said = |file: &ResultFile| -> Vec<String> {
        let one = |unranked: &Unranked| {
            let phase = unranked
                .phase
                .as_ref()
                .map_or(String::new(), |phase| format!(", {phase}"));
            let (stack, reason) = (&unranked.stack, &unranked.reason);
            format!("{stack}{phase} is not ranked in {}: {reason}", file.study())
        };
        file.analysis.unranked.iter().map(one).collect()
    };
    [said(fixed), said(here)].concat()
}
