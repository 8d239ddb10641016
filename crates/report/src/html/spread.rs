//! Distributions of latency: the shape of each with its percentiles, a row a stack.
//!
//! Takes the whole histograms of all blocks, gives the section. Prevents: two populations hidden behind one percentile, and
//! service taken for response.

use super::figure_cells::{Column, Shown, column, phase_part, shown, stack_name, table};
use super::forest::line;
use super::markup::Markup;
use super::scale::LogScale;
use super::{Section, Source};
use crate::analysis::{PhaseReport, ReportError};
use crate::cells::Metric;
use crate::format::{nanoseconds, number};
use crate::history::Seen;
use crate::latency::{Latency, of_stamp, whole};
use hdrhistogram::Histogram;
use ledger::Stamp;

/// One row: a class of operation on a stack between two stamps.
struct Spread {
    stack: String,
    latency: Latency,
    histogram: Histogram<u64>,
}

pub(crate) fn section(source: &Source<'_>) -> Result<Option<Section>, ReportError> {
    let mut parts = Vec::new();
    let mut scheduled = false;
    for phase in &source.analysis.phases {
        scheduled |= is_scheduled(phase);
        let part = phase_spreads(source, phase)?;
        if !part.is_empty() {
            parts.push((phase, part));
        }
    }
    let mut body = Markup::new();
    for (place, (phase, part)) in parts.iter().enumerate() {
        phase_part(
            &mut body,
            place,
            parts.len(),
            &phase.name,
            &super::work::about(phase),
            part,
        );
    }
    if !parts.is_empty() {
        body.raw(
            "<p class=\"quiet\">Each shape holds every operation of all blocks, on a logarithmic axis, and is drawn to its own height. \
             Marks: median (tall), p99 and p99.9 (short); the line ends at the slowest. Percentiles are taken in each block: the median \
             of the blocks, their range below. ",
        );
        body.raw(if scheduled {
            "Service: from start to done; response: from due to done, so that waiting to be started counts.</p>"
        } else {
            "Service, from start to done; no phase of this study runs on a schedule, so response is the same.</p>"
        });
    }
    Ok(Section::new("latency", "Latency", body))
}

/// Work that falls due on a schedule: there service and response are two things.
fn is_scheduled(phase: &PhaseReport) -> bool {
    phase.metric == Metric::ResponseNsP99
}

fn phase_spreads(source: &Source<'_>, phase: &PhaseReport) -> Result<Markup, ReportError> {
    let stamps: &[Stamp] = if is_scheduled(phase) {
        &[Stamp::Response, Stamp::Service]
    } else {
        &[Stamp::Service]
    };
    let mut classes: Vec<(String, Vec<Spread>)> = Vec::new();
    for cell in &phase.cells {
        let seen = source.book.valid(&cell.stack, &phase.name);
        for stamp in stamps {
            for latency in latencies(phase, *stamp, &cell.latency, &seen)? {
                let Some(histogram) = whole(*stamp, &latency.class, &seen)? else {
                    continue;
                };
                let class = latency.class.clone();
                let spread = Spread {
                    stack: cell.stack.clone(),
                    latency,
                    histogram,
                };
                match classes.iter_mut().find(|(name, _)| *name == class) {
                    Some((_, rows)) => rows.push(spread),
                    None => classes.push((class, vec![spread])),
                }
            }
        }
    }
    classes.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut part = Markup::new();
    for (class, rows) in &classes {
        class_table(&mut part, source, phase, class, rows);
    }
    Ok(part)
}

/// Those of the cell where they are of this stamp; they cost the unpacking of every histogram.
fn latencies(
    phase: &PhaseReport,
    stamp: Stamp,
    known: &[Latency],
    seen: &[(u32, &Seen)],
) -> Result<Vec<Latency>, ReportError> {
    if is_scheduled(phase) == (stamp == Stamp::Response) {
        Ok(known.to_vec())
    } else {
        Ok(of_stamp(stamp, seen)?)
    }
}

fn class_table(part: &mut Markup, source: &Source<'_>, phase: &PhaseReport, class: &str, rows: &[Spread]) {
    let ends = rows
        .iter()
        .flat_map(|row| [row.histogram.min() as f64, row.histogram.max() as f64]);
    let Some(scale) = LogScale::over(ends.filter(|end| *end > 0.0)) else {
        return;
    };
    let scheduled = is_scheduled(phase);
    let axis = axis(&scale);
    let columns: Vec<Column<'_, Spread>> = vec![
        column("distribution", "", |row: &Spread| {
            Shown::Chart(shape(row, &scale, &source.mark(&row.stack)))
        })
        .headed(axis),
        column("stamps", "", |row: &Spread| {
            if scheduled {
                Shown::Text(row.latency.stamp.clone())
            } else {
                Shown::Nothing
            }
        }),
        column("p50", "", |row: &Spread| shown(row.latency.p50_ns, nanoseconds)),
        column("p95", "", |row: &Spread| shown(row.latency.p95_ns, nanoseconds)),
        column("p99", "", |row: &Spread| shown(row.latency.p99_ns, nanoseconds)),
        column("p99.9", "", |row: &Spread| shown(row.latency.p999_ns, nanoseconds)),
        column("slowest", "", |row: &Spread| shown(row.latency.max_ns, nanoseconds)),
        column("number", "operations", |row: &Spread| {
            Shown::Text(number(row.latency.count as f64))
        }),
    ];
    let what = if scheduled { "latency" } else { "service time" };
    let caption = format!("{class}: {what} in {}", phase.name);
    table(part, &caption, class, rows, &columns, |page, row| {
        stack_name(page, &source.mark(&row.stack), &row.stack);
    });
}

fn axis(scale: &LogScale) -> Markup {
    let mut page = Markup::new();
    page.raw("<svg class=\"axis\" aria-hidden=\"true\">");
    for mark in scale.marks(scale.decades(), 0.16) {
        let place = scale.percent(mark);
        line(&mut page, "tick", &place, "80%", &place, "100%");
        let text = nanoseconds(mark).replace(".00", "").replace(".0", "");
        page.element("text", &[("x", &place), ("y", "65%")], &text);
    }
    page.raw("</svg>");
    page
}

/// Parts of the axis in which operations are counted.
const PARTS: usize = 72;
const HEIGHT: f64 = 20.0;

fn shape(row: &Spread, scale: &LogScale, mark: &str) -> Markup {
    let mut counts = vec![0u64; PARTS];
    for step in row.histogram.iter_recorded() {
        let part = (scale.place(step.value_iterated_to() as f64) * PARTS as f64) as usize;
        counts[part.min(PARTS - 1)] += step.count_at_value();
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    // Steps, relative to the point before: h for a part's width, v for the change of height.
    let mut path = format!("M{first},{HEIGHT}");
    let mut level = 0;
    for count in &counts[first..=last] {
        let next = (*count as f64 / most * (HEIGHT - 1.0)).round() as i64;
        if next != level {
            path.push_str(&format!("v{}", level - next));
            level = next;
        }
        path.push_str("h1");
    }
    path.push_str(&format!("v{level}z"));
    let quantile = |q: f64| row.histogram.value_at_quantile(q) as f64;
    let mut page = Markup::new();
    let label = format!(
        "{}: half below {}, 99 % below {}, slowest {}",
        row.latency.stamp,
        nanoseconds(quantile(0.5)),
        nanoseconds(quantile(0.99)),
        nanoseconds(row.histogram.max() as f64)
    );
    page.open("svg", &[("class", "shape"), ("role", "img"), ("aria-label", &label)]);
    let view = format!("0 0 {PARTS} {HEIGHT}");
    page.open(
        "svg",
        &[("viewBox", &view), ("preserveAspectRatio", "none"), ("height", "80%")],
    );
    page.open("path", &[("class", mark), ("d", &path)]);
    page.raw("</path></svg>");
    let from = scale.percent(row.histogram.min() as f64);
    let to = scale.percent(row.histogram.max() as f64);
    line(&mut page, "range", &from, "88%", &to, "88%");
    for (q, top) in [(0.5, "10%"), (0.99, "60%"), (0.999, "72%")] {
        let place = scale.percent(quantile(q));
        line(&mut page, "quantile", &place, top, &place, "100%");
    }
    page.raw("</svg>");
    page
}
