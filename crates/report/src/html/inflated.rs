//! I/O inflation: requests and bytes at the nearest devices for each that the engine sent, by sort.
//!
//! Takes the cells, puts a table of all phases on the page. Prevents: two rates that look alike, one of which wears the device
//! out twice as fast.

use super::Source;
use super::figure_cells::{Column, Shown, column, framed, shown, stack_name, table};
use super::markup::Markup;
use crate::cells::Cell;
use crate::figures::Figure;
use crate::format::{number, percent};
use crate::inflation::{Inflated, Inflation};

/// More rows are folded.
const ROWS_OPEN_MAX: usize = 60;
/// On a lean page, rows at most; only of those with something to tell.
const LEAN_ROWS: usize = 150;
/// A request or byte more or less in so many is nothing to tell.
const NOTHING: f64 = 0.02;

/// A stack in a phase.
struct Row<'a> {
    phase: &'a str,
    cell: &'a Cell,
}

pub(crate) fn part(body: &mut Markup, source: &Source<'_>) {
    let all: Vec<Row<'_>> = source
        .analysis
        .phases
        .iter()
        .flat_map(|phase| {
            phase.cells.iter().map(|cell| Row {
                phase: &phase.name,
                cell,
            })
        })
        .filter(|row| !row.cell.inflation.is_empty())
        .collect();
    if all.is_empty() {
        return;
    }
    let count = all.len();
    let mut rows = all;
    if source.lean {
        rows.retain(|row| tells(&row.cell.inflation));
        rows.truncate(LEAN_ROWS);
    }
    body.raw("<h3 id=inflation>I/O inflation<span class=aside>at the devices nearest to the stack, for each that the engine sent</span></h3>");
    let fold = rows.len() > ROWS_OPEN_MAX;
    if fold {
        body.raw("<details><summary>");
        body.text(&format!("{} of {count} rows", rows.len()));
        body.raw("</summary>");
    }
    rows_of(body, source, &rows);
    if fold {
        body.raw("</details>");
    }
    words(body, source, count - rows.len());
}

/// True when something is not 1.
fn tells(inflation: &Inflation) -> bool {
    let sorts = [
        inflation.reads,
        inflation.data_writes,
        inflation.log_writes,
        inflation.writes,
    ];
    let off = |figure: Figure| (figure.median - 1.0).abs() > NOTHING;
    sorts
        .into_iter()
        .flatten()
        .any(|one| off(one.requests_per_request) || off(one.bytes_per_byte))
}

fn rows_of(body: &mut Markup, source: &Source<'_>, rows: &[Row<'_>]) {
    type Pick = fn(&Inflation) -> Option<Inflated>;
    let of = |pick: Pick, part: fn(&Inflated) -> Figure| {
        move |row: &Row<'_>| shown(pick(&row.cell.inflation).map(|one| part(&one)), number)
    };
    let requests: fn(&Inflated) -> Figure = |one| one.requests_per_request;
    let bytes: fn(&Inflated) -> Figure = |one| one.bytes_per_byte;
    let together: Pick = |one| one.writes.filter(|_| !one.log_apart);
    let columns: Vec<Column<'_, Row<'_>>> = vec![
        column("phase", "", |row: &Row<'_>| Shown::Text(row.phase.to_string())).of_words(),
        column("reads", "requests", of(|one| one.reads, requests)),
        column("reads", "bytes", of(|one| one.reads, bytes)),
        column("data writes", "requests", of(|one| one.data_writes, requests)),
        column("data writes", "bytes", of(|one| one.data_writes, bytes)),
        column("beyond the copies", "byte per byte", |row: &Row<'_>| {
            shown(row.cell.inflation.beyond_per_byte, number)
        }),
        column("log writes", "requests", of(|one| one.log_writes, requests)),
        column("log writes", "bytes", of(|one| one.log_writes, bytes)),
        column("log flushes", "per flush", |row: &Row<'_>| {
            shown(row.cell.inflation.flushes_per_log_flush, number)
        }),
        column("all writes", "requests", of(together, requests)),
        column("all writes", "bytes", of(together, bytes)),
        column("torn pages", "of bytes sent", |row: &Row<'_>| {
            shown(row.cell.inflation.torn_page_share, percent)
        }),
    ];
    table(
        body,
        &framed(source, "I/O inflation by phase and stack", "Stack"),
        rows,
        &columns,
        |page, row| {
            stack_name(page, &source.mark(&row.cell.stack), &row.cell.stack);
        },
    );
}

fn words(body: &mut Markup, source: &Source<'_>, left: usize) {
    body.raw(
        "<p class=\"quiet\">1 is one for one; below 1 requests were merged, bytes compressed or left in a cache. Data and log writes stand apart where they lie on devices of their own. Beyond the copies: \
         bytes written to the data's devices, less the engine's times the copies that the stack keeps, per byte of the engine's. Torn \
         pages: what the engine itself writes twice against them. Reads or writes of less than 1 MiB in a block have no ratio.",
    );
    if left > 0 {
        body.text(&format!(
            " {left} rows where a request is a request and a byte a byte, or beyond {LEAN_ROWS}, are in the JSON form."
        ));
    }
    body.raw("</p>");
    if !source.analysis.not_told_apart.is_empty() {
        body.raw("<p class=\"quiet\">What could not be told apart:</p><ul class=\"quiet\">");
        for line in &source.analysis.not_told_apart {
            body.element("li", &[], line);
        }
        body.raw("</ul>");
    }
}
