//! Ratios to the base, side by side: of the same stack over the same base in the same phase.
//!
//! Takes the files, gives for each file its own ratio and its change from the first file that has it. Prevents: a ratio
//! to one base beside a ratio to another, and a change between two runs called a verdict.

use super::figures::{NOT_THE_WORK, keys_that_differ, label};
use super::found::{LeftOut, OwnRatio, RatioChange, RatioOfFiles};
use super::taken::FileTaken;
use crate::figures::finite;
use crate::grouped::{distinct, grouped};
use crate::ranking::verdicts::Comparison;
use std::collections::BTreeMap;

const CONFIDENCE: f64 = 0.95;
/// Keys of a stack that say where it lies.
const NOT_THE_STACK: [&str; 5] = ["name", "data", "redo", "path", "url"];

/// A phase, a stack and its base.
type Pair<'a> = (&'a str, &'a str, &'a str);

pub(super) fn ratios(files: &[FileTaken], left: &mut Vec<LeftOut>) -> Vec<RatioOfFiles> {
    let all = files.iter().flat_map(|file| &file.analysis.comparisons);
    let pairs = distinct(all.map(|one| (one.phase.as_str(), one.stack.as_str(), one.base.as_str())));
    let places: Vec<BTreeMap<Pair<'_>, usize>> = files.iter().map(places).collect();
    let mut found = Vec::new();
    let mut refused: Vec<(String, &str)> = Vec::new();
    for pair in pairs {
        let of: Vec<Option<usize>> = places.iter().map(|of| of.get(&pair).copied()).collect();
        let holders: Vec<usize> = (0..files.len()).filter(|nth| of[*nth].is_some()).collect();
        let (phase, stack, base) = pair;
        match objection(files, &holders, pair) {
            Some(reason) => refused.push((format!("{stack} against {base}: {reason}"), phase)),
            None => found.push(side_by_side(files, &of, pair)),
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

fn places(file: &FileTaken) -> BTreeMap<Pair<'_>, usize> {
    let all = file.analysis.comparisons.iter().enumerate();
    let all = all.map(|(place, one)| ((&*one.phase, &*one.stack, &*one.base), place));
    all.rev().collect()
}

/// Why the ratio of these files is not of the same things.
fn objection(files: &[FileTaken], holders: &[usize], (phase, stack, base): Pair<'_>) -> Option<String> {
    let [first, others @ ..] = holders else { return None };
    if others.is_empty() {
        return Some(format!("only {} ranks it against this base", label(*first)));
    }
    for name in [stack, base] {
        let built = |nth: &usize| {
            let head = files[*nth].analysis.stacks.iter().find(|head| head.name == name);
            head.map(|head| (&head.kind, &head.access, &head.injected, head.on_model))
        };
        if let Some(other) = others.iter().find(|nth| built(nth) != built(first)) {
            let (one, other) = (label(*first), label(*other));
            return Some(format!(
                "{name} is not the same in {one} and {other} (kind, access, model or disadvantage)"
            ));
        }
    }
    let of = || holders.iter().map(|nth| &files[*nth]);
    let stacks = [format!("stack.{base}."), format!("stack.{stack}.")];
    let mut keys = keys_that_differ(of(), &stacks, &NOT_THE_STACK);
    keys.extend(keys_that_differ(of(), &[format!("phase.{phase}.")], &NOT_THE_WORK));
    (!keys.is_empty()).then(|| format!("not the same in all files: {}", keys.join(", ")))
}

fn side_by_side(files: &[FileTaken], of: &[Option<usize>], (phase, stack, base): Pair<'_>) -> RatioOfFiles {
    let own: Vec<Option<OwnRatio>> = files
        .iter()
        .zip(of)
        .map(|(file, place)| own_ratio(&file.analysis.comparisons[(*place)?], &file.log_ratios[(*place)?]))
        .collect();
    let first = own.iter().position(Option::is_some);
    let change = |nth: usize| {
        let first = first.filter(|first| *first < nth && !files[nth].is_of_the_run_of(&files[*first]))?;
        let ys = |nth: usize| Some(&files[nth].log_ratios[of[nth]?][..]);
        let interval = stats::ratio_of_ratios(ys(nth)?, ys(first)?, CONFIDENCE);
        let middle = || (stats::mean(ys(nth)?) - stats::mean(ys(first)?)).exp().into();
        Some(RatioChange {
            against: label(first),
            ratio: finite(interval.map(|one| one.middle).or_else(middle))?,
            low: finite(interval.map(|one| one.low)),
            high: finite(interval.map(|one| one.high)),
        })
    };
    let metric = of
        .iter()
        .zip(files)
        .find_map(|(place, file)| Some(file.analysis.comparisons[(*place)?].metric));
    RatioOfFiles {
        phase: phase.into(),
        stack: stack.into(),
        base: base.into(),
        metric: metric.expect("a pair comes from a file that has it"),
        changes: (0..files.len()).map(|nth| own[nth].and_then(|_| change(nth))).collect(),
        ratios: own,
    }
}

/// As its own report has it; before the first look, a plain interval of its blocks.
fn own_ratio(one: &Comparison, log_ratios: &[f64]) -> Option<OwnRatio> {
    let plain = stats::ratio_interval(log_ratios, CONFIDENCE);
    let judged = one.ratio.is_some();
    let end = |of_look: Option<f64>, plain: Option<f64>| if judged { of_look } else { finite(plain) };
    let mean = (!log_ratios.is_empty()).then(|| stats::mean(log_ratios).exp());
    Some(OwnRatio {
        ratio: finite(one.ratio.or(mean))?,
        low: end(one.low, plain.map(|one| one.low)),
        high: end(one.high, plain.map(|one| one.high)),
        n: one.n.unwrap_or(log_ratios.len() as u32),
        verdict: one.verdict,
    })
}
