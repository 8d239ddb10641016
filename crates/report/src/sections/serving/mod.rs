//! Sections of file serving: the rate at the limit, the points of the ramp, what each call cost.
//!
//! Takes phases, gives their notes, tables and charts. Prevents: a curve whose numbers only the drawing has, and a rate
//! that reads as if a published benchmark had been run.

mod charts;

use super::source::Source;
use crate::cells::PhaseReport;
use crate::cells::serving::{PointFigures, ServingFigures};
use crate::document::{Block, Cell, Column, Form, Forms, Placed, Table, column};
use crate::figures::Figure;
use crate::format::{bytes, kibibytes, megabytes, nanoseconds, number, percent, whole};
use crate::ranking::same_work::SameWork;
use crate::words::serving_words::{DERIVED, doubts};

/// A stack with its ramp.
type OnStack<'a> = (&'a str, &'a ServingFigures);

/// A point of a stack's ramp.
type OfPoint<'a> = (&'a str, &'a PointFigures);

/// What must be said of the latencies of a ramp: its table has them by operation, and of no point alone.
pub(super) fn of_all_points(phase: &PhaseReport) -> Option<Placed> {
    let is_ramp = phase.cells.iter().any(|cell| cell.serving.is_some());
    let words = "latency over all points of the ramp, the one beyond the limit included";
    is_ramp.then(|| (Forms::LONG, Block::Label(words.into())))
}

/// What file serving has to say in a phase.
pub(super) fn blocks(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let with = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.serving.as_ref()?)));
    let rows: Vec<OnStack<'_>> = with.collect();
    let Some((_, first)) = rows.first() else {
        return Vec::new();
    };
    let points: Vec<OfPoint<'_>> = rows
        .iter()
        .flat_map(|&(stack, serving)| serving.points.iter().map(move |point| (stack, point)))
        .collect();
    let mut blocks = vec![
        (Forms::ALL, Block::Note(first.words())),
        (Forms::LONG, Block::Table(summary(source, phase, &rows))),
        (Forms::LONG, Block::Label("points of the ramp".into())),
    ];
    blocks.extend(charts::all(source, phase));
    blocks.push((Forms::LONG, Block::Table(ramp(source, phase, &points))));
    let costs = cost(source, phase, &points);
    if !costs.columns.is_empty() {
        blocks.push((Forms::LONG, Block::Label("what a call cost, by load".into())));
        blocks.push((Forms::LONG, Block::Table(costs)));
    }
    let same_work = source.analysis.same_work.iter().filter(|one| one.phase == phase.name);
    blocks.push((Forms::ALL, Block::list(same_work.map(SameWork::words))));
    blocks.push((
        Forms::ALL,
        Block::list(rows.iter().flat_map(|(stack, one)| doubts(stack, one))),
    ));
    blocks.push((Forms::ALL, Block::Note(DERIVED.into())));
    blocks
}

fn summary(source: &Source<'_>, phase: &PhaseReport, rows: &[OnStack<'_>]) -> Table {
    let of = |head: &str, unit: &str, pick: fn(&ServingFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, one): &OnStack<'_>| Cell::figure(pick(one), form))
    };
    let columns = vec![
        of("highest", "op/s done", |one| one.peak_per_s, number).compared(),
        of(
            "overall resp.",
            "SFS rule",
            |one| one.overall_response_ns_sfs,
            nanoseconds,
        ),
        of(
            "overall resp.",
            "SPECstorage r.",
            |one| one.overall_response_ns_specstorage,
            nanoseconds,
        ),
        of("generator's", "ceiling op/s", |one| one.ceiling_per_s, number),
        column("checked", "bytes", |(_, one): &OnStack<'_>| {
            Cell::number(Some(one.checked_bytes), bytes)
        }),
    ];
    source.table(format!("The ramp: {}", phase.name), rows, |(stack, _)| stack, columns)
}

fn asked<'c, 'p>() -> Column<'c, OfPoint<'p>> {
    column("asked", "op/s", |(_, point): &OfPoint<'_>| {
        Cell::Number(point.asked_per_s, whole)
    })
}

fn ramp(source: &Source<'_>, phase: &PhaseReport, points: &[OfPoint<'_>]) -> Table {
    let of = |head: &str, unit: &str, pick: fn(&PointFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, point): &OfPoint<'_>| {
            Cell::figure(pick(point), form)
        })
    };
    let columns = vec![
        asked(),
        of("done", "op/s", |point| point.done_per_s, number),
        of("response", "mean", |point| point.response_ns_mean, nanoseconds),
        of("response", "p50", |point| point.response_ns_p50, nanoseconds),
        of("response", "p99", |point| point.response_ns_p99, nanoseconds),
        column("inside", "blocks", |(_, point): &OfPoint<'_>| {
            Cell::text(format!("{} of {}", point.blocks_inside, point.blocks))
        }),
        of("late", "of response", |point| point.late_share, percent),
        of("unsent", "of due", |point| point.unsent_share, percent),
        of("data", "bytes", |point| point.data_bytes, bytes),
        of("memory", "at most", |point| point.memory_bytes_peak, bytes),
    ];
    source.table(format!("Points of {}", phase.name), points, |(stack, _)| stack, columns)
}

fn cost(source: &Source<'_>, phase: &PhaseReport, points: &[OfPoint<'_>]) -> Table {
    let of = |head: &str, unit: &str, pick: fn(&PointFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, point): &OfPoint<'_>| {
            Cell::figure(pick(point), form)
        })
    };
    let columns = vec![
        asked(),
        of("CPU", "busy", |point| point.cpu_busy_share, percent),
        of("CPU", "us/op", |point| point.cpu_us_per_operation, number),
        of("server", "us/op", |point| point.cpu_server_us_per_operation, number),
        of("clients", "us/op", |point| point.cpu_client_us_per_operation, number),
        of("device", "read MB/s", |point| point.device_read_bytes_per_s, megabytes),
        of(
            "device",
            "write MB/s",
            |point| point.device_write_bytes_per_s,
            megabytes,
        ),
        of("moved", "KiB/op", |point| point.device_bytes_per_operation, kibibytes),
        of("device", "I/Os per op", |point| point.device_ios_per_operation, number),
    ];
    source.table(
        format!("Cost of a call: {}", phase.name),
        points,
        |(stack, _)| stack,
        columns,
    )
}
