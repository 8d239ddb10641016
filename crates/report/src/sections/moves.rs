//! Phases that move data: copies between stacks, and rebalances inside a disk group or a volume while work went on.
//!
//! Takes the cells of a phase, gives blocks: a line each where there is little room, tables on a page. Prevents: a
//! rebalance praised for a speed that the work beside it paid for, and a copy whose reads at the target nobody saw.

use super::source::Source;

use crate::cells::Cell as OfStack;
use crate::cells::PhaseReport;
use crate::cells::moves::{CopyFigures, RebalanceFigures, WINDOWS, is_in};
use crate::document::{Block, Cell, Column, Form, Forms, Placed, column};
use crate::figures::Figure;
use crate::format::{bytes, megabytes, nanoseconds, number, whole};
use crate::words::moves::lines;

pub(super) fn blocks(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let mut blocks = vec![(Forms::TEXTS, Block::list(phase.cells.iter().flat_map(lines)))];
    let with =
        |moved: fn(&OfStack) -> bool| -> Vec<&OfStack> { phase.cells.iter().filter(|cell| moved(cell)).collect() };
    let copied = with(|cell| cell.copy.is_some());
    if !copied.is_empty() {
        blocks.push((Forms::PAGE, table(source, "Copies of the database", &copied, copies())));
        blocks.push((Forms::PAGE, Block::Note(COPIES.into())));
    }
    let rebalanced = with(|cell| cell.rebalance.is_some());
    if !rebalanced.is_empty() {
        blocks.push((Forms::PAGE, table(source, "Rebalances", &rebalanced, rebalances())));
        blocks.push((Forms::PAGE, Block::Note(REBALANCES.into())));
    }
    blocks
}

const COPIES: &str = "Read and written: by the devices nearest to each side, where the sides share none. A target \
     that reads has to look at what it overwrites.";

const REBALANCES: &str = "Ideal: bytes that had to move so that every disk holds its share by size; of LVM and md what \
     the LUN held whose place another one took. They pace themselves and have no power. p99: service of \
     the slowest class of operation, on a logarithmic axis; ring: before, dot: during, tick: after. All classes \
     stand in the table above.";

fn table<'a>(source: &Source<'_>, caption: &str, rows: &[&'a OfStack], columns: Vec<Column<'a, &'a OfStack>>) -> Block {
    Block::Table(source.table(caption, rows, |cell| &cell.stack, columns))
}

fn copies<'a>() -> Vec<Column<'a, &'a OfStack>> {
    let of = |head: &str, unit: &str, pick: fn(&CopyFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |cell: &&OfStack| {
            Cell::figure(cell.copy.as_ref().and_then(pick), form)
        })
    };
    vec![
        of("copied", "", |copy| copy.bytes, bytes),
        of("rate", "MB/s", |copy| copy.bytes_per_s, megabytes),
        of("time", "s", |copy| copy.seconds, number),
        column("over", "", |cell: &&OfStack| {
            let code = cell.copy.as_ref().and_then(|copy| copy.over_existing);
            Cell::maybe(code.map(|code| {
                if code.median >= 0.5 {
                    "what was there"
                } else {
                    "new files"
                }
            }))
        })
        .of_words(),
        of("source", "read", |copy| copy.source.read_bytes, bytes),
        of("source", "written", |copy| copy.source.write_bytes, bytes),
        of("target", "read", |copy| copy.target.read_bytes, bytes),
        of("target", "written", |copy| copy.target.write_bytes, bytes),
        column("read back", "and found the same", |cell: &&OfStack| {
            match cell.copy.as_ref().and_then(|copy| copy.verified_bytes) {
                Some(verified) => Cell::unmarked(verified, bytes),
                None => Cell::text("no"),
            }
        }),
    ]
}

fn rebalances<'a>() -> Vec<Column<'a, &'a OfStack>> {
    let of = |head: &str, unit: &str, pick: fn(&RebalanceFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |cell: &&OfStack| {
            Cell::ranged(cell.rebalance.as_ref().and_then(pick), form)
        })
    };
    let mut columns = vec![
        of("moved", "", |one| one.moved_bytes, bytes),
        of("ideal", "", |one| one.ideal_bytes, bytes),
        of("moved", "per ideal", |one| one.moved_per_ideal, number),
        of("time", "s", |one| one.seconds, number),
        of("power", "I/Os in flight", |one| one.power, whole),
    ];
    for (window, _) in WINDOWS {
        columns.push(column("op/s", window, move |cell: &&OfStack| {
            Cell::figure(rate(cell, window), number)
        }));
    }
    columns.push(column("p99 of the slowest class", "", |cell: &&OfStack| {
        let slowest = WINDOWS.map(|(window, _)| p99(cell, window).map(|figure| figure.median));
        if slowest.iter().all(Option::is_none) {
            Cell::Nothing
        } else {
            Cell::Way(slowest, nanoseconds)
        }
    }));
    for (window, _) in WINDOWS {
        columns.push(column("p99", window, move |cell: &&OfStack| {
            Cell::figure(p99(cell, window), nanoseconds)
        }));
    }
    columns
}

/// Rate of the work in a window of the rebalance.
fn rate(cell: &OfStack, window: &str) -> Option<Figure> {
    let windows = &cell.rebalance.as_ref()?.windows;
    windows.iter().find(|one| one.name == window)?.operations_per_s
}

/// The slowest class's p99 in a window.
fn p99(cell: &OfStack, window: &str) -> Option<Figure> {
    let of = cell.latency.iter().filter(|one| is_in(&one.class, window));
    of.filter_map(|one| one.p99_ns)
        .max_by(|a, b| a.median.total_cmp(&b.median))
}
