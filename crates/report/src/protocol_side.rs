//! One of two result files that are held beside each other: its figures judged as a fixed protocol's, or by the procedure, and its time.
//!
//! Takes a gathered file and its ranking, gives what it says of a comparison and what that took. Prevents: time that is counted without the
//! blocks that had to be dropped, and set-up that is counted on one side only.

use crate::analysis::{Unranked, Verdict, finite};
use crate::cells::Metric;
use crate::history::{Book, Ran, Seen};
use crate::protocols::{FixedSays, HereSays, Protocol, ProtocolsError, Took};
use crate::rank::{self, Pair, Ranking};
use ledger::LedgerError;
use stats::{Orientation, Welch};

/// Studies drawn for what the fixed protocol would find: the figure is then good to about 1 %.
const DRAWN: u32 = 20_000;

/// Of the fixed protocol's test.
const CONFIDENCE: f64 = 0.95;

/// A file with what its own report makes of it.
pub(crate) struct OneSide<'a> {
    pub(crate) book: &'a Book,
    pub(crate) ranking: &'a Ranking,
}

impl OneSide<'_> {
    pub(crate) fn design(&self) -> stats::Design {
        rank::design(self.book, &self.ranking.pairs)
    }

    pub(crate) fn place_of(&self, pair: &Pair) -> Option<usize> {
        self.ranking.pairs.iter().position(|other| {
            other.before.is_none()
                && (&other.stack, &other.base, &other.phase) == (&pair.stack, &pair.base, &pair.phase)
        })
    }

    /// Blocks that count.
    pub(crate) fn valid(&self) -> Vec<u32> {
        let blocks = self.ranking.histories.iter().map(|history| history.ys.len()).min();
        let counts = |block: &u32| {
            let y = |history: &stats::History| history.ys[*block as usize].is_some();
            self.ranking.histories.iter().all(y)
        };
        (0..blocks.unwrap_or(0) as u32).filter(counts).collect()
    }

    pub(crate) fn few(&self, found: usize, needed: usize) -> ProtocolsError {
        ProtocolsError::Few {
            study: self.book.study.name.clone(),
            found,
            needed,
        }
    }

    pub(crate) fn by_welch(&self, pair: &Pair, blocks: &[u32]) -> Result<FixedSays, LedgerError> {
        let metric = Metric::of(pair.phase.kind);
        let figures = |stack: &str| -> Result<Vec<f64>, LedgerError> {
            let mut found = Vec::new();
            for block in blocks {
                let seen = self
                    .book
                    .ran(*block, stack)
                    .and_then(|ran| ran.phases.get(&pair.phase.name));
                // A block that counts has a figure of each: it has a ratio.
                let value = seen.map_or(Ok(None), |seen| metric.value(seen))?;
                found.push(value.unwrap_or(f64::NAN));
            }
            Ok(found)
        };
        let figures = [figures(&pair.base)?, figures(&pair.stack)?];
        let [base, other] = &figures;
        let middle = stats::mean(base);
        let test = stats::welch_interval(base, other, CONFIDENCE).unwrap_or(Welch {
            difference: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
            p: f64::NAN,
        });
        let ratio = 1.0 + test.difference / middle;
        let (low, high) = (1.0 + test.low / middle, 1.0 + test.high / middle);
        let is_found = test.p < 1.0 - CONFIDENCE;
        let is_better = (ratio > 1.0) == (metric.orientation() == Orientation::HigherIsBetter);
        // A time of nothing or less is no time: such an end is open.
        let inverse = |value: f64| Some(1.0 / value).filter(|inverse| *inverse > 0.0);
        let (ratio, low, high) = match metric.orientation() {
            Orientation::HigherIsBetter => (ratio, Some(low), Some(high)),
            Orientation::LowerIsBetter => (1.0 / ratio, inverse(high), inverse(low)),
        };
        let side = |x: &[f64]| (stats::sd(x) / middle, x.len());
        Ok(FixedSays {
            found: is_found.then_some(if is_better { Verdict::Better } else { Verdict::Worse }),
            ratio,
            low: finite(low),
            high: finite(high),
            p: test.p,
            smallest_found: 1.0 + stats::welch_finds([side(base), side(other)], DRAWN, self.book.study.seed),
            took: self.took(pair, blocks.last().map_or(0, |last| last + 1)),
            figures,
        })
    }

    pub(crate) fn by_procedure(&self, pair: &Pair, nth: usize) -> HereSays {
        let decision = &self.ranking.decision;
        let judged = &decision.comparisons[nth];
        let look = judged.look.map_or(0, |number| number as usize - 1);
        let blocks = decision.looks[look].blocks_run;
        let ys: Vec<f64> = self.ranking.histories[nth].ys.iter().copied().flatten().collect();
        let design = self.design();
        let took = self.took(pair, blocks);
        let times = f64::from(design.blocks) / f64::from(blocks.max(1));
        HereSays {
            verdict: judged.verdict.into(),
            ratio: finite(judged.estimate.map(|e| e.ratio)),
            low: finite(judged.estimate.map(|e| e.low)),
            high: finite(judged.estimate.map(|e| e.high)),
            blocks,
            smallest_found: stats::detectable(&design, stats::sd(&ys)),
            took,
            took_most: Took {
                runs_seconds: took.runs_seconds * times,
                wall_seconds: took.wall_seconds.map(|wall| wall * times),
            },
        }
    }

    /// What a comparison took in the first so many blocks: those that do not count took their time too.
    fn took(&self, pair: &Pair, blocks: u32) -> Took {
        let trials = || {
            let of_block = move |block: u32| [&pair.base, &pair.stack].map(|stack| self.book.ran(block, stack));
            (0..blocks).map(of_block)
        };
        let runs = trials().flatten().flatten();
        let seconds = runs.filter_map(|ran| Some(ran.phases.get(&pair.phase.name)?.total_s()));
        let wall = trials().map(|trials| wall_seconds(trials.into_iter().flatten()));
        Took {
            runs_seconds: seconds.sum(),
            wall_seconds: (!self.book.study.modelled).then(|| wall.sum()),
        }
    }

    fn phases(&self) -> impl Iterator<Item = &Seen> {
        self.book
            .ran
            .values()
            .flat_map(|ran| ran.phases.values())
            .filter(|seen| seen.run.ranked)
    }

    pub(crate) fn run_seconds(&self) -> f64 {
        let all: Vec<f64> = self.phases().map(Seen::total_s).collect();
        stats::median(&all)
    }

    pub(crate) fn protocol(&self, blocks_most: u32, blocks: u32) -> Protocol {
        let ran = || self.book.ran.iter().filter(move |((block, _), _)| *block < blocks);
        let seen = ran().flat_map(|(_, ran)| ran.phases.values().filter(|seen| seen.run.ranked));
        let wall = (0..blocks).map(|nth| wall_seconds(ran().filter(|((of, _), _)| *of == nth).map(|(_, ran)| ran)));
        Protocol {
            study: self.book.study.name.clone(),
            blocks_most,
            blocks,
            run_seconds: self.run_seconds(),
            runs_seconds: seen.map(Seen::total_s).sum(),
            wall_seconds: (!self.book.study.modelled).then(|| wall.sum()),
        }
    }
}

/// Time that these trials took by the wall, that of several at once counted once, s.
fn wall_seconds<'a>(trials: impl Iterator<Item = &'a Ran>) -> f64 {
    let span = |ran: &Ran| Some((ran.trial.began_unix_ns, ran.trial.ended_unix_ns?));
    let mut spans: Vec<(u64, u64)> = trials.filter_map(span).collect();
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
pub(crate) fn left_out(fixed: &OneSide<'_>, here: &OneSide<'_>) -> Vec<String> {
    let said = |judged: &OneSide<'_>| -> Vec<String> {
        let one = |unranked: &Unranked| {
            let phase = unranked
                .phase
                .as_ref()
                .map_or(String::new(), |phase| format!(", {phase}"));
            format!(
                "{}{phase} is not ranked in {}: {}",
                unranked.stack, judged.book.study.name, unranked.reason
            )
        };
        judged.ranking.unranked.iter().map(one).collect()
    };
    [said(fixed), said(here)].concat()
}
