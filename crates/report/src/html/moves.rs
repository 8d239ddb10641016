//! Phases that move data: copies between stacks, and rebalances inside a disk group while work went on.
//!
//! Takes the cells that moved something, gives the section. Prevents: a rebalance praised for a speed that the work beside it
//! paid for, and a copy whose reads at the target nobody saw.

use super::figure_cells::{Column, Shown, column, framed, ranged, shown, stack_name, table};
use super::markup::Markup;
use super::scale::{LogScale, axis};
use super::work::megabytes;
use super::{Section, Source};
use crate::cells::Cell;
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number};
use crate::layouts::whole;
use crate::moves::{CopyFigures, RebalanceFigures};

/// A stack in a phase that moved data.
struct Row<'a> {
    phase: &'a str,
    cell: &'a Cell,
}

impl Row<'_> {
    fn copy(&self, pick: impl Fn(&CopyFigures) -> Option<Figure>) -> Option<Figure> {
        self.cell.copy.as_ref().and_then(pick)
    }

    fn rebalance(&self, pick: impl Fn(&RebalanceFigures) -> Option<Figure>) -> Option<Figure> {
        self.cell.rebalance.as_ref().and_then(pick)
    }

    /// Rate of the work in a window of the rebalance.
    fn rate(&self, window: &str) -> Option<Figure> {
        let windows = &self.cell.rebalance.as_ref()?.windows;
        windows.iter().find(|one| one.name == window)?.operations_per_s
    }

    /// The slowest class's p99 in a window.
    fn p99(&self, window: &str) -> Option<Figure> {
        let mine = |class: &str| class.rsplit(' ').next() == Some(window);
        let of = self.cell.latency.iter().filter(|one| mine(&one.class));
        of.filter_map(|one| one.p99_ns)
            .max_by(|a, b| a.median.total_cmp(&b.median))
    }
}

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let rows = |moved: fn(&Cell) -> bool| -> Vec<Row<'_>> {
        let phases = source.analysis.phases.iter();
        phases
            .flat_map(|phase| {
                phase.cells.iter().map(|cell| Row {
                    phase: &phase.name,
                    cell,
                })
            })
            .filter(|row| moved(row.cell))
            .collect()
    };
    let mut body = Markup::new();
    copies(&mut body, source, &rows(|cell| cell.copy.is_some()));
    rebalances(&mut body, source, &rows(|cell| cell.rebalance.is_some()));
    Section::new("moves", "Moves", body)
}

fn phase<'a>() -> Column<'a, Row<'a>> {
    column("phase", "", |row: &Row<'_>| Shown::Text(row.phase.to_string())).of_words()
}

fn copies(body: &mut Markup, source: &Source<'_>, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    body.raw("<h3>Copies of the database</h3>");
    let columns: Vec<Column<'_, Row<'_>>> = vec![
        phase(),
        column("copied", "", |row: &Row<'_>| shown(row.copy(|copy| copy.bytes), bytes)),
        column("rate", "MB/s", |row: &Row<'_>| {
            ranged(row.copy(|copy| copy.bytes_per_s), megabytes)
        }),
        column("time", "s", |row: &Row<'_>| {
            shown(row.copy(|copy| copy.seconds), number)
        }),
        column("over", "", |row: &Row<'_>| match row.copy(|copy| copy.over_existing) {
            Some(code) if code.median >= 0.5 => Shown::Text("what was there".into()),
            Some(_) => Shown::Text("new files".into()),
            None => Shown::Nothing,
        })
        .of_words(),
        column("source", "read", |row: &Row<'_>| {
            shown(row.copy(|copy| copy.source.read_bytes), bytes)
        }),
        column("source", "written", |row: &Row<'_>| {
            shown(row.copy(|copy| copy.source.write_bytes), bytes)
        }),
        column("target", "read", |row: &Row<'_>| {
            shown(row.copy(|copy| copy.target.read_bytes), bytes)
        }),
        column("target", "written", |row: &Row<'_>| {
            shown(row.copy(|copy| copy.target.write_bytes), bytes)
        }),
        column("read back", "and found the same", |row: &Row<'_>| {
            match row.copy(|copy| copy.verified_bytes) {
                Some(verified) => Shown::Text(bytes(verified.median)),
                None => Shown::Text("no".into()),
            }
        }),
    ];
    table(
        body,
        &framed(source, "Copies of the database", "Stack"),
        rows,
        &columns,
        |page, row| {
            stack_name(page, &source.mark(&row.cell.stack), &row.cell.stack);
        },
    );
    body.raw(
        "<p class=\"quiet\">Read and written: by the devices nearest to each side, where the sides share none. A target that reads has to \
         look at what it overwrites.</p>",
    );
}

const WINDOWS: [&str; 3] = ["before", "during", "after"];

fn rebalances(body: &mut Markup, source: &Source<'_>, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    body.raw("<h3>Rebalances, and the work beside them</h3>");
    let slowest: Vec<f64> = rows
        .iter()
        .flat_map(|row| WINDOWS.map(|window| row.p99(window)))
        .flatten()
        .map(|figure| figure.median)
        .collect();
    let scale = LogScale::over(slowest.iter().copied()).map(|scale| match scale.high() / scale.low() {
        narrow if narrow < 4.0 => LogScale::between(scale.low() / 1.6, scale.high() * 1.6),
        _ => scale,
    });
    let mut columns: Vec<Column<'_, Row<'_>>> = vec![
        phase(),
        column("moved", "", |row: &Row<'_>| {
            shown(row.rebalance(|one| one.moved_bytes), bytes)
        }),
        column("ideal", "", |row: &Row<'_>| {
            shown(row.rebalance(|one| one.ideal_bytes), bytes)
        }),
        column("moved", "per ideal", |row: &Row<'_>| {
            ranged(row.rebalance(|one| one.moved_per_ideal), number)
        }),
        column("time", "s", |row: &Row<'_>| {
            ranged(row.rebalance(|one| one.seconds), number)
        }),
        column("power", "I/Os in flight", |row: &Row<'_>| {
            shown(row.rebalance(|one| one.power), whole)
        }),
    ];
    for window in WINDOWS {
        columns.push(column("op/s", window, move |row: &Row<'_>| {
            shown(row.rate(window), number)
        }));
    }
    if let Some(scale) = scale {
        let marks = scale.decades();
        let chart = column("p99 of the slowest class", "", move |row: &Row<'_>| {
            Shown::Chart(steps(row, &scale, &source.mark(&row.cell.stack)))
        });
        columns.push(chart.headed(axis(&scale, &marks, 0.3, nanoseconds)));
    }
    for window in WINDOWS {
        columns.push(column("p99", window, move |row: &Row<'_>| {
            shown(row.p99(window), nanoseconds)
        }));
    }
    table(
        body,
        &framed(source, "Rebalances", "Stack"),
        rows,
        &columns,
        |page, row| {
            stack_name(page, &source.mark(&row.cell.stack), &row.cell.stack);
        },
    );
    body.raw(
        "<p class=\"quiet\">Ideal: bytes that had to move so that every disk holds its share by size. p99: service of the slowest class of \
         operation, on a logarithmic axis; ring: before, dot: during, tick: after. All classes stand under Latency.</p>",
    );
}

fn steps(row: &Row<'_>, scale: &LogScale, mark: &str) -> Markup {
    let mut page = Markup::new();
    page.raw("<svg class=dumbbell aria-hidden=true>");
    page.open("g", &[("class", mark)]);
    let place = |window: &str| row.p99(window).map(|figure| scale.percent(figure.median));
    let [before, during, after] = WINDOWS.map(place);
    if let (Some(from), Some(to)) = (&before, &during) {
        super::forest::line(&mut page, "way", from, "50%", to, "50%");
    }
    if let Some(x) = &after {
        super::forest::line(&mut page, "way", x, "15%", x, "85%");
    }
    for (place, class, radius) in [(during, "end", "4"), (before, "begin", "6")] {
        if let Some(x) = place {
            page.empty("circle", &[("class", class), ("cx", &x), ("cy", "50%"), ("r", radius)]);
        }
    }
    page.raw("</g></svg>");
    page
}
