//! The last line: one sentence that a person can decide on, honest when there is nothing to decide.
//!
//! Takes the analysis, gives the sentence. Prevents: a table that leaves the reader to draw the conclusion, and a
//! conclusion where there is none.

use crate::analysis::{Analysis, Comparison, GoOn, StopReason, Verdict};
use crate::checks::Status;
use crate::format::{percent, ratio};

pub(crate) fn sentence(analysis: &Analysis) -> String {
    let mut said = if analysis.comparisons.is_empty() {
        nothing_ranked(analysis)
    } else {
        ranked(analysis)
    };
    if analysis.study.modelled {
        said = format!("On a modelled device, not a real one: {said}");
    }
    let planted: Vec<&str> = analysis
        .stacks
        .iter()
        .filter(|s| s.injected.is_some())
        .map(|s| s.name.as_str())
        .collect();
    if !planted.is_empty() {
        said.push_str(&format!(" (with a disadvantage planted on {})", planted.join(", ")));
    }
    let lost = analysis
        .checks
        .iter()
        .find(|c| c.subject == "data loss" && c.status == Status::Invalid);
    if let Some(lost) = lost {
        let stack = lost.stack.as_deref().unwrap_or("a stack");
        said.push_str(&format!("; but {stack} LOST DATA, whatever its speed"));
    }
    said.push('.');
    said
}

fn nothing_ranked(analysis: &Analysis) -> String {
    let ran: Vec<&str> = analysis
        .stacks
        .iter()
        .filter(|s| s.skipped_reason.is_none())
        .map(|s| s.name.as_str())
        .collect();
    if analysis.phases.iter().all(|phase| phase.cells.is_empty()) {
        return match analysis.unranked.first() {
            Some(first) => format!("There is no answer: {}: {}", first.stack, first.reason),
            None => "There is no answer yet: no stack has come through its phases".into(),
        };
    }
    if let Some(first) = analysis.unranked.first() {
        return format!("Nothing can be ranked here: {}: {}", first.stack, first.reason);
    }
    match ran.as_slice() {
        [only] => format!("Only {only} was measured, so there is nothing to compare it with"),
        _ => "No phase of this study is ranked, so its numbers are to be read as they are".into(),
    }
}

fn ranked(analysis: &Analysis) -> String {
    if analysis.looks.is_empty() {
        let study = &analysis.study;
        let tail = match analysis.go_on {
            GoOn::Stop(StopReason::TooManyDropped) => "too many blocks had to be dropped",
            _ => "let the study go on (`assay run --resume`)",
        };
        return format!(
            "Not enough data yet: {} of {} planned blocks count, and none of the looks was due; {tail}",
            study.blocks_valid, study.blocks_planned
        );
    }
    let undecided = analysis
        .comparisons
        .iter()
        .filter(|c| c.verdict == Verdict::NotEnoughData)
        .count();
    if undecided == analysis.comparisons.len() {
        return format!(
            "Not enough data to tell the stacks apart after {} blocks: the differences, if any, are smaller than the noise of \
             this machine",
            analysis.study.blocks_valid
        );
    }
    let mut clauses = Vec::new();
    for phase in &analysis.phases {
        let of: Vec<&Comparison> = analysis.comparisons.iter().filter(|c| c.phase == phase.name).collect();
        if !of.is_empty() {
            clauses.push(clause(&of, &phase.name, analysis.study.margin));
        }
    }
    let mut said = clauses.join("; ");
    let left_out = left_out(analysis);
    if !left_out.is_empty() {
        said.push_str(&format!("; not ranked: {}", left_out.join(", ")));
    }
    said.replacen("for ", "For ", 1)
}

/// Stacks that are not ranked, with the phase where that is not so of all phases.
fn left_out(analysis: &Analysis) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for one in &analysis.unranked {
        let somewhere = analysis
            .comparisons
            .iter()
            .any(|c| c.stack == one.stack || c.base == one.stack);
        let text = match &one.phase {
            Some(phase) if somewhere => format!("{} in {phase}", one.stack),
            _ => one.stack.clone(),
        };
        if !named.contains(&text) {
            named.push(text);
        }
    }
    named
}

/// What one phase says.
fn clause(of: &[&Comparison], phase: &str, margin: f64) -> String {
    if let [one] = of {
        let interval = interval(one);
        let noun = one.metric.noun();
        return match one.verdict {
            Verdict::Worse => format!(
                "for {phase}, {} is the faster stack: {} does {} of its {noun} {interval}",
                one.base,
                one.stack,
                value(one)
            ),
            Verdict::Better => format!(
                "for {phase}, {} is the faster stack: it does {} of {}'s {noun} {interval}",
                one.stack,
                value(one),
                one.base
            ),
            Verdict::Equivalent => {
                format!(
                    "for {phase}, {} and {} are equivalent within {}",
                    one.stack,
                    one.base,
                    percent(margin)
                )
            }
            Verdict::NotEnoughData => {
                format!(
                    "for {phase}, there is not enough data to tell {} from {}",
                    one.stack, one.base
                )
            }
        };
    }
    if of.iter().all(|one| one.verdict == Verdict::Equivalent) {
        return format!(
            "for {phase}, all stacks are equivalent to {} within {}",
            of[0].base,
            percent(margin)
        );
    }
    let parts: Vec<String> = of
        .iter()
        .map(|one| match one.verdict {
            Verdict::Worse | Verdict::Better => {
                format!(
                    "{} does {} of {}'s {} {}",
                    one.stack,
                    value(one),
                    one.base,
                    one.metric.noun(),
                    interval(one)
                )
            }
            Verdict::Equivalent => format!("{} is equivalent to {} within {}", one.stack, one.base, percent(margin)),
            Verdict::NotEnoughData => format!("{} is not told from {} yet", one.stack, one.base),
        })
        .collect();
    format!("for {phase}, {}", parts.join(", "))
}

fn value(one: &Comparison) -> String {
    one.ratio.map_or("an unknown part".into(), ratio)
}

fn interval(one: &Comparison) -> String {
    match (one.low, one.high) {
        (Some(low), Some(high)) => format!("({} to {})", ratio(low), ratio(high)),
        _ => "(no interval)".into(),
    }
}
