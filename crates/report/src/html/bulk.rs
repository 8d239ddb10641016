//! Bulk loads on the page: time and space at each row count, ratios per row count, growth of the files.
//!
//! Takes a phase of bulk loads, puts its part on the page. Prevents: one total in which the largest load hides all others.

use super::Source;
use super::curves::{Across, Chart, Series, plot};
use super::databases::heading;
use super::figure_cells::{Column, Shown, column, ranged, shown, stack_table};
use super::forest::{Forest, Interval};
use super::markup::Markup;
use crate::analysis::PhaseReport;
use crate::bulk::{BulkFigures, BulkRatio, SpaceFigure};
use crate::format::{bytes, nanoseconds, number, ratio};
use crate::layouts::whole;

/// Forests of a page are told apart by a number; the phases of bulk loads count from here.
const FORESTS_FROM: usize = 2_000_000;

type Row<'a> = (&'a str, &'a BulkFigures);

pub(crate) fn part(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    let rows: Vec<Row<'_>> = phase
        .cells
        .iter()
        .flat_map(|cell| cell.bulk.iter().map(|load| (cell.stack.as_str(), load)))
        .collect();
    if rows.is_empty() {
        return;
    }
    heading(body, &phase.name, "bulk load");
    let columns: Vec<Column<'_, Row<'_>>> = vec![
        column("rows", "", |row: &Row<'_>| Shown::Text(whole(row.1.rows as f64))),
        column("time", "s, until all is home", |row: &Row<'_>| {
            ranged(row.1.seconds, number)
        })
        .compared(),
        column("of it", "s, bringing home", |row: &Row<'_>| {
            shown(row.1.settle_seconds, number)
        }),
        column("rows", "per s", |row: &Row<'_>| ranged(row.1.rows_per_s, number)).compared(),
        column("commit", "p50", |row: &Row<'_>| shown(row.1.commit_ns_p50, nanoseconds)),
        column("commit", "p99", |row: &Row<'_>| shown(row.1.commit_ns_p99, nanoseconds)),
        column("files", "at the end", |row: &Row<'_>| shown(row.1.file_bytes, bytes)),
        column("files seen", "to grow, times", |row: &Row<'_>| {
            shown(row.1.growth_steps, whole)
        }),
    ];
    let caption = format!("Bulk load by row count: {}", phase.name);
    stack_table(body, source, &caption, &rows, &columns, |row| row.0);
    ratios(body, source, phase);
    space(body, source, phase, &rows);
    growth(body, source, phase);
}

fn ratios(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    let mut rows: Vec<&BulkRatio> = source
        .analysis
        .bulk_ratios
        .iter()
        .filter(|one| one.phase == phase.name)
        .collect();
    rows.sort_by_key(|one| one.rows);
    if rows.is_empty() {
        return;
    }
    let interval = |one: &BulkRatio| Interval {
        ratio: one.ratio,
        low: one.low,
        high: one.high,
    };
    let intervals: Vec<Interval> = rows.iter().map(|one| interval(one)).collect();
    let place = source.analysis.phases.iter().position(|other| other.name == phase.name);
    let number_of = FORESTS_FROM + place.unwrap_or(0);
    let forest = Forest::over(&intervals, source.analysis.study.margin, number_of);
    let columns: Vec<Column<'_, &BulkRatio>> = vec![
        column("rows", "", |row: &&BulkRatio| Shown::Text(whole(row.rows as f64))),
        column("speed to the base's", "", |row: &&BulkRatio| {
            Shown::Chart(forest.row(&interval(row), "clear"))
        })
        .headed(forest.axis()),
        column("ratio", "95 % interval", |row: &&BulkRatio| {
            Shown::Spread(ratio(row.ratio), interval(row).words())
        })
        .compared(),
        column("of", "", |row: &&BulkRatio| Shown::Text(row.base.clone())).of_words(),
        column("blocks", "", |row: &&BulkRatio| Shown::Text(row.n.to_string())),
    ];
    let caption = format!("Speed of the bulk load, stack over base, by row count: {}", phase.name);
    stack_table(body, source, &caption, &rows, &columns, |row| row.stack.as_str());
    body.raw("<p class=\"quiet\">The base's time over the stack's, block by block; above 1 is faster. Plain 95 % intervals, not tested: the verdict above is on the time of all row counts together.</p>");
}

fn space(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport, rows: &[Row<'_>]) {
    type Of<'a> = (&'a str, &'a BulkFigures, &'a SpaceFigure);
    let rows: Vec<Of<'_>> = rows
        .iter()
        .flat_map(|(stack, load)| load.space.iter().map(move |one| (*stack, *load, one)))
        .collect();
    if rows.is_empty() {
        return;
    }
    let columns: Vec<Column<'_, Of<'_>>> = vec![
        column("rows", "", |row: &Of<'_>| Shown::Text(whole(row.1.rows as f64))),
        column("what", "", |row: &Of<'_>| Shown::Text(row.2.kind.clone())).of_words(),
        column("name", "", |row: &Of<'_>| Shown::Text(row.2.name.clone())).of_words(),
        column("size", "", |row: &Of<'_>| shown(row.2.bytes, bytes)),
        column("bytes", "per row", |row: &Of<'_>| {
            shown(row.2.bytes, |size| number(size / row.1.rows as f64))
        }),
    ];
    body.raw("<details><summary>Space by table and index</summary>");
    let caption = format!("Space by table and index: {}", phase.name);
    stack_table(body, source, &caption, &rows, &columns, |row| row.0);
    body.raw("</details>");
}

/// Growth of the files in the largest load, one line a stack, with its table.
fn growth(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    let largest: Vec<Row<'_>> = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.bulk.last()?)))
        .collect();
    let series: Vec<Series<'_>> = largest
        .iter()
        .map(|(stack, load)| Series {
            mark: source.mark(stack),
            name: stack,
            points: load
                .growth
                .iter()
                .map(|one| (one.rows as f64, one.bytes as f64))
                .collect(),
        })
        .filter(|one| !one.points.is_empty())
        .collect();
    let most = largest.iter().map(|(_, load)| load.rows).max().unwrap_or(0) as f64;
    if series.is_empty() || most <= 0.0 {
        return;
    }
    let chart = Chart {
        title: "Size of all files of the database in the largest load, one block",
        across: Across::FromZero(most),
        marks: [0.25, 0.5, 0.75, 1.0]
            .map(|share| (share * most, whole(share * most)))
            .into(),
        across_words: "rows committed",
        form: bytes,
        binary: true,
        dots: false,
    };
    plot(body, &chart, &series);
    body.raw("<details><summary>The growth drawn, as a table</summary>");
    type Of<'a> = (&'a str, &'a crate::bulk::GrowthPoint);
    let rows: Vec<Of<'_>> = largest
        .iter()
        .flat_map(|(stack, load)| load.growth.iter().map(move |one| (*stack, one)))
        .collect();
    let columns: Vec<Column<'_, Of<'_>>> = vec![
        column("rows", "committed", |row: &Of<'_>| {
            Shown::Text(whole(row.1.rows as f64))
        }),
        column("time", "s", |row: &Of<'_>| Shown::Text(number(row.1.at_s))),
        column("files", "bytes", |row: &Of<'_>| Shown::Text(bytes(row.1.bytes as f64))),
    ];
    let caption = format!("Growth of the files: {}", phase.name);
    stack_table(body, source, &caption, &rows, &columns, |row| row.0);
    body.raw("</details>");
}
