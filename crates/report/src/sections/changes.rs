//! From an earlier phase to a later one: which stack changes more, with verdicts, and each stack's own change, without.
//!
//! Takes contrasts and changes, gives a section. Prevents: a slowdown within a trial, shown as a verdict on ageing.

use super::source::Source;
use super::verdicts::{chances, ends, how_to_read, interval};
use crate::document::{Block, Cell, Fold, Forms, Placed, Section, Stands, Tone, column};
use crate::format::ratio;
use crate::grouped::grouped;
use crate::ranking::changes::Change;
use crate::ranking::verdicts::Contrast;

/// What a change on one stack cannot say.
const LATER: &str = "Not tested, 95 % interval each. The later phase runs after the earlier one in every trial: a \
                     slowdown within a trial (a warm processor, a cache that is full) is in these ratios. It is no \
                     proof of ageing.";

/// Why the contrast may be judged.
const BETWEEN: &str = "What slows all stacks alike within a trial cancels out in this ratio. What slows one stack \
                       alone does not.";

/// A part for each pair of phases: between the stacks, then on each of them.
pub(super) fn changes(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let of = |one: &Change| (one.phase.clone(), one.against.clone());
    let own = grouped(analysis.changes.iter().map(|one| (of(one), one)));
    let mut blocks: Vec<Placed> = Vec::new();
    let of = |one: &Contrast| (one.phase.clone(), one.against.clone());
    for ((phase, against), rows) in grouped(analysis.contrasts.iter().map(|one| (of(one), one))) {
        let title = format!("{phase} against {against}, between stacks (stack's ratio over the base's)");
        blocks.push(between(source, title, &rows));
    }
    if !blocks.is_empty() {
        blocks.push((Forms::ALL, Block::Note(BETWEEN.into())));
    }
    for ((phase, against), rows) in &own {
        let title = format!("{phase} against {against}, on the same stack (ratio, above 1 is better)");
        blocks.push(on_one_stack(source, title, rows));
    }
    if !own.is_empty() {
        blocks.push((Forms::ALL, Block::Note(LATER.into())));
    }
    if !analysis.contrasts.is_empty() && analysis.comparisons.is_empty() {
        blocks.extend(chances(source));
        blocks.push(how_to_read(source, "Change of the stack over that of the base"));
    }
    Section::of("changes", "Changes", "", blocks).map(|section| section.standing(Stands::Concludes))
}

fn between(source: &Source<'_>, title: String, rows: &[&Contrast]) -> Placed {
    let margin = source.analysis.study.margin;
    let mut columns = vec![
        column("of what", "", |one: &&Contrast| Cell::text(one.metric.noun()))
            .of_words()
            .only(Forms::PAGE),
        column("ratio", "", |one: &&Contrast| Cell::number(one.ratio, ratio)),
        column("interval", "", move |one: &&Contrast| {
            interval(one.ratio, [one.low, one.high], margin, one.verdict)
        })
        .compared(),
        column("of", "", |one: &&Contrast| Cell::text(&one.base)).of_words(),
    ];
    columns.extend(ends(|one: &&Contrast| (one.n, one.verdict)));
    let table = source.table(title.clone(), rows, |one| &one.stack, columns);
    (
        Forms::ALL,
        Block::part(title, Fold::Never, vec![(Forms::ALL, Block::Table(table))]),
    )
}

fn on_one_stack(source: &Source<'_>, title: String, rows: &[&Change]) -> Placed {
    let margin = source.analysis.study.margin;
    let columns = [
        column("of what", "", |one: &&Change| Cell::text(one.metric.noun()))
            .of_words()
            .only(Forms::PAGE),
        column("ratio", "", |one: &&Change| Cell::Number(one.ratio, ratio)),
        column("interval", "", move |one: &&Change| {
            Cell::interval(one.ratio, [one.low, one.high], margin, Tone::Open)
        })
        .compared(),
        column("blocks", "", |one: &&Change| Cell::maybe(Some(one.n.to_string()))),
    ];
    let table = source.table(title.clone(), rows, |one| &one.stack, columns);
    (
        Forms::ALL,
        Block::part(title, Fold::Never, vec![(Forms::ALL, Block::Table(table))]),
    )
}
