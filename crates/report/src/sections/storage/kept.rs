//! What power cuts and kills left of what was acknowledged, for every stack in every phase that made them.
//!
//! Takes the rows of the analysis, gives a table and its section. Prevents: a loss, or a test without a loss, that the
//! reader finds in the notes alone.

use crate::cells::kept::Kept;
use crate::document::{Block, Cell, Forms, Section, Table, column};
use crate::format::whole;
use crate::sections::source::Source;

/// How it is to be read.
const READ: &str = "All blocks together. Unflushed: power cuts that found writes on devices which no flush covered. \
                    Without any, nothing of a database was at risk. A file server's host also loses its memory. \
                    Acknowledged: transactions, or names and KiB under a file server, each looked up after its power \
                    cut or kill. A kill is weaker than a power cut: what devices hold in their caches stays.";

pub(in crate::sections) fn section(source: &Source<'_>) -> Option<Section> {
    let blocks = table(source).map(|table| [Block::Table(table), Block::Note(READ.into())]);
    let blocks = blocks.into_iter().flatten().map(|block| (Forms::LONG, block));
    let title = "What power cuts and kills left of what was acknowledged";
    Section::of("kept", "Power cuts and kills", title, blocks.collect())
}

/// Nothing where no phase cut the power or killed.
pub(in crate::sections) fn table(source: &Source<'_>) -> Option<Table> {
    let rows = &source.analysis.kept;
    let columns = [
        column("ended", "by", |one: &Kept| {
            Cell::text(if one.killed { "kill" } else { "cut" })
        })
        .of_words(),
        column("times", "", |one: &Kept| Cell::Number(one.cuts, whole)),
        column("unflushed", "times", |one: &Kept| {
            Cell::number((!one.killed).then_some(one.unflushed), whole)
        }),
        column("acknowledged", "", |one: &Kept| Cell::Number(one.acknowledged, whole)),
        column("lost", "", |one: &Kept| Cell::Number(one.lost, whole)),
        column("losing", "times", |one: &Kept| Cell::Number(one.losing, whole)),
        column("not up", "times", |one: &Kept| Cell::Number(one.not_up, whole)),
    ];
    let name = |one: &Kept| source.named(&one.stack, format!("{} in {}", one.stack, one.phase));
    (!rows.is_empty()).then(|| Table::of("Power cuts and kills", "stack in phase", rows, name, columns))
}
