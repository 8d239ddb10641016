//! The sizing as a document, for all forms.
//!
//! Takes [`Sizing`], gives a section. Prevents: a number of LUNs without what it rests on.

use super::found::{Amount, SizedStack, Sizing};
use crate::document::{Block, Cell, Column, Document, Form, Forms, Name, Placed, Section, Table, column};
use crate::format::{bytes, megabytes, nanoseconds, number, whole};

pub(super) fn document(sizing: &Sizing) -> Document {
    let mut blocks: Vec<Placed> = vec![(Forms::ALL, Block::Table(table(sizing)))];
    let notes = sizing.stacks.iter().flat_map(|one| {
        let name = one.stacks.join(", ");
        one.notes.iter().map(move |note| format!("{name}: {note}"))
    });
    blocks.push((Forms::ALL, Block::list(notes)));
    blocks.push((Forms::ALL, Block::Note(LOAD.into())));
    blocks.push((Forms::ALL, Block::Note(READ.into())));
    let has = |told: fn(&SizedStack) -> bool| sizing.stacks.iter().any(told);
    if has(|one| one.processors.is_some() || one.device_bytes_per_s.is_some()) {
        blocks.push((Forms::ALL, Block::Note(BESIDE.into())));
    }
    if has(|one| one.price.is_some()) {
        blocks.push((Forms::ALL, Block::Note(PRICE.into())));
    }
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

const LOAD: &str = "Reads of the load: pages that the database reads from storage one by one, those of updates too, \
                    and not those of scans. AWR: physical read total IO requests, less physical read total multi \
                    block requests. AWR's physical reads hold scans and sorts too. PostgreSQL's blks_read holds \
                    scans, and what the kernel's page cache had. Updates: pages changed, those too that the \
                    database's cache had.";

const READ: &str = "For the rate: LUNs that carry it, by the measured phases. Interval: where one more build of such a \
                    stack lies, with 95 % confidence. It is wider than the interval of the mean over blocks. Take: \
                    whole LUNs, for the upper end of that interval and for the data. Where stacks of one kind were \
                    measured with several numbers of LUNs, the numbers follow their curve. A stack that was measured \
                    with one number is taken to add up, which processors, controllers and one log may not do.";

const BESIDE: &str = "Processors in use: of the measured host at this load, other programs included. Device: bytes \
                      that the lowest visible devices move. Both follow the stack whose measured rate is nearest to \
                      the load, in proportion to the rate.";

const PRICE: &str = "Price: by the study's prices, of the stack with the LUNs to take. Hosts, licences, and LUNs of \
                     redo log, temporary files and reserve are those of the largest measured stack.";

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
        if one.processors_full {
            let who = one.stacks.join(", ");
            return Some(format!("{who}: the host's processors would be full first"));
        }
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
    let [processors, processors_ends] = amount(("processors", "in use"), |one| one.processors, number);
    let [moved, moved_ends] = amount(("device", "MB/s"), |one| one.device_bytes_per_s, megabytes);
    let columns = [
        column("LUNs", "measured", |one: &SizedStack| {
            let luns: Vec<String> = one.luns.iter().map(u32::to_string).collect();
            Cell::text(luns.join(", "))
        }),
        column("for the", "rate", |one: &SizedStack| Cell::number(one.for_rate, number)),
        column("interval", "", |one: &SizedStack| {
            interval(one.low.zip(one.high), number)
        }),
        column("for the", "data", |one: &SizedStack| Cell::number(one.for_data, number)),
        column("take", "", |one: &SizedStack| {
            Cell::maybe(one.takes.map(|takes| takes.to_string()))
        }),
        column(
            "price",
            sizing.currency.as_deref().unwrap_or_default(),
            |one: &SizedStack| Cell::number(one.price, number),
        ),
        processors.breaks(),
        processors_ends,
        column("processors", "there were", |one: &SizedStack| {
            Cell::number(one.host_processors, whole)
        }),
        moved,
        moved_ends,
        column("by", "", |one: &SizedStack| Cell::text(one.phases.join(", "))).of_words(),
    ];
    Table::of("What the load takes", "stack", &sizing.stacks, name, columns)
}

/// A figure with the interval beside it.
fn amount(
    (head, unit): (&'static str, &'static str),
    pick: fn(&SizedStack) -> Option<Amount>,
    form: Form,
) -> [Column<'static, SizedStack>; 2] {
    [
        column(head, unit, move |one: &SizedStack| {
            Cell::number(pick(one).map(|amount| amount.middle), form)
        }),
        column("interval", "", move |one: &SizedStack| {
            interval(pick(one).and_then(|amount| amount.low.zip(amount.high)), form)
        }),
    ]
}

fn interval(ends: Option<(f64, f64)>, form: Form) -> Cell {
    Cell::maybe(ends.map(|(low, high)| format!("{} to {}", form(low), form(high))))
}
