//! Temporary space: what it changes to have it on LUNs of its own, and whether it explains a difference.
//!
//! Takes the ratios, gives a section. Prevents: a conclusion without the two ratios that it is drawn from.

use super::source::Source;
use crate::document::{Block, Cell, Forms, Item, Section, Stands, Tone, column};
use crate::format::ratio;
use crate::ranking::temporary::{BLOCKS_MIN, TempApart};

/// How it is to be read.
fn how_to_read() -> String {
    format!(
        "Not tested, 95 % interval each, above 1 is better. A stack and its twin differ by the place of their \
         temporary files alone. It explains a difference if the ratio is nearer to 1 with them apart, beyond chance, \
         and its interval is then inside the margin. That takes {BLOCKS_MIN} blocks that count."
    )
}

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let margin = source.analysis.study.margin;
    let found = &source.analysis.temporary;
    if found.apart.is_empty() {
        return None;
    }
    let columns = [
        column("phase", "", |one: &TempApart| Cell::text(&one.phase)).of_words(),
        column("over", "", |one: &TempApart| Cell::text(&one.beside)).of_words(),
        column("ratio", "", |one: &TempApart| Cell::Number(one.ratio.ratio, ratio)),
        column("interval", "", move |one: &TempApart| {
            Cell::interval(one.ratio.ratio, [one.ratio.low, one.ratio.high], margin, Tone::Open)
        })
        .compared(),
        column("blocks", "", |one: &TempApart| {
            Cell::maybe(Some(one.ratio.n.to_string()))
        }),
    ];
    let caption = "Temporary files on LUNs of their own, over beside the data";
    let table = source.table(caption, &found.apart, |one| &one.stack, columns);
    let mut blocks = vec![
        (Forms::LONG, Block::Table(table)),
        (Forms::LONG, Block::Note(how_to_read())),
    ];
    blocks.extend(answers(source).map(|words| (Forms::LONG, words)));
    Section::of("temporary-space", "Temporary space", "", blocks).map(|section| section.standing(Stands::Concludes))
}

/// A line for each difference: whether temporary space explains it.
pub(super) fn answers(source: &Source<'_>) -> Option<Block> {
    let found = &source.analysis.temporary.explained;
    let items: Vec<Item> = found.iter().map(|one| Item::from(one.words.clone())).collect();
    (!items.is_empty()).then_some(Block::List(items))
}
