//! What was done: rates, what the engine asked of storage, what the devices did, per phase and stack.
//!
//! Takes the cells, gives the section. Prevents: a rate without the device traffic behind it.

use super::figure_cells::{Column, Shown, column, framed, phase_part, ranged, shown, stack_name, table};
use super::markup::Markup;
use super::{Section, Source};
use crate::analysis::PhaseReport;
use crate::cells::{Cell, Metric};
use crate::format::{nanoseconds, number, percent};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let phases: Vec<&PhaseReport> = source
        .analysis
        .phases
        .iter()
        .filter(|phase| !phase.cells.is_empty())
        .collect();
    let mut body = Markup::new();
    for (place, phase) in phases.iter().enumerate() {
        let mut part = Markup::new();
        phase_table(&mut part, source, phase);
        phase_part(&mut body, place, phases.len(), &phase.name, &about(phase), &part);
    }
    if !phases.is_empty() {
        body.raw(
            "<p class=\"quiet\">Medians over blocks; below them the range of the blocks, or the largest deviation of a block (\u{b1}). All rates are from totals with the drain. Asked: what the \
             database engine asked of storage. Device: the lowest device that can be seen; size of a request: at the device nearest to \
             the stack. The small line is the rate from the begin of the phase to the end of its work, from zero.</p>",
        );
        if source.lean {
            body.raw(
                "<p class=\"quiet\">With so many phases this page leaves out the spread of what is not compared between stacks, \
                 and draws coarser shapes: the JSON form has every figure with its range.</p>",
            );
        }
    }
    Section::new("work", "Work", body)
}

/// Kind and blocks of a phase in words.
pub(crate) fn about(phase: &PhaseReport) -> String {
    let mut parts = Vec::new();
    if !phase.name.contains(&phase.kind) {
        parts.push(format!("{} phase", phase.kind));
    }
    let counts: Vec<u32> = phase.cells.iter().map(|cell| cell.blocks).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(1), Some(1)) => parts.push("1 block".into()),
        (Some(least), Some(most)) if least == most => parts.push(format!("{most} blocks")),
        (Some(least), Some(most)) => parts.push(format!("{least} to {most} blocks")),
        _ => {}
    }
    if !phase.ranked {
        parts.push("not ranked".into());
    }
    parts.join(", ")
}

/// Head, unit and form of a primary metric.
pub(crate) fn primary(metric: Metric) -> (&'static str, &'static str, fn(f64) -> String) {
    match metric {
        Metric::OperationsPerSecond => ("rate", "op/s", number),
        Metric::BytesPerSecond => ("rate", "MB/s", megabytes),
        Metric::NewOrdersPerMinute => ("rate", "new orders/min", number),
        Metric::ResponseNsP99 => ("p99", "of response", nanoseconds),
        Metric::ElapsedSeconds => ("time", "s", number),
    }
}

pub(crate) fn megabytes(value: f64) -> String {
    number(value / 1e6)
}

pub(crate) fn kibibytes(value: f64) -> String {
    number(value / 1024.0)
}

fn phase_table(part: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    let (title, unit, form) = primary(phase.metric);
    let columns: Vec<Column<'_, Cell>> = vec![
        column(title, unit, |cell: &Cell| ranged(cell.primary, form)).compared(),
        column("over time", "rate", |cell: &Cell| {
            spark(&cell.rate_over_time, source.lean)
        }),
        column("operations", "per s", |cell: &Cell| match phase.metric {
            Metric::ResponseNsP99 => shown(cell.operations_per_s, number),
            _ => Shown::Nothing,
        }),
        column("commits", "per s", |cell: &Cell| {
            shown(cell.engine.commits_per_s, number)
        }),
        column("reads asked", "per s", |cell: &Cell| {
            shown(cell.engine.reads_per_s, number)
        }),
        column("writes asked", "per s", |cell: &Cell| {
            shown(cell.engine.writes_per_s, number)
        }),
        column("device reads", "per s", |cell: &Cell| {
            shown(cell.low.reads_per_s, number)
        }),
        column("device writes", "per s", |cell: &Cell| {
            shown(cell.low.writes_per_s, number)
        }),
        column("device reads", "MB/s", |cell: &Cell| {
            shown(cell.low.read_bytes_per_s, megabytes)
        }),
        column("device writes", "MB/s", |cell: &Cell| {
            shown(cell.low.write_bytes_per_s, megabytes)
        }),
        column("pages overwritten", "at least once", |cell: &Cell| {
            ranged(cell.overwritten_share, percent)
        }),
        column("size of a read", "KiB", |cell: &Cell| {
            shown(cell.near.bytes_per_read, kibibytes)
        }),
        column("size of a write", "KiB", |cell: &Cell| {
            shown(cell.near.bytes_per_write, kibibytes)
        }),
        column("unsent", "of due", |cell: &Cell| match phase.kind.as_str() {
            "open" => ranged(cell.unsent_share, percent),
            _ => Shown::Nothing,
        }),
    ];
    let caption = format!("Work in {}", phase.name);
    table(
        part,
        &framed(source, &caption, "Stack"),
        &phase.cells,
        &columns,
        |page, cell| {
            stack_name(page, &source.mark(&cell.stack), &cell.stack);
        },
    );
}

/// Rate over time in a word's size; from zero, so that a stall goes down to the line.
fn spark(rates: &[f64], lean: bool) -> Shown {
    let halved: Vec<f64> = rates.chunks(2).map(stats::mean).collect();
    let rates: &[f64] = if lean { &halved } else { rates };
    let most = rates.iter().copied().fold(0.0, f64::max);
    if rates.len() < 2 || most <= 0.0 {
        return Shown::Nothing;
    }
    let heights: Vec<i64> = rates
        .iter()
        .map(|rate| (20.0 - 18.0 * rate / most).round() as i64)
        .collect();
    let mut path = format!("M0,{}l", heights[0]);
    for pair in heights.windows(2) {
        path.push_str(&format!("1,{} ", pair[1] - pair[0]));
    }
    let mut chart = Markup::new();
    let view = format!("0 0 {} 21", rates.len() - 1);
    chart.open(
        "svg",
        &[
            ("class", "spark"),
            ("viewBox", &view),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ],
    );
    chart.empty("path", &[("d", path.trim_end())]);
    chart.raw("</svg>");
    Shown::Chart(chart)
}
