//! What arrays with inline reduction keep of what they were given, after each phase and over its time.
//!
//! Takes the rows of the analysis, gives a section. Prevents: a published ratio of one array beside ours without the
//! word that its data were others.

use crate::document::{Block, Cell, Form, Forms, Section, Table, column};
use crate::figures::Figure;
use crate::format::{bytes, number, percent, ratio};
use crate::sections::source::Source;
use crate::stacks::capacity::Capacity;

/// How it is to be read.
const READ: &str = "Written: all that was ever written; an overwrite does not count again. Nothing below a stack gives \
    space back, so LUNs that have left a group keep theirs. Ratio: written over kept, in whole granules. Compressed: \
    what the compressor found in the data.";

pub(in crate::sections) fn section(source: &Source<'_>) -> Option<Section> {
    let rows = &source.analysis.capacity;
    if rows.is_empty() {
        return None;
    }
    let of = |head: &str, unit: &str, pick: fn(&Capacity) -> Option<Figure>, form: Form| {
        column(head, unit, move |one: &Capacity| Cell::unmarked(pick(one), form))
    };
    let columns = [
        of("whole", "LUNs", |one| one.whole_bytes, bytes),
        of("written", "reduced LUNs", |one| one.asked_bytes, bytes),
        of("kept", "of it", |one| one.stored_bytes, bytes),
        of("ratio", "to 1", |one| one.ratio, ratio),
        column("published", "to 1", |one: &Capacity| Cell::maybe(published(one))),
        of("compressed", "to 1", |one| one.compressed, number),
        of("copies", "", |one| one.copies_share, percent),
        column("kept", "over time", |one: &Capacity| {
            Cell::Series(one.stored_over_time.clone())
        }),
    ];
    let name = |one: &Capacity| source.named(&one.stack, format!("{}: {}", one.phase, one.stack));
    let table = Table::of("Capacity of arrays", "phase: stack", rows, name, columns);
    let mut blocks = vec![
        (Forms::ALL, Block::Table(table)),
        (Forms::ALL, Block::Note(READ.into())),
    ];
    if rows.iter().any(|one| !one.published.is_empty()) {
        let words = "Published: of another array and of other data, to be read beside.";
        blocks.push((Forms::ALL, Block::Note(words.into())));
    }
    let title = "What arrays keep of what was written, at the end of a phase (medians)";
    Section::of("capacity", "Capacity", title, blocks)
}

fn published(one: &Capacity) -> Option<String> {
    let all: Vec<String> = one.published.iter().copied().map(ratio).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
