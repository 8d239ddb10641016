//! What the verdicts of a file were worked out from: the figures and ratios of every block, and the time of every run.
//!
//! Takes an open ledger, gives plain rows beside those of the [`Analysis`](crate::Analysis) of the same file. Prevents:
//! a second program that examines the procedure on blocks that it chose by rules of its own.

use crate::cells::metric::Metric;
use crate::history::{Book, Ran};
use crate::ranking::rank::{self, Pair, taking_part};
use ledger::{Ledger, LedgerError};
use stats::{Design, Orientation};

/// Blocks, runs and the design.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    /// What was fixed before the first block.
    pub design: Design,
    /// Stacks that took part, in the order of the study.
    pub stacks: Vec<String>,
    /// Stacks against their base, in the order of the report's comparisons.
    pub comparisons: Vec<BlocksCompared>,
    /// Blocks up to the end of the study, dropped ones among them.
    pub blocks_used: u32,
    /// The trials that count, in the order of blocks.
    pub trials: Vec<TrialTaken>,
}

/// A stack against its base in a phase, block by block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlocksCompared {
    /// The stack.
    pub stack: String,
    /// What it is compared with.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// Which direction of its metric is good.
    pub orientation: Orientation,
    /// The metric of the base and of the stack in each block; `None` where it was not measured.
    pub figures: [Vec<Option<f64>>; 2],
    /// ln(stack / base), above 0 is better; `None` of a block that does not count.
    pub ys: Vec<Option<f64>>,
}

/// A trial that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialTaken {
    /// From 0.
    pub block: u32,
    /// The stack.
    pub stack: String,
    /// Where it ran.
    pub host: String,
    /// Its seed.
    pub seed: u64,
    /// When it began, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// When it ended.
    pub ended_unix_ns: Option<u64>,
    /// Its phases.
    pub phases: Vec<PhaseTaken>,
}

/// A phase of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTaken {
    /// Name.
    pub name: String,
    /// Compared between stacks.
    pub ranked: bool,
    /// Its length, drain included.
    pub seconds: f64,
}

impl Basis {
    /// Gathers it from the file.
    ///
    /// # Errors
    /// The file can't be read as a result.
    pub fn of(ledger: &Ledger) -> Result<Basis, LedgerError> {
        let book = Book::read(ledger)?;
        let ranking = rank::rank(&book)?;
        let mut comparisons = Vec::new();
        for (pair, history) in ranking.pairs.iter().zip(&ranking.histories) {
            if pair.before.is_none() {
                comparisons.push(compared(&book, pair, &history.ys)?);
            }
        }
        Ok(Basis {
            design: rank::design(&book, &ranking.pairs),
            stacks: taking_part(&book).map(|stack| stack.name.clone()).collect(),
            comparisons,
            blocks_used: ranking.decision.blocks_run,
            trials: book
                .trials()
                .map(|(block, stack, ran)| trial(block, stack, ran))
                .collect(),
        })
    }
}

fn compared(book: &Book, pair: &Pair, ys: &[Option<f64>]) -> Result<BlocksCompared, LedgerError> {
    let metric = Metric::of(pair.phase.kind);
    let figures = |stack: &str| {
        let figure = |block: u32| {
            let seen = book.at(block, stack, &pair.phase.name);
            seen.map_or(Ok(None), |seen| metric.value(seen))
        };
        (0..book.blocks()).map(figure).collect::<Result<Vec<_>, LedgerError>>()
    };
    Ok(BlocksCompared {
        stack: pair.stack.clone(),
        base: pair.base.clone(),
        phase: pair.phase.name.clone(),
        orientation: metric.orientation(),
        figures: [figures(&pair.base)?, figures(&pair.stack)?],
        ys: ys.to_vec(),
    })
}

fn trial(block: u32, stack: &str, ran: &Ran) -> TrialTaken {
    let phases = ran.phases.iter().map(|(name, seen)| PhaseTaken {
        name: name.clone(),
        ranked: seen.run.ranked,
        seconds: seen.total_s(),
    });
    TrialTaken {
        block,
        stack: stack.to_string(),
        host: ran.trial.host.clone(),
        seed: ran.trial.seed,
        began_unix_ns: ran.trial.began_unix_ns,
        ended_unix_ns: ran.trial.ended_unix_ns,
        phases: phases.collect(),
    }
}
