//! Ratios to the base, side by side: of the same stack over the same base in the same phase or change of phases.
//!
//! Takes the files, gives for each file its own ratio and its change from the first file that has it. Prevents: a ratio
//! to one base beside a ratio to another, and a change between two runs called a verdict.

use super::figures::{NOT_THE_WORK, keys_that_differ, label};
use super::found::{LeftOut, OwnRatio, RatioChange, RatioOfFiles, phase_in_words};
use super::taken::{CONFIDENCE, FileTaken, RankedKey, RankedTaken};
use crate::figures::finite;
use crate::grouped::{distinct, grouped};
use ledger::{Layer, Stack};
use std::collections::BTreeMap;

/// Keys of a stack that say where it lies.
const NOT_THE_STACK: [&str; 5] = ["name", "data", "redo", "path", "url"];

pub(super) fn ratios(files: &[FileTaken], left: &mut Vec<LeftOut>) -> Vec<RatioOfFiles> {
    let all = files.iter().flat_map(|file| &file.ranked);
    let keys = distinct(all.map(|one| &one.key));
    let places: Vec<BTreeMap<&RankedKey, &RankedTaken>> = files.iter().map(places).collect();
    let mut found = Vec::new();
    let mut refused: Vec<(String, String)> = Vec::new();
    for key in keys {
        let of: Vec<Option<&RankedTaken>> = places.iter().map(|of| of.get(key).copied()).collect();
        let holders: Vec<usize> = (0..files.len()).filter(|nth| of[*nth].is_some()).collect();
        match objection(files, &holders, key) {
            Some(reason) => refused.push((
                format!("{} against {}: {reason}", key.stack, key.base),
                phase_in_words(&key.phase, key.against.as_deref()),
            )),
            None => found.extend(side_by_side(files, &of, key)),
        }
    }
    for (what, phases) in grouped(refused) {
        left.push(LeftOut {
            what: format!("ratio in {}", phases.join(", ")),
            reason: what,
        });
    }
    found
}

fn places(file: &FileTaken) -> BTreeMap<&RankedKey, &RankedTaken> {
    let all = file.ranked.iter().map(|one| (&one.key, one));
    all.rev().collect()
}

/// Why the ratio of these files is not of the same things.
fn objection(files: &[FileTaken], holders: &[usize], key: &RankedKey) -> Option<String> {
    let [first, others @ ..] = holders else { return None };
    if others.is_empty() {
        return Some(format!("only {} ranks it against this base", label(*first)));
    }
    for name in [&key.stack, &key.base] {
        let built = |nth: &usize| files[*nth].stacks.iter().find(|stack| stack.name == *name);
        for other in others {
            let (Some(own), Some(its)) = (built(first), built(other)) else {
                continue;
            };
            let differ = unlike(own, its);
            if !differ.is_empty() {
                let (one, other) = (label(*first), label(*other));
                let differ = differ.join(", ");
                return Some(format!("{name} is not the same in {one} and {other} ({differ})"));
            }
        }
    }
    let of = || holders.iter().map(|nth| &files[*nth]);
    let stacks = [&key.base, &key.stack].map(|name| format!("stack.{name}."));
    let mut keys = keys_that_differ(of(), &stacks, &NOT_THE_STACK);
    let phases = distinct(of().flat_map(|file| phases_of(file, key)));
    let phases: Vec<String> = phases.iter().map(|name| format!("phase.{name}.")).collect();
    keys.extend(keys_that_differ(of(), &phases, &NOT_THE_WORK));
    (!keys.is_empty()).then(|| format!("not the same in all files: {}", keys.join(", ")))
}

/// What is not the same of two stacks with one name.
fn unlike(own: &Stack, its: &Stack) -> Vec<&'static str> {
    let (group, other) = (own.group(), its.group());
    let all = [
        ("kind", own.kind != its.kind),
        ("access", own.access != its.access),
        ("modelled devices", models(own) != models(its)),
        ("number of layers", group.layers != other.layers),
        ("database", group.database != other.database),
        ("planted disadvantage", own.injected != its.injected),
    ];
    let differ = all.into_iter().filter(|(_, is_other)| *is_other);
    differ.map(|(what, _)| what).collect()
}

/// The models under a stack: its data and its log may have one each.
fn models(stack: &Stack) -> Vec<&Layer> {
    let is_model = |layer: &&Layer| matches!(layer, Layer::Model { .. } | Layer::Served { .. });
    stack.layers.0.iter().filter(is_model).collect()
}

/// The phase; of a change, all phases from the earlier one on, for each of them shapes it.
fn phases_of<'a>(file: &'a FileTaken, key: &'a RankedKey) -> Vec<&'a str> {
    let all: Vec<&str> = file.analysis.phases.iter().map(|phase| phase.name.as_str()).collect();
    let place = |name: &str| all.iter().position(|phase| *phase == name);
    let from = key.against.as_deref().unwrap_or(&key.phase);
    match (place(from), place(&key.phase)) {
        (Some(from), Some(to)) if from < to => all[from..=to].to_vec(),
        _ => vec![from, &key.phase],
    }
}

/// `None` without a file that has it.
fn side_by_side(files: &[FileTaken], of: &[Option<&RankedTaken>], key: &RankedKey) -> Option<RatioOfFiles> {
    let own: Vec<Option<OwnRatio>> = of.iter().map(|one| (*one)?.ratio).collect();
    let first = own.iter().position(Option::is_some);
    let change = |nth: usize| {
        let first = first.filter(|first| *first < nth && !files[nth].is_of_the_run_of(&files[*first]))?;
        let (ys, of_first) = (&of[nth]?.log_ratios[..], &of[first]?.log_ratios[..]);
        let interval = stats::ratio_of_ratios(ys, of_first, CONFIDENCE);
        let middle = || (stats::mean(ys) - stats::mean(of_first)).exp().into();
        Some(RatioChange {
            against: label(first),
            ratio: finite(interval.map(|one| one.middle).or_else(middle))?,
            low: finite(interval.map(|one| one.low)),
            high: finite(interval.map(|one| one.high)),
        })
    };
    Some(RatioOfFiles {
        phase: key.phase.clone(),
        against: key.against.clone(),
        stack: key.stack.clone(),
        base: key.base.clone(),
        metric: of.iter().flatten().next()?.metric,
        changes: (0..files.len()).map(|nth| own[nth].and_then(|_| change(nth))).collect(),
        ratios: own,
    })
}
