//! The figures of the publication that ran this first, as charts: response, processors, bytes moved, memory and data,
//! each against the operations done.
//!
//! Takes a phase, gives charts of medians. Prevents: a curve drawn over the load that was asked for.

use super::super::source::Source;
use crate::cells::PhaseReport;
use crate::cells::serving::PointFigures;
use crate::document::{Block, Chart, Form, Forms, LineOf, Lines, Placed, places_of};
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, percent, whole};

type Pick = fn(&PointFigures) -> Option<Figure>;

/// What stands over the operations done: title, value, its form, whether it is bytes.
const CHARTS: [(&str, Pick, Form, bool); 6] = [
    ("Response, mean", |point| point.response_ns_mean, nanoseconds, false),
    ("Processors busy", |point| point.cpu_busy_share, percent, false),
    (
        "Bytes a second read by the devices",
        |point| point.device_read_bytes_per_s,
        bytes,
        true,
    ),
    (
        "Bytes a second written by the devices",
        |point| point.device_write_bytes_per_s,
        bytes,
        true,
    ),
    ("Memory at its highest", |point| point.memory_bytes_peak, bytes, true),
    ("Size of the data", |point| point.data_bytes, bytes, true),
];

/// On the page, for every curve of at least two points.
pub(super) fn all(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let charts = CHARTS.iter().filter_map(|(title, pick, form, binary)| {
        let series: Vec<LineOf> = phase
            .cells
            .iter()
            .filter_map(|cell| line(source, cell, *pick))
            .collect();
        if series.iter().all(|one| one.points.len() < 2) {
            return None;
        }
        let marks = places_of(&series);
        Some(Block::Chart(Chart::Lines(Lines {
            title: (*title).into(),
            logarithmic: false,
            marks: spread(&marks),
            across: ("operations a second done", whole),
            form: *form,
            binary: *binary,
            dots: true,
            series,
        })))
    });
    charts.map(|chart| (Forms::PAGE, chart)).collect()
}

fn line(source: &Source<'_>, cell: &crate::cells::Cell, pick: Pick) -> Option<LineOf> {
    let points = &cell.serving.as_ref()?.points;
    let point = |point: &PointFigures| Some((point.done_per_s?.median, pick(point)?.median));
    let mut points: Vec<(f64, f64)> = points.iter().filter_map(point).collect();
    // A point beyond what can be done may have done less than the one before it.
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(LineOf {
        name: source.stack(&cell.stack),
        points,
    })
    .filter(|one| !one.points.is_empty())
}

/// Marks that do not stand on each other: at most eight, in even steps from zero.
fn spread(marks: &[f64]) -> Vec<f64> {
    let most = marks.last().copied().unwrap_or(1.0).max(1.0);
    let rough = most / 6.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * decade);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    (0..=8)
        .map(|nth| f64::from(nth) * step)
        .take_while(|mark| *mark <= most)
        .collect()
}
