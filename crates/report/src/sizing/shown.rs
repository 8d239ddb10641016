//! The sizing as a document, for all forms.
//!
//! Takes [`Sizing`], gives a section. Prevents: a number of LUNs without what it rests on.

use super::found::{SizedStack, Sizing};
use crate::document::{Block, Cell, Document, Forms, Name, Placed, Section, Table, column};
use crate::format::{bytes, nanoseconds, number};

pub(super) fn document(sizing: &Sizing) -> Document {
    let mut blocks: Vec<Placed> = vec![(Forms::ALL, Block::Table(table(sizing)))];
    let notes = sizing.stacks.iter().flat_map(|one| {
        let name = one.stacks.join(", ");
        one.notes.iter().map(move |note| format!("{name}: {note}"))
    });
    blocks.push((Forms::ALL, Block::list(notes)));
    blocks.push((Forms::ALL, Block::Note(READ.into())));
    if let Some(times) = sizing.slow_motion {
        let said = format!(
            "The models of this study ran {times} times slower than their devices. Rates and times are given back at \
             the devices' own pace."
        );
        blocks.push((Forms::ALL, Block::Note(said)));
    }
    Document {
        study: sizing.study.clone(),
        question: format!("How much of each stack carries {}?", words(sizing)),
        answer: answer(sizing),
        opening: Vec::new(),
        sections: Section::of("sizing", "Sizing", "What the load takes", blocks)
            .into_iter()
            .collect(),
        rest: String::new(),
        imprint: String::new(),
        lean: false,
    }
}

const READ: &str = "For the rate: LUNs that carry it, by the measured phases, with the plain 95 % interval over \
                    blocks. Take: whole LUNs, for the upper end of that interval and for the data. Where stacks of one \
                    kind were measured with several numbers of LUNs, the numbers follow their curve. A stack that was \
                    measured with one number is taken to add up, which processors, controllers and one log may not do.";

fn words(sizing: &Sizing) -> String {
    let load = &sizing.load;
    let mut parts = vec![
        format!("{} page reads a second", number(load.reads_per_s)),
        format!("{} page updates a second", number(load.updates_per_s)),
    ];
    parts.extend(
        load.p99_ns
            .map(|ns| format!("an operation's p99 of at most {}", nanoseconds(ns))),
    );
    parts.extend(load.data_bytes.map(|size| format!("{} of data", bytes(size))));
    parts.join(", ")
}

fn answer(sizing: &Sizing) -> String {
    let said = sizing.stacks.iter().filter_map(|one| {
        let takes = one.takes?;
        let of = match (one.luns.is_empty(), takes) {
            (true, _) => "of it",
            (false, 1) => "LUN",
            (false, _) => "LUNs",
        };
        let mark = if one.extrapolated { " (an extrapolation)" } else { "" };
        Some(format!("{}: {takes} {of}{mark}", one.stacks.join(", ")))
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "Nothing can be said of this load: the lines below say why.".into(),
        false => format!("{}.", said.join("; ")),
    }
}

fn table(sizing: &Sizing) -> Table {
    let name = |one: &SizedStack| Name::from(one.stacks.join(", ").as_str());
    let columns = [
        column("LUNs", "measured", |one: &SizedStack| {
            let luns: Vec<String> = one.luns.iter().map(u32::to_string).collect();
            Cell::text(luns.join(", "))
        }),
        column("for the", "rate", |one: &SizedStack| Cell::number(one.for_rate, number)),
        column("interval", "", |one: &SizedStack| {
            let ends = one.low.zip(one.high);
            Cell::maybe(ends.map(|(low, high)| format!("{} to {}", number(low), number(high))))
        }),
        column("for the", "data", |one: &SizedStack| Cell::number(one.for_data, number)),
        column("take", "", |one: &SizedStack| {
            Cell::maybe(one.takes.map(|takes| takes.to_string()))
        }),
        column("by", "", |one: &SizedStack| Cell::text(one.phases.join(", "))).of_words(),
    ];
    Table::of("What the load takes", "stack", &sizing.stacks, name, columns)
}
