//! The answer: a few short sentences that a person can decide on, honest when there is nothing to decide.
//!
//! Takes the analysis, gives what to take, the strongest reason, what is undecided, and then what fits beside them.
//! Prevents: a table that leaves the reader to draw the conclusion, and a conclusion where there is none.

use super::advice::{Group, more};
use super::claims::Clause;
use crate::analysis::Analysis;
use crate::check::Status;
use crate::format::listed;
use crate::grouped::{distinct, grouped};
use crate::ranking::own_blocks::OwnBlocks;
use crate::ranking::verdicts::Comparison;
use crate::words::changed::{changed, contrasted};
use crate::words::cuts::kept_in_short;
use std::collections::BTreeSet;

/// Three lines of a terminal; what would go beyond is left to the tables.
const LENGTH_MAX: usize = 235;
/// Between two sentences.
const BETWEEN: &str = ". ";

pub(crate) fn sentence(analysis: &Analysis) -> String {
    answer(analysis).words
}

/// The answer with what it claims of the stacks.
pub(crate) fn answer(analysis: &Analysis) -> Clause {
    let answer = if analysis.comparisons.is_empty() {
        let mut clauses: Vec<Clause> = match analysis.contrasts.is_empty() {
            true => changed(&analysis.changes).map(Clause::from).into_iter().collect(),
            false => contrasted(&analysis.contrasts, analysis.study.margin)
                .map(Clause::from)
                .into_iter()
                .collect(),
        };
        clauses.extend(ran_out(analysis).map(Clause::from));
        if analysis.contrasts.is_empty() {
            let kept = kept_in_short(&analysis.kept, &came(analysis));
            clauses.extend(kept.into_iter().map(Clause::from));
        }
        if clauses.is_empty() && !analysis.contrasts.is_empty() {
            unchanged_so_far(analysis).into()
        } else if clauses.is_empty() {
            nothing_ranked(analysis).into()
        } else {
            fitted(clauses)
        }
    } else {
        ranked(analysis)
    };
    let (mut said, claims) = (answer.words, answer.claims);
    if analysis.study.modelled {
        said = format!("The device is a model, not a real one. {said}");
    }
    let on_models = |stack: &crate::StackHead| stack.on_model;
    if !analysis.stacks.is_empty() && analysis.stacks.iter().all(on_models) {
        said = match analysis.study.slow_motion.filter(|times| *times > 1) {
            Some(times) => format!("The devices are models, {times} times slower than real ones. {said}"),
            None => format!("The devices are models, not real ones. {said}"),
        };
    }
    let planted: Vec<&str> = analysis
        .stacks
        .iter()
        .filter(|s| s.injected.is_some())
        .map(|s| s.name.as_str())
        .collect();
    if !planted.is_empty() {
        said.push_str(&format!(". A disadvantage is planted on {}", listed(&planted, "and")));
    }
    let lost = losers_of_data(analysis);
    if !lost.is_empty() {
        said.push_str(&format!(". LOST DATA, whatever the speed: {}", listed(&lost, "and")));
    }
    let broken = analysis
        .own_blocks
        .as_ref()
        .map(OwnBlocks::broken_by)
        .unwrap_or_default();
    if !broken.is_empty() {
        let broken = listed(&broken, "and");
        said.push_str(&format!(". The blocks of {broken} break a condition of the verdicts"));
    }
    said.push('.');
    Clause::of(said, claims)
}

fn losers_of_data(analysis: &Analysis) -> Vec<&str> {
    let bad = |c: &&crate::Check| c.is_loss && c.status == Status::Invalid;
    let lost = analysis.checks.iter().filter(bad);
    distinct(lost.map(|check| check.stack.as_deref().unwrap_or("a stack")))
}

/// Stacks that were not skipped.
fn came(analysis: &Analysis) -> Vec<&str> {
    let came = analysis.stacks.iter().filter(|s| s.skipped_reason.is_none());
    came.map(|s| s.name.as_str()).collect()
}

fn nothing_ranked(analysis: &Analysis) -> String {
    let ran = came(analysis);
    if analysis.phases.iter().all(|phase| phase.cells.is_empty()) {
        if let Some(first) = analysis.imported.first() {
            return format!(
                "Nothing was measured here: this file holds only imported figures ({}), and imported figures are not \
                 ranked",
                first.stack
            );
        }
        return match analysis.unranked.first() {
            Some(first) => format!("There is no answer: {}: {}", first.stack, first.reason),
            None => "There is no answer yet: no stack has finished its phases".into(),
        };
    }
    if let Some(first) = analysis.unranked.first() {
        return format!("Nothing can be ranked here: {}: {}", first.stack, first.reason);
    }
    match ran.as_slice() {
        [only] => format!("Only {only} was measured, so there is nothing to compare it with"),
        _ => "No phase of this study is ranked, so read its figures as they are".into(),
    }
}

/// Before the first look.
fn no_look(analysis: &Analysis) -> String {
    let study = &analysis.study;
    format!(
        "Not enough data yet: {} of {} planned blocks count, and no look at the data was due: {}",
        study.blocks_valid,
        study.blocks_planned,
        more(analysis)
    )
}

/// Nothing but changes from phase to phase is compared, and of none of them may anything be said.
fn unchanged_so_far(analysis: &Analysis) -> String {
    if analysis.looks.is_empty() {
        return no_look(analysis);
    }
    format!(
        "Not enough data to say which stack changed more from phase to phase: {}",
        more(analysis)
    )
}

fn ranked<'a>(analysis: &'a Analysis) -> Clause {
    if analysis.looks.is_empty() {
        return no_look(analysis).into();
    }
    let by_base = grouped(analysis.comparisons.iter().map(|one| (one.base.as_str(), one)));
    let group = |(base, all): (_, Vec<&'a Comparison>)| Group::of(base, all);
    let mut groups: Vec<Group<'_>> = by_base.into_iter().map(group).collect();
    // What was decided comes first.
    groups.sort_by_key(Group::is_undecided);
    let mut clauses: Vec<Clause> = Vec::new();
    let lost = losers_of_data(analysis);
    for (nth, group) in groups.iter().enumerate() {
        let its = group.clauses(analysis, &lost, (nth, groups.len()));
        clauses.extend(its.into_iter().map(|clause| clause.in_group(nth)));
    }
    // What the study asks of a stack alone stands right after the answer and what is open in it.
    let open = clauses.iter().skip(1).take_while(|one| one.always).count();
    let after = clauses.len().min(1 + open);
    let beside = contrasted(&analysis.contrasts, analysis.study.margin);
    let beside = beside.into_iter().chain(ran_out(analysis));
    clauses.splice(after..after, beside.map(Clause::from));
    clauses.extend(left_out(analysis).into_iter().map(Clause::from));
    fitted(clauses)
}

/// "Out of space in ageing: btrfs".
fn ran_out(analysis: &Analysis) -> Option<String> {
    let first = analysis
        .phases
        .iter()
        .find(|phase| !phase.ran_out_of_space.is_empty())?;
    let stacks: Vec<&str> = first.ran_out_of_space.iter().map(|one| one.stack.as_str()).collect();
    Some(format!("Out of space in {}: {}", first.name, listed(&stacks, "and")))
}

/// As many clauses as fit, a sentence each. The first always stands; room for what is open is kept before all else.
/// What is said of the rest of a group stands only if no clause of it was left out.
fn fitted(clauses: Vec<Clause>) -> Clause {
    let must = |nth: usize, clause: &Clause| nth == 0 || clause.always;
    let length = |clause: &Clause| clause.words.chars().count() + BETWEEN.len();
    let kept = clauses.iter().enumerate().filter(|(nth, one)| must(*nth, one));
    let kept: usize = kept.map(|(_, one)| length(one)).sum();
    let mut left = (LENGTH_MAX + BETWEEN.len()).saturating_sub(kept);
    let (mut said, mut claims) = (String::new(), Vec::new());
    let mut cut: BTreeSet<usize> = BTreeSet::new();
    for (nth, clause) in clauses.into_iter().enumerate() {
        if !must(nth, &clause) {
            let holds = !clause.rest || clause.group.is_none_or(|group| !cut.contains(&group));
            let Some(rest) = left.checked_sub(length(&clause)).filter(|_| holds) else {
                cut.extend(clause.group);
                continue;
            };
            left = rest;
        }
        if nth > 0 {
            said.push_str(BETWEEN);
        }
        said.push_str(&clause.words);
        claims.extend(clause.claims);
    }
    Clause::of(said, claims)
}

/// What was measured and takes no part in the ranking, in any phase or in some.
fn left_out(analysis: &Analysis) -> Vec<String> {
    let compared = analysis.compared_stacks();
    let is_compared = |stack: &str| compared.contains(stack);
    let left = analysis.left_out();
    let named = distinct(left.map(|one| one.stack.as_str()));
    let (some, none): (Vec<&str>, Vec<&str>) = named.into_iter().partition(|stack| is_compared(stack));
    let lists = [("", none), (" in some phases", some)].into_iter();
    lists
        .filter(|(_, stacks)| !stacks.is_empty())
        .map(|(tail, stacks)| format!("Not ranked{tail}: {}", listed(&stacks, "and")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::StudyHead;
    use crate::cells::metric::Metric;
    use crate::ranking::pairs::Unranked;
    use crate::ranking::verdicts::Verdict;

    fn clause(words: &str, group: usize) -> Clause {
        Clause::from(words.to_string()).in_group(group)
    }

    #[test]
    fn the_rest_is_said_only_if_all_before_it_of_its_group_stands() {
        let long = "x".repeat(LENGTH_MAX);
        let rest = || clause("All other comparisons with a are equivalent", 0).of_the_rest();
        let said = |clauses: Vec<Clause>| fitted(clauses).words;
        let whole = said(vec![clause("Take a", 0), clause("Also, b", 0), rest()]);
        assert_eq!(whole, "Take a. Also, b. All other comparisons with a are equivalent");
        let cut = said(vec![clause("Take a", 0), clause(&long, 0), rest(), clause("Take c", 1)]);
        assert_eq!(cut, "Take a. Take c");
        let other = said(vec![clause("Take a", 0), clause(&long, 1), rest()]);
        assert_eq!(other, "Take a. All other comparisons with a are equivalent");
    }

    #[test]
    fn no_letter_at_the_head_is_changed() {
        assert_eq!(fitted(vec![clause("btrfs", 0), clause("xfs", 0)]).words, "btrfs. xfs");
    }

    #[test]
    fn what_is_ranked_nowhere_is_told_from_what_is_ranked_somewhere() {
        let mut analysis = Analysis::empty(StudyHead::of(&ledger::Study::default(), &[]));
        analysis.comparisons.push(Comparison {
            stack: "btrfs".into(),
            base: "ext4".into(),
            phase: "reads".into(),
            metric: Metric::OperationsPerSecond,
            verdict: Verdict::Worse,
            ratio: None,
            low: None,
            high: None,
            n: None,
            look: None,
            alpha: 0.0,
            words: String::new(),
        });
        for (stack, phase) in [("cached", "reads"), ("btrfs", "scan"), ("cached", "scan")] {
            analysis.unranked.push(Unranked {
                stack: stack.into(),
                phase: Some(phase.into()),
                reason: String::new(),
            });
        }
        assert_eq!(
            left_out(&analysis),
            ["Not ranked: cached", "Not ranked in some phases: btrfs"]
        );
    }
}
