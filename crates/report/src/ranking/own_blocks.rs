//! What the study's own blocks say against the conditions of its verdicts.
//!
//! Takes the ranking, gives for each condition the stack that breaks it most. Prevents: verdicts of blocks that hang
//! together, and nobody looked.

use super::rank::{Pair, Ranking};
use crate::history::Book;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{BlockRatios, Doubt, History};
use std::collections::BTreeMap;

/// The conditions, each with the stack that breaks it most.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OwnBlocks {
    /// Valid blocks that were looked at.
    pub blocks: u32,
    /// Ratios of neighbouring blocks are alike: `value` is their correlation.
    pub neighbours: BlockDoubt,
    /// The halves of the study differ: `value` is the ratio of the second half over that of the first.
    pub halves: BlockDoubt,
    /// Runs lose a tenth or more on one side only: `value` is the number of runs that lost it less those that gained
    /// it.
    pub one_sided: BlockDoubt,
    /// What so few blocks hide.
    pub hidden: HiddenByBlocks,
}

/// What the sheet would see in fewer than 8 of 10 studies with as many blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HiddenByBlocks {
    /// A correlation of one stack's neighbouring ratios below this; 1 where any is hidden.
    pub correlation: f64,
    /// Slow runs of one stack in no more than this share of the blocks; 1 where any share is hidden.
    pub slow_blocks: f64,
    /// A change of one stack's ratios by less than this share from one half to the other; 1 where any is hidden.
    pub change: f64,
}

/// How far one stack breaks a condition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlockDoubt {
    /// The stack.
    pub stack: String,
    /// How far.
    pub value: f64,
    /// How often chance alone does as much, 0 to 1.
    pub chance: f64,
    /// So seldom that the sheet says it.
    pub speaks: bool,
}

impl OwnBlocks {
    /// Stacks of which a condition is said to be broken.
    pub(crate) fn broken_by(&self) -> Vec<&str> {
        let mut stacks: Vec<&str> = Vec::new();
        for doubt in [&self.neighbours, &self.halves, &self.one_sided] {
            if doubt.speaks && !stacks.contains(&doubt.stack.as_str()) {
                stacks.push(&doubt.stack);
            }
        }
        stacks
    }
}

/// `None` of fewer than six valid blocks, and of none that scatter.
pub(crate) fn own_blocks(book: &Book, ranking: &Ranking) -> Option<OwnBlocks> {
    let decision = &ranking.decision;
    // All are asked on the same blocks; a phase that never counts has none to be asked on.
    let asked = |nth: &usize| ranking.histories[*nth].ys.iter().flatten().next().is_some();
    let asked: Vec<usize> = (0..ranking.pairs.len()).filter(asked).collect();
    let counts = |block: &usize| {
        let y = |nth: &usize| ranking.histories[*nth].ys.get(*block).copied().flatten();
        asked.iter().all(|nth| y(nth).is_some())
    };
    let whole: Vec<usize> = (0..decision.blocks_run as usize).filter(counts).collect();
    let mut stacks: Vec<&str> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut comparisons = Vec::new();
    for (pair, history) in asked.iter().map(|nth| (&ranking.pairs[*nth], &ranking.histories[*nth])) {
        let stack = *places.entry(&pair.stack).or_insert(stacks.len());
        if stack == stacks.len() {
            stacks.push(&pair.stack);
        }
        comparisons.push(ratios(book, pair, history, stack, &whole));
    }
    let seen = stats::own_blocks(&comparisons)?;
    let doubt = |doubt: Doubt| BlockDoubt {
        stack: stacks[doubt.stack].to_string(),
        value: doubt.value,
        chance: doubt.chance,
        speaks: doubt.speaks(),
    };
    Some(OwnBlocks {
        blocks: whole.len() as u32,
        neighbours: doubt(seen.neighbours),
        halves: doubt(seen.halves),
        one_sided: doubt(seen.one_sided),
        hidden: HiddenByBlocks {
            correlation: seen.hidden.correlation,
            slow_blocks: seen.hidden.slow_blocks,
            change: seen.hidden.change,
        },
    })
}

fn ratios(book: &Book, pair: &Pair, history: &History, stack: usize, blocks: &[usize]) -> BlockRatios {
    let in_stints = book.takes_stints();
    let place = |block: usize, stack: &str| {
        let ran = book.ran(block as u32, stack).filter(|_| !in_stints);
        ran.map_or(0.0, |ran| f64::from(ran.trial.position))
    };
    let valid = blocks.iter().map(|block| (*block, history.ys[*block]));
    let (ys, runs_after_base) = valid
        .filter_map(|(block, y)| Some((y?, place(block, &pair.stack) - place(block, &pair.base))))
        .unzip();
    BlockRatios {
        stack,
        ys,
        runs_after_base,
    }
}
