//! The report for a terminal: text that fits, the answer first.
//!
//! Takes the [`Document`] and a [`Style`], gives text; no line is wider than asked. A table too wide becomes several,
//! each with the names of its rows. The one screen is the same document, of which it shows fewer blocks. Prevents: a
//! table that the terminal folds until nobody can read it.

use super::grid::fold;
use super::page::{CELL_MAX, GAP, INDENT, NAME_MAX, Page, clipped, paint, paint_bold, plain, tone_paint, width};
use super::{Lettered, Letters, grid, lettered_columns, rows_of, spark};
use crate::document::{Block, Chart, Document, Forms, Item, Placed, Scatter, Table, shown};
use crate::text::escaped;
use anstyle::AnsiColor;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; below 20 it is taken as 20.
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
    /// Letters beyond ASCII, for the small lines of rates over time.
    pub utf8: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            width: 80,
            colour: false,
            utf8: false,
        }
    }
}

const NARROWEST: usize = 20;
const FORM: Forms = Forms::TERMINAL;

/// The whole report, the answer first. Ends with a newline.
pub(crate) fn terminal(document: &Document, style: &Style) -> String {
    printed(document, style, FORM)
}

/// The answer on one screen. Ends with where the rest is, and a newline.
pub(crate) fn brief(document: &Document, style: &Style) -> String {
    printed(document, style, Forms::BRIEF)
}

fn printed(document: &Document, style: &Style, form: Forms) -> String {
    let mut page = Page {
        form,
        lines: Vec::new(),
        width: style.width.max(NARROWEST),
        colour: style.colour,
        utf8: style.utf8,
    };
    page.say(&document.question, 0, plain());
    page.say(&document.answer, 0, paint_bold());
    for block in shown(&document.opening, form) {
        match block {
            Block::Text(text) => page.say(text, 2, plain()),
            Block::Warning(text) => page.say(text, 2, paint(AnsiColor::Yellow)),
            other => put(&mut page, other, false),
        }
    }
    for section in document.read_from_the_top() {
        if section.shown(form).next().is_some() && !section.title.is_empty() {
            page.title(&section.title);
        }
        blocks(&mut page, &section.blocks);
    }
    if form == Forms::BRIEF && !document.rest.is_empty() {
        page.blank();
        page.say(&document.rest, 2, plain());
    }
    let mut text = page.lines.join("\n");
    text.push('\n');
    text
}

fn blocks(page: &mut Page, blocks: &[Placed]) {
    let mut after_chart = false;
    for block in shown(blocks, page.form) {
        put(page, block, after_chart);
        after_chart = matches!(block, Block::Chart(_));
    }
}

fn put(page: &mut Page, block: &Block, after_chart: bool) {
    match block {
        Block::Text(text) | Block::Warning(text) => {
            page.blank();
            page.say(text, 0, plain());
        }
        Block::Note(text) => page.say(&format!("  {text}"), 2, plain()),
        Block::Label(text) => page.say(&format!("  {text}:"), 2, plain()),
        Block::List(items) => {
            if after_chart {
                page.blank();
            }
            items.iter().for_each(|one| item(page, one));
        }
        Block::Facts(facts) => facts
            .iter()
            .for_each(|(name, value)| page.say(&format!("  {name}: {value}"), 4, plain())),
        Block::Tally(..) => {}
        Block::Table(one) if grid::is_grid(one) => grid::grid(page, one),
        Block::Table(one) => table(page, one),
        Block::Chart(Chart::Scatters(all)) => scatters(page, all),
        // Their figures stand in tables.
        Block::Chart(Chart::Lines(_) | Chart::OverTime(_)) => {}
        Block::Verbatim(text) => text.lines().for_each(|line| page.say(&format!("  {line}"), 4, plain())),
        Block::Part(part) => {
            part.heading().iter().for_each(|heading| page.title(heading));
            blocks(page, &part.blocks);
        }
    }
}

/// Letters of a small line at the end of an item.
const SPARK_MAX: usize = 40;

fn item(page: &mut Page, one: &Item) {
    let drawn = spark(&one.series, SPARK_MAX, page.utf8).map_or(String::new(), |drawn| format!(" {drawn}"));
    match &one.tag {
        Some((tag, tone)) => page.say_marked(&format!("  {tag} {}{drawn}", one.text), 4, tag, tone_paint(*tone)),
        None => page.say(&format!("  {}{drawn}", one.text), 4, plain()),
    }
}

/// A column of lines: head, unit, cells.
struct Stripe<'a> {
    lettered: &'a Lettered<'a>,
    lines: Vec<String>,
    width: usize,
}

/// Broken where the width or the table itself asks for it.
fn table(page: &mut Page, table: &Table) {
    let letters = Letters {
        most: if page.width < 72 { 6 } else { 12 },
        utf8: page.utf8,
    };
    let columns = lettered_columns(table, FORM, letters);
    let names: Vec<String> = rows_of(table, FORM).map(|row| escaped(&table.rows[row].text)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let name_width = widest.min(NAME_MAX).min(page.width / 3);
    let names: Vec<Vec<String>> = names.iter().map(|name| fold(name, name_width)).collect();
    let stripes: Vec<Stripe<'_>> = columns.iter().map(stripe).collect();
    let mut rest = &stripes[..];
    while !rest.is_empty() {
        let mut used = INDENT + name_width;
        let mut fit = 0;
        while fit < rest.len()
            && used + GAP + rest[fit].width <= page.width
            && !(fit > 0 && rest[fit].lettered.column.breaks)
        {
            used += GAP + rest[fit].width;
            fit += 1;
        }
        let (now, later) = rest.split_at(fit.max(1));
        lines(page, &names, name_width, now, table);
        rest = later;
    }
}

fn stripe<'a>(lettered: &'a Lettered<'a>) -> Stripe<'a> {
    let cell = |text: &Option<String>| {
        text.as_ref()
            .map_or_else(|| "-".into(), |text| clipped(&escaped(text), CELL_MAX))
    };
    let heads = [escaped(&lettered.column.head), escaped(&lettered.column.unit)];
    let lines: Vec<String> = heads.into_iter().chain(lettered.texts.iter().map(cell)).collect();
    Stripe {
        width: lines.iter().map(|line| width(line)).max().unwrap_or(0),
        lettered,
        lines,
    }
}

/// The lines of columns that stand side by side: two of heads, one a row.
fn lines(page: &mut Page, names: &[Vec<String>], name_width: usize, stripes: &[Stripe<'_>], table: &Table) {
    let none = Vec::new();
    let heads = [&none, &none].into_iter().chain(names);
    let rows: Vec<Option<usize>> = [None, None].into_iter().chain(rows_of(table, FORM).map(Some)).collect();
    for (nth, folded) in heads.enumerate() {
        let name = folded.first().map_or("", String::as_str);
        let mut line = format!("{}{name}{}", " ".repeat(INDENT), " ".repeat(name_width - width(name)));
        for stripe in stripes {
            let text = &stripe.lines[nth];
            line.push_str(&" ".repeat(GAP + stripe.width - width(text)));
            line.push_str(text);
        }
        let line = clipped(line.trim_end(), page.width);
        // A word that says something by itself is painted where it ends the line.
        let last = stripes
            .last()
            .zip(rows[nth])
            .map(|(stripe, row)| &stripe.lettered.column.cells[row]);
        match last {
            Some(crate::document::Cell::Tagged(word, tone)) => page.put_ending(&line, word, tone_paint(*tone)),
            _ if line.is_empty() => {}
            _ => page.put(line, plain()),
        }
        for rest in folded.iter().skip(1) {
            page.put(format!("{}{rest}", " ".repeat(INDENT)), plain());
        }
    }
}

const STRIP_MAX: usize = 56;
const STRIP_MIN: usize = 16;
const MOMENT_MAX: usize = 16;

/// Each as a strip: a letter a part, as high as its place. One point for each letter, never a mean: of scattered places
/// the mean is always the middle.
fn scatters(page: &mut Page, all: &[Scatter]) {
    let clip = |text: &str| clipped(&escaped(text), MOMENT_MAX);
    let heads: Vec<[String; 2]> = all.iter().map(|one| [clip(&one.name.text), clip(&one.after)]).collect();
    let [names, moments] = [0, 1].map(|nth| heads.iter().map(|head| width(&head[nth])).max().unwrap_or(0));
    let room = page.width.saturating_sub(names + moments + 6).min(STRIP_MAX);
    if all.is_empty() || room < STRIP_MIN {
        return;
    }
    page.blank();
    for (one, [name, moment]) in all.iter().zip(heads) {
        let (after_name, after_moment) = (names - width(&name), moments - width(&moment));
        let strip = strip(&one.points, room, page.utf8);
        page.put(
            format!("  {name}{:after_name$}  {moment}{:after_moment$}  {strip}", "", ""),
            plain(),
        );
    }
}

fn strip(points: &[Option<(f64, f64)>], letters: usize, utf8: bool) -> String {
    let count = points.len();
    let letters = letters.min(count);
    let point = |nth: usize| points[(2 * nth + 1) * count / (2 * letters)];
    let letter = |nth: usize| point(nth).map_or(' ', |(_, height)| super::spark::letter(height, utf8));
    (0..letters).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Name, column};

    #[test]
    fn a_wide_table_is_split() {
        let rows = ["ext4", "a-very-long-name-of-a-stack"];
        let columns = (0..12).map(|nth| {
            column("rate", "op/s", move |row: &&str| {
                Cell::maybe((*row == "ext4").then(|| format!("{nth},000,000")))
            })
        });
        let one = Table::of("rates", "stack", &rows, |row| Name::from(*row), columns);
        for width_asked in [24, 40, 60, 80] {
            let mut page = Page {
                form: FORM,
                lines: Vec::new(),
                width: width_asked,
                colour: false,
                utf8: false,
            };
            table(&mut page, &one);
            assert!(
                page.lines.iter().all(|line| width(line) <= width_asked),
                "{:#?}",
                page.lines
            );
            let text = page.lines.join("\n");
            assert!((0..12).all(|nth| text.contains(&format!("{nth},000,000"))), "{text}");
        }
    }

    #[test]
    fn a_ramp_is_a_ramp_in_every_band() {
        // Two bands in turn, each filled from its begin to its end.
        let points: Vec<_> = (0..512)
            .map(|nth| Some((f64::from(nth % 2), f64::from(nth) / 512.0)))
            .collect();
        assert_eq!(strip(&points, 16, true), "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██");
        assert_eq!(strip(&points, 8, false), "_.:-=+*#");
        assert_eq!(strip(&[None; 512], 4, true), "    ");
    }
}
