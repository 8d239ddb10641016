//! Runs of equal lines that stand in two places.
//!
//! Takes files, gives pairs of places. Lines that say nothing alone (blank, comments, imports, names of modules, lone
//! brackets) do not count. Prevents: code that was copied and then mended in one place.

use crate::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Lines that make a run.
pub(crate) const RUN_LINES: usize = 6;
/// A run that stands in more places than this is the language's own.
const PLACES_MAX: usize = 8;

/// One line that counts: its file, its number, its text without indentation.
struct Line<'a> {
    file: usize,
    number: usize,
    text: &'a str,
}

/// Pairs of files that share at least one run, each with its first place on both sides.
pub(crate) fn pairs(files: &[&SourceFile]) -> Vec<String> {
    let mut runs: HashMap<Vec<&str>, Vec<(usize, usize)>> = HashMap::new();
    for (index, file) in files.iter().enumerate() {
        let lines = counted(index, file);
        for run in lines.windows(RUN_LINES) {
            let text: Vec<&str> = run.iter().map(|line| line.text).collect();
            runs.entry(text).or_default().push((run[0].file, run[0].number));
        }
    }
    let mut found: BTreeMap<(usize, usize), BTreeSet<(usize, usize)>> = BTreeMap::new();
    for places in runs.values().filter(|places| (2..=PLACES_MAX).contains(&places.len())) {
        for (nth, &(file, line)) in places.iter().enumerate() {
            for &(other, at) in &places[nth + 1..] {
                if file != other || line.abs_diff(at) >= RUN_LINES {
                    let (one, two) = if (file, line) <= (other, at) {
                        ((file, line), (other, at))
                    } else {
                        ((other, at), (file, line))
                    };
                    found.entry((one.0, two.0)).or_default().insert((one.1, two.1));
                }
            }
        }
    }
    let place = |(files_of, lines): (&(usize, usize), &BTreeSet<(usize, usize)>)| {
        let (one, two) = *lines.first()?;
        let (left, right) = (&files[files_of.0].name, &files[files_of.1].name);
        Some(format!(
            "{left}:{one} ~ {right}:{two} ({} lines at least)",
            lines.len() + RUN_LINES - 1
        ))
    };
    found.iter().filter_map(place).collect()
}

/// A module that has a file of its own: each table of kinds declares them alike.
fn is_declared(text: &str) -> bool {
    text.starts_with("mod ") && text.ends_with(';')
}

fn counted(index: usize, file: &SourceFile) -> Vec<Line<'_>> {
    let is_test = |number: usize| file.tests.iter().any(|(from, to)| (*from..=*to).contains(&number));
    let lines = file.text.lines().enumerate().map(|(number, text)| Line {
        file: index,
        number: number + 1,
        text: text.trim(),
    });
    let says_something = |line: &Line<'_>| {
        let text = line.text;
        let is_word = text.chars().any(char::is_alphanumeric);
        is_word
            && !text.starts_with("//")
            && !text.starts_with("use ")
            && !is_declared(text)
            && !text.starts_with("#[")
            && !is_test(line.number)
    };
    lines.filter(says_something).collect()
}
