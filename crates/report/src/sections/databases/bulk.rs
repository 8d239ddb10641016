//! Bulk loads: time and space at each row count, ratios per row count, growth of the files.
//!
//! Takes a phase of bulk loads, gives blocks. Prevents: one total in which the largest load hides all others.

use crate::cells::PhaseReport;
use crate::cells::bulk::{BulkFigures, GrowthPoint, SpaceFigure};
use crate::document::{Block, Cell, Chart, Fold, Form, Forms, Item, LineOf, Lines, Placed, Table, Tone, column};
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number, ratio, whole};
use crate::sections::source::Source;

/// Letters of the growth in a terminal.
const SPARK_MAX: usize = 40;

/// A stack with its load of one row count.
type Load<'a> = (&'a str, &'a BulkFigures);

pub(in crate::sections) fn blocks(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let all = phase
        .cells
        .iter()
        .flat_map(|cell| cell.bulk.iter().map(|load| (cell.stack.as_str(), load)));
    let rows: Vec<Load<'_>> = all.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![(Forms::LONG, Block::Table(loads(source, phase, &rows)))];
    if source.has_bulk_ratios(&phase.name) {
        let words = "Speed: the base's time over the stack's, block by block; above 1 is faster. Plain 95 % \
             intervals, not tested: the verdict is on the time of all row counts together.";
        blocks.push((Forms::PAGE, Block::Note(words.into())));
    }
    blocks.extend(space(source, phase, &rows));
    blocks.extend(growth(source, phase));
    blocks
}

fn loads(source: &Source<'_>, phase: &PhaseReport, rows: &[Load<'_>]) -> Table {
    let margin = source.analysis.study.margin;
    let against = |stack: &str, load: &BulkFigures| source.bulk_ratio(&phase.name, stack, load.rows);
    let of = |head: &str, unit: &str, pick: fn(&BulkFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, load): &Load<'_>| Cell::ranged(pick(load), form))
    };
    let columns = [
        column("rows", "", |(_, load): &Load<'_>| Cell::Number(load.rows as f64, whole)),
        of("time", "s", |load| load.seconds, number).compared(),
        of("home", "s", |load| load.settle_seconds, number),
        of("rows", "/s", |load| load.rows_per_s, number).compared(),
        column("speed", "to base", |(stack, load): &Load<'_>| {
            Cell::number(against(stack, load).map(|one| one.ratio), ratio)
        }),
        column("interval", "95 %", |(stack, load): &Load<'_>| {
            match against(stack, load) {
                // One block has no interval.
                Some(one) if one.low.is_some() || one.high.is_some() => {
                    Cell::interval(one.ratio, [one.low, one.high], margin, Tone::Clear)
                }
                _ => Cell::Nothing,
            }
        }),
        column("blocks", "in it", |(stack, load): &Load<'_>| {
            Cell::maybe(against(stack, load).map(|one| one.n.to_string()))
        })
        .only(Forms::PAGE),
        of("commit", "p50", |load| load.commit_ns_p50, nanoseconds).only(Forms::PAGE),
        of("commit", "p99", |load| load.commit_ns_p99, nanoseconds),
        of("files", "at the end", |load| load.file_bytes, bytes).only(Forms::PAGE),
        of("files seen", "to grow, times", |load| load.growth_steps, whole).only(Forms::PAGE),
    ];
    let caption = format!("Bulk load by row count: {}", phase.name);
    source.table(caption, rows, |(stack, _)| stack, columns)
}

/// True for the largest row count of a stack.
fn is_largest(rows: &[Load<'_>], nth: usize) -> bool {
    rows.get(nth + 1).is_none_or(|next| next.0 != rows[nth].0)
}

/// Space of every load on a page, of the largest in a terminal.
fn space(source: &Source<'_>, phase: &PhaseReport, rows: &[Load<'_>]) -> Vec<Placed> {
    type Of<'a> = (&'a str, &'a BulkFigures, &'a SpaceFigure, Forms);
    let mut all: Vec<Of<'_>> = Vec::new();
    for (nth, (stack, load)) in rows.iter().enumerate() {
        let forms = if is_largest(rows, nth) { Forms::ALL } else { Forms::PAGE };
        all.extend(load.space.iter().map(|one| (*stack, *load, one, forms)));
    }
    if all.is_empty() {
        return Vec::new();
    }
    let columns = [
        column("what", "", |(_, _, one, _): &Of<'_>| Cell::text(&one.kind)).of_words(),
        column("name", "", |(_, _, one, _): &Of<'_>| Cell::text(&one.name)).of_words(),
        column("rows", "", |(_, load, ..): &Of<'_>| {
            Cell::Number(load.rows as f64, whole)
        }),
        column("size", "", |(_, _, one, _): &Of<'_>| Cell::figure(one.bytes, bytes)),
        column("bytes", "/row", |(_, load, one, _): &Of<'_>| {
            Cell::figure(one.bytes, number).per(load.rows as f64)
        }),
    ];
    let name = |(stack, .., forms): &Of<'_>| source.stack(stack).only(*forms);
    let caption = format!("Space by table and index: {}", phase.name);
    let table = Block::Table(Table::of(caption, "stack", &all, name, columns));
    let part = Block::part("Space by table and index", Fold::Always, vec![(Forms::LONG, table)]);
    vec![
        (Forms::TERMINAL, Block::Label("space after the largest load".into())),
        (Forms::LONG, part),
    ]
}

/// Growth of the files in the largest load: a line a stack.
fn growth(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let largest: Vec<Load<'_>> = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.bulk.last()?)))
        .collect();
    let item = |(stack, load): &Load<'_>| {
        let (steps, size) = (load.growth_steps?.median, load.file_bytes?.median);
        let (steps, size, rows) = (whole(steps), bytes(size), whole(load.rows as f64));
        Some(Item {
            text: format!("{stack}: files seen to grow {steps} times, to {size} at {rows} rows"),
            series: by_rows(load),
            tag: None,
        })
    };
    let said = Block::List(largest.iter().filter_map(item).collect());
    let line = |(stack, load): &Load<'_>| LineOf {
        name: source.stack(stack),
        points: load
            .growth
            .iter()
            .map(|one| (one.rows as f64, one.bytes as f64))
            .collect(),
    };
    let series: Vec<LineOf> = largest.iter().map(line).filter(|one| !one.points.is_empty()).collect();
    let most = largest.iter().map(|(_, load)| load.rows).max().unwrap_or(0) as f64;
    let mut blocks = vec![(Forms::LONG, said)];
    if series.is_empty() || most <= 0.0 {
        return blocks;
    }
    let chart = Chart::Lines(Lines {
        title: "Size of all files of the database in the largest load, one block".into(),
        logarithmic: false,
        marks: [0.25, 0.5, 0.75, 1.0].map(|share| share * most).into(),
        across: ("rows committed", whole),
        form: bytes,
        binary: true,
        dots: false,
        series,
    });
    type Of<'a> = (&'a str, &'a GrowthPoint);
    let points = largest
        .iter()
        .flat_map(|&(stack, load)| load.growth.iter().map(move |one| (stack, one)));
    let points: Vec<Of<'_>> = points.collect();
    let columns = [
        column("rows", "committed", |(_, one): &Of<'_>| {
            Cell::Number(one.rows as f64, whole)
        }),
        column("time", "s", |(_, one): &Of<'_>| Cell::Number(one.at_s, number)),
        column("files", "bytes", |(_, one): &Of<'_>| {
            Cell::Number(one.bytes as f64, bytes)
        }),
    ];
    let caption = format!("Growth of the files: {}", phase.name);
    let table = source.table(caption, &points, |(stack, _)| stack, columns);
    let table = vec![(Forms::PAGE, Block::Table(table))];
    let part = Block::part("The growth drawn, as a table", Fold::Always, table);
    blocks.push((Forms::PAGE, Block::Chart(chart)));
    blocks.push((Forms::PAGE, part));
    blocks
}

/// The size of the files after equal numbers of rows.
fn by_rows(load: &BulkFigures) -> Vec<f64> {
    let after = |nth: usize| {
        let rows = load.rows / SPARK_MAX as u64 * (nth as u64 + 1)
            + load.rows % SPARK_MAX as u64 * (nth as u64 + 1) / SPARK_MAX as u64;
        let at = load.growth.iter().take_while(|one| one.rows <= rows).last();
        at.or(load.growth.first()).map(|one| one.bytes as f64)
    };
    (0..SPARK_MAX).filter_map(after).collect()
}
