//! Doubts for people: checks that do not say VALID, those of one kind in one line.
//!
//! Takes the analysis, gives lines, the gravest first. Prevents: a list so long that nobody reads it.

use crate::analysis::Analysis;
use crate::check::{Check, Status, wanted};
use crate::grouped::grouped;
use crate::ranking::verdicts::Verdict;

/// Places told apart in one doubt; the others are counted.
const PLACES_MAX: usize = 4;

/// Doubts of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Doubt {
    pub status: Status,
    /// Subject, places with figures, what was wanted, what to do.
    pub words: String,
}

impl Analysis {
    /// Checks that are not VALID, worst first.
    pub fn doubts(&self) -> Vec<&Check> {
        let mut doubts: Vec<&Check> = self
            .checks
            .iter()
            .filter(|check| check.status != Status::Valid)
            .collect();
        doubts.sort_by_key(|check| std::cmp::Reverse(check.status));
        doubts
    }

    /// True when a comparison says *worse*, of a phase or of its change from an earlier one, for `--fail-on worse`.
    pub fn is_worse(&self) -> bool {
        let of_stacks = self.comparisons.iter().map(|one| one.verdict);
        let mut verdicts = of_stacks.chain(self.contrasts.iter().map(|one| one.verdict));
        verdicts.any(|verdict| verdict == Verdict::Worse)
    }

    /// True when a check says INVALID, for `--fail-on invalid`.
    pub fn is_invalid(&self) -> bool {
        self.checks.iter().any(|check| check.status == Status::Invalid)
    }
}

/// All doubts, equal kinds together, the gravest first.
pub(crate) fn merged<'a>(analysis: &'a Analysis) -> Vec<Doubt> {
    let of_kind = |check: &&'a Check| ((check.status, &check.subject, &check.advice), *check);
    let groups = grouped(analysis.doubts().iter().map(of_kind));
    groups.iter().map(|(_, group)| doubt(group, analysis)).collect()
}

fn doubt(group: &[&Check], analysis: &Analysis) -> Doubt {
    let first = group[0];
    // Equal figures of a stack in several phases, then of several stacks, are said once.
    let said = grouped(group.iter().map(|check| ((&check.stack, &check.figure), *check)));
    let left = said.len().saturating_sub(PLACES_MAX);
    let mut parts: Vec<String> = said
        .iter()
        .take(PLACES_MAX)
        .map(|((_, figure), of)| match place(of, analysis) {
            place if place.is_empty() => figure.to_string(),
            place => format!("{place}: {figure}"),
        })
        .collect();
    if left > 0 {
        parts.push(format!("{left} more (--json has them)"));
    }
    let wanted = wanted(group).map_or(String::new(), |wanted| format!(" (wanted: {wanted})"));
    Doubt {
        status: first.status,
        words: format!("{}: {}{wanted}; {}", first.subject, parts.join("; "), first.advice),
    }
}

fn place(of: &[&Check], analysis: &Analysis) -> String {
    let phases: Vec<&str> = of.iter().filter_map(|check| check.phase.as_deref()).collect();
    let whole = analysis.phases.len();
    let phases = match phases.as_slice() {
        [] => String::new(),
        [one] => format!("in {one}"),
        [..] if phases.len() == whole => format!("in all {whole} phases"),
        _ => format!("in {}", phases.join(" and ")),
    };
    let stack = of[0].stack.as_deref().unwrap_or_default();
    format!("{stack} {phases}").trim().to_string()
}
