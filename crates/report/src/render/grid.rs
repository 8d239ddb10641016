//! A table of verdicts for a terminal: as many lines as they need, and no more columns than fit.
//!
//! Takes a table whose cells are verdicts, puts lines on a page: a line a row where that fits, else two, the ratio with
//! its verdict over the interval. Names fold to two lines; of a longer one the middle is left out, marked by `~`.
//! Prevents: two columns whose names read the same, and a verdict without its interval.

use super::page::{CELL_MAX, GAP, INDENT, NAME_MAX, Page, clipped, plain, tone_paint, width, wrapped};
use super::{Letters, lettered, rows_of};
use crate::document::{Cell, Cells, Forms, Table};
use crate::format::ratio;
use crate::grouped::distinct;
use crate::text::escaped;
use anstyle::Style as Paint;
use unicode_width::UnicodeWidthChar;

/// Lines of a name at most.
const FOLDS: usize = 2;
/// Room that is left to the names of rows.
const NAME_MIN: usize = 10;

/// Whether a table is one of verdicts.
pub(super) fn is_grid(table: &Table) -> bool {
    let mut cells = table.columns.iter().flat_map(|column| &column.cells);
    cells.any(|cell| matches!(cell, Cell::Verdict(..)))
}

/// A column: lines of its head, and of each of its rows, of which the first ends with the painted word.
struct Stripe {
    head: Vec<String>,
    rows: Vec<Vec<(String, Paint)>>,
    width: usize,
}

pub(super) fn grid(page: &mut Page, table: &Table) {
    let rows: Vec<usize> = rows_of(table, Forms::TERMINAL).collect();
    let names: Vec<String> = rows.iter().map(|row| escaped(&table.rows[*row].text)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let needed = |stripes: &[Stripe]| stripes.iter().map(|one| GAP + one.width).sum::<usize>();
    let one_line = stripes(&table.columns, &rows, |cell| vec![whole(cell)]);
    if widest <= NAME_MAX && INDENT + widest + needed(&one_line) <= page.width {
        return put(page, &names, widest, &one_line);
    }
    let folded = stripes(&table.columns, &rows, over_its_interval);
    let mut rest = &folded[..];
    while !rest.is_empty() {
        let least = widest.min(NAME_MIN);
        let mut used = INDENT + least;
        let fits = |one: &&Stripe| {
            used += GAP + one.width;
            used <= page.width
        };
        let many = rest.iter().take_while(fits).count();
        let (now, later) = rest.split_at(many.max(1));
        let left = page.width.saturating_sub(INDENT + needed(now));
        put(page, &names, left.clamp(least, widest.min(NAME_MAX).max(least)), now);
        rest = later;
    }
}

fn stripes(columns: &[Cells], rows: &[usize], lines: fn(&Cell) -> Vec<(String, Paint)>) -> Vec<Stripe> {
    let cells = columns.iter().map(|column| -> Vec<_> {
        let of = |row: &usize| lines(&column.cells[*row]);
        rows.iter().map(of).collect()
    });
    let cells: Vec<Vec<Vec<(String, Paint)>>> = cells.collect();
    let cell_width = |rows: &Vec<Vec<(String, Paint)>>| {
        let lines = rows.iter().flatten().map(|(text, _)| width(text));
        lines.max().unwrap_or(0).max(NAME_MIN)
    };
    let heads = columns.iter().zip(&cells);
    let mut heads: Vec<Vec<String>> = heads
        .map(|(column, rows)| fold(&escaped(&column.head), cell_width(rows)))
        .collect();
    // Names that only their middle tells apart keep it.
    if distinct(heads.iter().collect::<Vec<_>>()).len() < heads.len() {
        heads = columns.iter().map(|one| fold(&escaped(&one.head), CELL_MAX)).collect();
    }
    let put_together = heads.into_iter().zip(cells).map(|(head, rows)| Stripe {
        width: head.iter().map(|line| width(line)).fold(cell_width(&rows), usize::max),
        head,
        rows,
    });
    put_together.collect()
}

fn whole(cell: &Cell) -> (String, Paint) {
    let text = lettered(cell, Letters { most: 0, utf8: false }).unwrap_or_else(|| "-".into());
    (escaped(&text), painted(cell))
}

fn painted(cell: &Cell) -> Paint {
    match cell {
        Cell::Verdict(.., tone) => tone_paint(*tone),
        _ => plain(),
    }
}

/// The ratio and the word; below, the interval.
fn over_its_interval(cell: &Cell) -> Vec<(String, Paint)> {
    let Cell::Verdict(Some(interval), word, _) = cell else {
        return vec![whole(cell)];
    };
    let first = (
        format!("{} {word}", ratio(interval.ratio)).trim_end().into(),
        painted(cell),
    );
    let end = |end: Option<f64>, beyond: &str| end.map_or(beyond.into(), ratio);
    let ends = (interval.low.is_some() || interval.high.is_some())
        .then(|| format!("{}-{}", end(interval.low, "0"), end(interval.high, "unbounded")))
        .map(|ends| (ends, plain()));
    [first].into_iter().chain(ends).collect()
}

/// At most two lines: words where they fit, else the beginning and the end of the name.
pub(super) fn fold(text: &str, limit: usize) -> Vec<String> {
    let lines = wrapped(text, limit, 0);
    if lines.len() <= FOLDS {
        return lines;
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= limit
    };
    let end: Vec<char> = text.chars().rev().take_while(fits).collect();
    let end: String = end.into_iter().rev().collect();
    let begin = clipped(text, limit);
    vec![begin.trim_end_matches('~').into(), format!("~{end}")]
}

/// The lines of columns that stand side by side.
fn put(page: &mut Page, names: &[String], name_width: usize, stripes: &[Stripe]) {
    let heads: Vec<Vec<(String, Paint)>> = stripes
        .iter()
        .map(|one| one.head.iter().map(|line| (line.clone(), plain())).collect())
        .collect();
    row(page, &[], name_width, stripes, &heads.iter().collect::<Vec<_>>());
    for (nth, name) in names.iter().enumerate() {
        let cells: Vec<&Vec<(String, Paint)>> = stripes.iter().map(|one| &one.rows[nth]).collect();
        row(page, &fold(name, name_width), name_width, stripes, &cells);
    }
}

fn row(page: &mut Page, name: &[String], name_width: usize, stripes: &[Stripe], cells: &[&Vec<(String, Paint)>]) {
    let height = cells.iter().map(|cell| cell.len()).max().unwrap_or(0).max(name.len());
    for line in 0..height {
        let text = name.get(line).map_or("", String::as_str);
        let gap = " ".repeat(name_width.saturating_sub(width(text)));
        let mut parts = vec![(format!("{}{text}{gap}", " ".repeat(INDENT)), plain())];
        for (stripe, cell) in stripes.iter().zip(cells) {
            let (text, paint) = cell.get(line).map_or(("", plain()), |(text, paint)| (text, *paint));
            let text = clipped(
                text,
                stripe.width.min(page.width.saturating_sub(INDENT + name_width + GAP)),
            );
            let gap = " ".repeat(stripe.width.saturating_sub(width(&text)));
            parts.push((" ".repeat(GAP), plain()));
            parts.push((text, paint));
            parts.push((gap, plain()));
        }
        page.put_parts(&parts);
    }
}
