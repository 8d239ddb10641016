//! The figures of phases that several files have, each as its own file has it.
//!
//! Takes the files, gives phases and what no two files have. Prevents: a figure of one phase beside that of another
//! phase with the same name.

use super::found::{LeftOut, PhaseOfFiles, StackOfFiles};
use super::taken::FileTaken;
use crate::cells::{Cell, PhaseReport};
use crate::grouped::distinct;
use std::collections::BTreeSet;

/// Keys of a phase that do not change what its work is.
pub(super) const NOT_THE_WORK: [&str; 3] = ["name", "time", "ranked"];

/// A letter for each file.
pub(super) fn label(nth: usize) -> String {
    char::from(b'A' + (nth % 26) as u8).to_string()
}

pub(super) fn phases(files: &[FileTaken], left: &mut Vec<LeftOut>) -> Vec<PhaseOfFiles> {
    let all = files.iter().flat_map(|file| &file.analysis.phases);
    let names = distinct(all.map(|phase| phase.name.as_str()));
    names.into_iter().filter_map(|name| phase(files, name, left)).collect()
}

fn phase(files: &[FileTaken], name: &str, left: &mut Vec<LeftOut>) -> Option<PhaseOfFiles> {
    let reports: Vec<Option<&PhaseReport>> = files.iter().map(|file| report(file, name)).collect();
    let known: Vec<(usize, &PhaseReport)> = reports
        .iter()
        .enumerate()
        .filter_map(|(nth, one)| Some((nth, (*one)?)))
        .collect();
    let mut leave = |reason: String| {
        left.push(LeftOut {
            what: format!("phase {name}"),
            reason,
        });
    };
    let (first, of_first) = known.first()?;
    if known.len() < 2 {
        leave(format!("only {} has it", label(*first)));
        return None;
    }
    if let Some((nth, of)) = known.iter().find(|(_, one)| one.kind != of_first.kind) {
        let (one, other) = (label(*first), label(*nth));
        leave(format!(
            "of kind {} in {one}, and of kind {} in {other}",
            of_first.kind.as_str(),
            of.kind.as_str()
        ));
        return None;
    }
    let stacks = distinct(
        known
            .iter()
            .flat_map(|(_, one)| &one.cells)
            .map(|cell| cell.stack.as_str()),
    );
    let stacks = stacks.into_iter().map(|stack| figures(&reports, stack));
    let (several, single): (Vec<_>, Vec<_>) = stacks.partition(|one| one.figures.iter().flatten().count() > 1);
    for one in single {
        let file = one.figures.iter().position(Option::is_some).unwrap_or(0);
        leave(format!("only {} has a valid run of {}", label(file), one.stack));
    }
    Some(PhaseOfFiles {
        name: name.into(),
        kind: of_first.kind.as_str().into(),
        metric: of_first.metric,
        keys_that_differ: keys_that_differ(files, &[format!("phase.{name}.")], &NOT_THE_WORK),
        stacks: several,
    })
}

fn report<'a>(file: &'a FileTaken, name: &str) -> Option<&'a PhaseReport> {
    file.analysis.phases.iter().find(|phase| phase.name == name)
}

fn figures(reports: &[Option<&PhaseReport>], stack: &str) -> StackOfFiles {
    let cell = |report: &PhaseReport| -> Option<Cell> { report.cells.iter().find(|cell| cell.stack == stack).cloned() };
    StackOfFiles {
        stack: stack.into(),
        figures: reports.iter().map(|report| report.and_then(cell)?.primary).collect(),
    }
}

/// Names of the keys below these prefixes that are not the same in all files that have any of them.
pub(super) fn keys_that_differ<'a>(
    files: impl IntoIterator<Item = &'a FileTaken>,
    prefixes: &[String],
    besides: &[&str],
) -> Vec<String> {
    let files: Vec<&FileTaken> = files.into_iter().collect();
    let mut differ = Vec::new();
    for prefix in prefixes {
        let all = files.iter().map(|file| file.keys_below(prefix));
        let all: Vec<_> = all.filter(|keys| !keys.is_empty()).collect();
        let names: BTreeSet<&str> = all.iter().flat_map(|keys| keys.keys().copied()).collect();
        for name in names.into_iter().filter(|name| !besides.contains(name)) {
            let values: BTreeSet<Option<&&str>> = all.iter().map(|keys| keys.get(name)).collect();
            if values.len() > 1 {
                differ.push(format!("{prefix}{name}"));
            }
        }
    }
    differ
}
