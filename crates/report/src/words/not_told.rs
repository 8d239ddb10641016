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
            words.push("data and log share devices, so their writes are one figure".into());
        }
        if wrote {
            words.extend(own_writes(&stack.kind, inflation.log_apart).map(String::from));
            words.extend(parity(book, &stack.name).map(String::from));
            words.extend(of_volume(book, &stack.name));
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

/// What a volume's layout adds to the I/O below it. Only LVM and md have these keys.
fn of_volume(book: &Book, stack: &str) -> Vec<String> {
    const COPIES: &str =
        "its copies are written below the volume's device; \"moved\" counts them, this figure does not";
    const ADDED: [(&str, &[&str], &str); 4] = [
        ("layout", &["raid1"], COPIES),
        ("level", &["raid1", "raid10"], COPIES),
        (
            "level",
            &["raid5"],
            "a write smaller than a full stripe also reads and writes parity, below the volume's device; \"moved\" \
             counts that, this figure does not",
        ),
        (
            "snapshot",
            &["cow", "thin"],
            "the first overwrite of each block copies that block for the snapshot, below the volume's device; \
             \"moved\" counts the copies, this figure does not",
        ),
    ];
    let is_so = |(key, values, _): &(&str, &[&str], &str)| {
        let said = book.setting(&format!("stack.{stack}.{key}"));
        said.is_some_and(|said| values.contains(&said.trim_matches('"')))
    };
    let added = ADDED.iter().filter(|row| is_so(row));
    added.map(|(_, _, words)| (*words).to_string()).collect()
}

/// What such a stack writes besides what it is given.
fn own_writes(kind: &str, log_apart: bool) -> Option<&'static str> {
    match (kind, log_apart) {
        ("raw" | "model", _) => None,
        ("diskgroup", _) => Some("the group's own metadata count as writes of the data"),
        // A log device of the pool holds the intent log; without one it lies among the rest.
        ("zfs", true) => Some(
            "metadata and the pool's intent log count as writes of the data; those of the log's pool count as writes \
             of the log",
        ),
        ("zfs", false) => Some("this figure includes metadata and the pool's intent log"),
        ("ext3" | "ext4" | "xfs", true) => Some(
            "metadata and journal count as writes of the data; those of the log's file system count as writes of the \
             log",
        ),
        (_, true) => {
            Some("metadata count as writes of the data; those of the log's file system count as writes of the log")
        }
        (_, false) => Some("this figure includes metadata and any journal"),
    }
}
