//! Distributions of latency: the shape of each with its percentiles, a row a stack.
//!
//! Takes the whole histograms of all blocks, gives the section. Prevents: two populations hidden behind one percentile, and
//! service taken for response.

use super::figure_cells::{Column, Shown, column, framed, phase_part, ranged, stack_name, table};
use super::markup::Markup;
use super::scale::{LogScale, axis};
use super::{Section, Source};
use crate::analysis::{PhaseReport, ReportError};
use crate::cells::Metric;
use crate::format::{nanoseconds, number};
use crate::history::Seen;
use crate::latency::{Latency, in_order, of_stamp, whole};
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
    let stamps: &[Stamp] = match (is_scheduled(phase), source.lean) {
        (true, false) => &[Stamp::Response, Stamp::Service],
        (true, true) => &[Stamp::Response],
        (false, _) => &[Stamp::Service],
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
    classes.sort_by(|(a, _), (b, _)| in_order(a).cmp(&in_order(b)));
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
    let axis = axis(&scale, &scale.decades(), 0.16, |mark| {
        nanoseconds(mark).replace(".00", "").replace(".0", "")
    });
    let full = |shown: Shown| if source.lean { Shown::Nothing } else { shown };
    let columns: Vec<Column<'_, Spread>> = vec![
        column("distribution", "", |row: &Spread| {
            Shown::Chart(shape(row, &scale, &source.mark(&row.stack), source.lean))
        })
        .headed(axis),
        column("stamps", "", |row: &Spread| {
            if scheduled {
                Shown::Text(row.latency.stamp.clone())
            } else {
                Shown::Nothing
            }
        })
        .of_words(),
        column("p50", "", |row: &Spread| ranged(row.latency.p50_ns, nanoseconds)),
        column("p95", "", |row: &Spread| full(ranged(row.latency.p95_ns, nanoseconds))),
        column("p99", "", |row: &Spread| ranged(row.latency.p99_ns, nanoseconds)),
        column("p99.9", "", |row: &Spread| {
            full(ranged(row.latency.p999_ns, nanoseconds))
        }),
        column("slowest", "", |row: &Spread| ranged(row.latency.max_ns, nanoseconds)),
        column("number", "operations", |row: &Spread| {
            Shown::Text(number(row.latency.count as f64))
        }),
    ];
    let what = if scheduled { "latency" } else { "service time" };
    let caption = format!("{class}: {what} in {}", phase.name);
    table(part, &framed(source, &caption, class), rows, &columns, |page, row| {
        stack_name(page, &source.mark(&row.stack), &row.stack);
    });
}

/// Parts of the axis in which operations are counted.
const PARTS: usize = 72;
const PARTS_LEAN: usize = 28;
/// Height of the drawing, and of the line on which the shape stands.
const HEIGHT: f64 = 30.0;
const FLOOR: f64 = 24.0;

fn shape(row: &Spread, scale: &LogScale, mark: &str, lean: bool) -> Markup {
    let parts = if lean { PARTS_LEAN } else { PARTS };
    let mut counts = vec![0u64; parts];
    for step in row.histogram.iter_recorded() {
        let part = (scale.place(step.value_iterated_to() as f64) * parts as f64) as usize;
        let part = &mut counts[part.min(parts - 1)];
        *part = part.saturating_add(step.count_at_value());
    }
    let across = |value: f64| format!("{:.1}", scale.place(value) * parts as f64);
    let quantile = |q: f64| row.histogram.value_at_quantile(q) as f64;
    let mut marks = format!(
        "M{},27H{}",
        across(row.histogram.min() as f64),
        across(row.histogram.max() as f64)
    );
    // Median tall, p99 and p99.9 short.
    for (q, top) in [(0.5, 3), (0.99, 18), (0.999, 22)] {
        marks.push_str(&format!("M{},{top}V{HEIGHT}", across(quantile(q))));
    }
    let mut page = Markup::new();
    let view = format!("0 0 {parts} {HEIGHT}");
    page.open(
        "svg",
        &[
            ("class", "shape"),
            ("viewBox", &view),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ],
    );
    page.empty("path", &[("class", mark), ("d", &steps(&counts))]);
    page.empty("path", &[("class", "q"), ("d", &marks)]);
    page.close("svg");
    page
}

/// The outline of a histogram: a step a part, each relative to the one before, equal ones in one.
fn steps(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    let mut path = format!("M{first},{FLOOR}");
    let (mut level, mut run) = (0, 0);
    for count in &counts[first..=last] {
        let next = (*count as f64 / most * (FLOOR - 1.0)).round() as i64;
        if next != level {
            if run > 0 {
                path.push_str(&format!("h{run}"));
            }
            path.push_str(&format!("v{}", level - next));
            (level, run) = (next, 0);
        }
        run += 1;
    }
    path.push_str(&format!("h{run}v{level}z"));
    path
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn the_outline_closes() {
        assert_eq!(steps(&[0, 1, 1, 4, 0, 0]), "M1,24v-6h2v-17h1v23z");
        assert_eq!(steps(&[0, 0]), "M0,24h1v0z");
    }
}
