//! What differs between the stacks, ahead of the figures: lines where there is little room, a table of all facts on a
//! page.
//!
//! Takes the differences of the analysis, gives the first section. Prevents: a comparison read without its
//! configuration.

use super::source::Source;

use crate::analysis::Difference;
use crate::document::{Block, Cell, Column, Fold, Forms, Name, Section, Stands, Table, column};
use crate::words::contrast::{contrast, is_implied, same, title};

/// Longer values are read one by one.
const SHORT_MAX: usize = 64;

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let ran = analysis.stacks.iter().filter(|stack| stack.skipped_reason.is_none());
    let several = ran.count() > 1;
    let mut blocks = Vec::new();
    if several {
        let mut lines = contrast(analysis);
        if lines.is_empty() {
            lines.push("no recorded fact".into());
        }
        blocks.push((Forms::TEXTS, Block::list(lines.into_iter().chain(same(analysis)))));
    }
    let all = &analysis.differences;
    let kept = all.iter().filter(|one| !is_implied(one, all));
    let (short, rest): (Vec<&Difference>, Vec<&Difference>) = kept.partition(|one| is_shared(one) && is_short(one));
    if !short.is_empty() {
        blocks.push((Forms::PAGE, table(source, &short, "Facts that differ")));
    } else if several {
        let nothing = "No fact that was recorded for more than one stack.";
        blocks.push((Forms::PAGE, Block::Text(nothing.into())));
    }
    if !rest.is_empty() {
        let title = format!("{} more: long ones, and those of a single stack", rest.len());
        let facts = table(source, &rest, "Long facts, and facts of single stacks");
        let part = Block::part(title, Fold::Always, vec![(Forms::PAGE, facts)]);
        blocks.push((Forms::PAGE, part));
    }
    blocks.extend(same(analysis).map(|line| (Forms::PAGE, Block::Note(line))));
    Section::of("differences", "What differs", "What differs between the stacks", blocks)
        .map(|section| section.standing(Stands::Before))
}

fn is_short(one: &Difference) -> bool {
    let mut values = one.values.iter().filter_map(|of| of.value.as_deref());
    values.all(|value| value.chars().count() <= SHORT_MAX && !value.contains("\\n"))
}

/// True when more than one stack has it.
fn is_shared(one: &Difference) -> bool {
    one.values.iter().filter(|of| of.value.is_some()).count() > 1
}

/// A row a fact, a column a stack.
fn table(source: &Source<'_>, facts: &[&Difference], caption: &str) -> Block {
    let stacks = facts.first().map_or(&[][..], |first| &first.values);
    let columns = stacks.iter().enumerate().map(|(nth, of)| {
        let value = move |one: &&Difference| Some(one.values.get(nth)?.value.as_deref()?.trim_matches('"').to_string());
        let cells: Column<'_, &Difference> = column(&of.stack, "", move |one| Cell::maybe(value(one)));
        cells.of_words().marked(source.stack(&of.stack).mark)
    });
    let name = |one: &&Difference| Name::from(&*title(one, &source.analysis.differences));
    Block::Table(Table::of(caption, "fact", facts, name, columns))
}
