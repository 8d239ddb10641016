//! Which stacks are equivalent to each other, and not only to their base.
//!
//! Two stacks inside the margin of a base can be almost two margins apart. Takes the ranking, gives the pairs that
//! the same procedure calls equivalent. A sentence that names all of a group as equivalent needs each pair of it, so
//! it errs no more often than one of them. Prevents: "all are equivalent", said of two stacks that are not.

use super::rank::{Pair, Ranking, design};
use crate::history::Book;
use crate::looked::looked;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{History, Procedure, Verdict};
use std::collections::BTreeMap;

/// Two stacks that are equivalent in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairAlike {
    /// One of them.
    pub stack: String,
    /// The other.
    pub other: String,
    /// The phase.
    pub phase: String,
}

pub(crate) fn pairs_alike(book: &Book, ranking: &Ranking) -> Vec<PairAlike> {
    let procedure = Procedure::new(design(book, &ranking.pairs));
    let run = ranking.decision.blocks_run as usize;
    let compared: Vec<(&Pair, &History)> = (ranking.pairs.iter().zip(&ranking.histories))
        .filter(|(pair, _)| pair.before.is_none())
        .collect();
    let key = |pair: &Pair| (pair.base.clone(), pair.phase.name.clone());
    let mut alike: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (nth, (pair, _)) in compared.iter().enumerate() {
        alike.entry(key(pair)).or_default().push(nth);
    }
    let mut found = Vec::new();
    for (nth, (one, its)) in compared.iter().enumerate() {
        for other in alike[&key(one)].iter().filter(|other| **other > nth) {
            looked(1);
            let (other, theirs) = compared[*other];
            let blocks = its.ys.iter().zip(&theirs.ys).take(run);
            let between = History {
                stack: its.stack.clone(),
                phase: its.phase.clone(),
                ys: blocks.map(|(a, b)| Some((*a)? - (*b)?)).collect(),
            };
            if procedure.decide(&[between]).comparisons[0].verdict == Verdict::Equivalent {
                found.push(PairAlike {
                    stack: one.stack.clone(),
                    other: other.stack.clone(),
                    phase: one.phase.name.clone(),
                });
            }
        }
    }
    found
}
