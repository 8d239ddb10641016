//! What of the devices' I/O could not be told apart, in words.
//!
//! Takes the gathered file and the phases, gives sentences, one for stacks that are alike in it. Prevents: mirror
//! copies taken for waste, and a share of metadata that nobody measured.

use crate::cells::{Cell, PhaseReport};
use crate::grouped::grouped;
use crate::history::Book;
use std::collections::BTreeMap;

/// What could not be told apart, a sentence for stacks that are alike in it.
pub(crate) fn not_told(book: &Book, phases: &[PhaseReport]) -> Vec<String> {
    let mut said: Vec<(String, &str)> = Vec::new();
    let mut of_stack: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    for cell in phases.iter().flat_map(|phase| &phase.cells) {
        of_stack.entry(&cell.stack).or_default().push(cell);
    }
    for stack in &book.stacks {
        let mine = of_stack.get(stack.name.as_str()).into_iter().flatten();
        let mut mine = mine.filter(|cell| !cell.inflation.is_empty()).peekable();
        let Some(first) = mine.peek() else { continue };
        let inflation = first.inflation;
        let wrote = mine.any(|cell| cell.inflation.writes.is_some());
        let mut words: Vec<String> = Vec::new();
        if wrote && !inflation.log_apart {
            words.push("data and log share devices, so that their writes are one figure".into());
        }
        if wrote {
            words.extend(own_writes(&stack.kind, inflation.log_apart).map(String::from));
            words.extend(parity(book, &stack.name).map(String::from));
        }
        if let Some(copies) = inflation.data_copies.filter(|copies| wrote && *copies > 1.0) {
            words.push(format!("{copies:.0} bytes for each byte of data are its copies"));
        }
        said.extend((!words.is_empty()).then(|| (words.join("; "), stack.name.as_str())));
    }
    let said = grouped(said).into_iter();
    said.map(|(words, stacks)| format!("{}: {words}", stacks.join(", ")))
        .collect()
}

/// Redundancy that is no whole copy: how much of it a block needs depends on its size.
fn parity(book: &Book, stack: &str) -> Option<&'static str> {
    let said = book.setting(&format!("stack.{stack}.vdevs"))?;
    (said.trim_matches('"') == "raidz1")
        .then_some("parity is among what was written beyond the data, and is redundancy, not inflation")
}

/// What such a stack writes besides what it is given.
fn own_writes(kind: &str, log_apart: bool) -> Option<&'static str> {
    match (kind, log_apart) {
        ("raw" | "model", _) => None,
        ("diskgroup", _) => Some("what the group writes of its own metadata is among the data's"),
        // A log device of the pool holds the intent log; without one it lies among the rest.
        ("zfs", true) => Some(
            "metadata and whatever the pool logs before it writes (its intent log) are among the data's writes, and \
             those of the log's pool among the log's",
        ),
        ("zfs", false) => {
            Some("metadata and the pool's intent log, with what is logged before it is written, are in it too")
        }
        ("ext3" | "ext4" | "xfs", true) => {
            Some("metadata and journal are among the data's writes, and those of the log's file system among the log's")
        }
        (_, true) => Some("metadata are among the data's writes, and those of the log's file system among the log's"),
        (_, false) => Some("metadata and any journal are in it too"),
    }
}
