//! Tables of figures: heads with units, cells with the spread of their blocks, charts in their rows.
//!
//! Takes rows and what to show of each, puts a table on the page; a column that says nothing of any row is left out. End tags
//! that HTML lets one omit are omitted: they are a fifth of a large page. Prevents: a number without its unit, and a median
//! without its spread.

use super::Source;
use super::markup::Markup;
use crate::figures::Figure;
use crate::format::percent;

/// What a cell shows.
pub(crate) enum Shown {
    Nothing,
    Text(String),
    /// Median, and below it how far the blocks lie apart.
    Spread(String, String),
    Chart(Markup),
}

/// A figure with the range of its blocks, where that does not read the same as the median.
pub(crate) fn ranged(figure: Option<Figure>, form: impl Fn(f64) -> String) -> Shown {
    let Some(figure) = figure else {
        return Shown::Nothing;
    };
    let (median, low, high) = (
        zeroed(form(figure.median)),
        zeroed(form(figure.low)),
        zeroed(form(figure.high)),
    );
    if low == high {
        Shown::Text(median)
    } else {
        // The unit is said once where it is one.
        let unit = low
            .rsplit_once(' ')
            .filter(|(_, unit)| high.ends_with(&format!(" {unit}")));
        Shown::Spread(median, format!("{} to {high}", unit.map_or(&*low, |(value, _)| value)))
    }
}

/// A figure with the largest deviation of a block from it: shorter, for what is not compared itself.
pub(crate) fn shown(figure: Option<Figure>, form: impl Fn(f64) -> String) -> Shown {
    let Some(figure) = figure else {
        return Shown::Nothing;
    };
    let median = zeroed(form(figure.median));
    let far = (figure.high - figure.median).max(figure.median - figure.low);
    if median == "0" || far <= 0.0 || form(figure.low) == form(figure.high) {
        return Shown::Text(median);
    }
    Shown::Spread(median, format!("\u{b1} {}", percent(far / figure.median.abs())))
}

/// Next to nothing is nothing.
fn zeroed(text: String) -> String {
    if text.parse::<f64>().is_ok_and(|value| value.abs() < 0.005) {
        "0".into()
    } else {
        text
    }
}

/// One column.
pub(crate) struct Column<'a, R> {
    title: &'a str,
    unit: &'a str,
    /// An axis, for charts.
    axis: Option<Markup>,
    words: bool,
    compared: bool,
    cell: Box<dyn Fn(&R) -> Shown + 'a>,
}

impl<R> Column<'_, R> {
    /// With the axis of the charts in it.
    pub(crate) fn headed(mut self, axis: Markup) -> Self {
        self.axis = Some(axis);
        self
    }

    /// Of what is compared: it keeps its spread on a lean page too.
    pub(crate) fn compared(mut self) -> Self {
        self.compared = true;
        self
    }

    /// Of words, which begin at the left.
    pub(crate) fn of_words(mut self) -> Self {
        self.words = true;
        self
    }
}

pub(crate) fn column<'a, R>(title: &'a str, unit: &'a str, cell: impl Fn(&R) -> Shown + 'a) -> Column<'a, R> {
    Column {
        title,
        unit,
        axis: None,
        words: false,
        compared: false,
        cell: Box::new(cell),
    }
}

/// What stands around the rows.
pub(crate) struct Frame<'a> {
    pub(crate) caption: &'a str,
    /// Head of the first column.
    pub(crate) first: &'a str,
    /// Without the spreads, but those of columns that are compared.
    pub(crate) lean: bool,
}

/// The frame of a table of this page.
pub(crate) fn framed<'a>(source: &Source<'_>, caption: &'a str, first: &'a str) -> Frame<'a> {
    Frame {
        caption,
        first,
        lean: source.lean,
    }
}

/// The table; `name` puts the head cell of a row.
pub(crate) fn table<R>(
    page: &mut Markup,
    frame: &Frame<'_>,
    rows: &[R],
    columns: &[Column<'_, R>],
    name: impl Fn(&mut Markup, &R),
) {
    let cells: Vec<(&Column<'_, R>, Vec<Shown>)> = columns
        .iter()
        .map(|column| {
            (
                column,
                rows.iter().map(|row| (column.cell)(row)).collect::<Vec<Shown>>(),
            )
        })
        .filter(|(_, cells)| !cells.iter().all(says_nothing))
        .collect();
    page.open(
        "div",
        &[
            ("class", "wide"),
            ("tabindex", "0"),
            ("role", "region"),
            ("aria-label", frame.caption),
        ],
    );
    page.raw("<table class=figures>");
    page.element("caption", &[], frame.caption);
    page.raw("<thead><tr>");
    page.element("th", &[("scope", "col")], frame.first);
    for (column, _) in &cells {
        head(page, column);
    }
    page.raw("</thead><tbody>");
    for (place, row) in rows.iter().enumerate() {
        page.raw("<tr><th scope=row>");
        name(page, row);
        for (column, cells) in &cells {
            cell(page, &cells[place], column.words, frame.lean && !column.compared);
        }
    }
    page.raw("</tbody></table></div>");
}

fn head<R>(page: &mut Markup, column: &Column<'_, R>) {
    match &column.axis {
        Some(axis) => {
            page.raw("<th scope=col class=chart>");
            page.element("span", &[("class", "sr")], column.title);
            page.add(axis);
        }
        None => {
            page.raw(if column.words {
                "<th scope=col class=t>"
            } else {
                "<th scope=col>"
            });
            page.text(column.title);
            page.element("span", &[("class", "unit")], column.unit);
        }
    }
}

fn says_nothing(cell: &Shown) -> bool {
    matches!(cell, Shown::Nothing) || matches!(cell, Shown::Text(text) if text == "0" || text.is_empty())
}

fn cell(page: &mut Markup, shown: &Shown, words: bool, lean: bool) {
    match shown {
        Shown::Nothing => page.raw(if words { "<td class=t>-" } else { "<td>-" }),
        Shown::Text(text) => {
            page.raw(if words { "<td class=t>" } else { "<td>" });
            page.text(text);
        }
        Shown::Spread(median, spread) => {
            page.raw("<td>");
            page.text(median);
            if !lean {
                page.element("i", &[], spread);
            }
        }
        Shown::Chart(chart) => {
            page.raw("<td class=chart>");
            page.add(chart);
        }
    }
}

/// Name of a stack with the mark in which it is drawn.
/// A table with a stack at the head of each row.
pub(crate) fn stack_table<R>(
    page: &mut Markup,
    source: &Source<'_>,
    caption: &str,
    rows: &[R],
    columns: &[Column<'_, R>],
    stack: impl Fn(&R) -> &str,
) {
    table(page, &framed(source, caption, "Stack"), rows, columns, |page, row| {
        stack_name(page, &source.mark(stack(row)), stack(row));
    });
}

pub(crate) fn stack_name(page: &mut Markup, mark: &str, name: &str) {
    page.open("span", &[("class", &format!("k {mark}"))]);
    page.text(name);
    page.close("span");
}

/// Phases shown at once; the others are folded.
const OPEN_MAX: usize = 8;

/// A part of a section for one phase, folded when there are many.
pub(crate) fn phase_part(page: &mut Markup, place: usize, count: usize, title: &str, about: &str, body: &Markup) {
    if count <= OPEN_MAX {
        page.raw("<div class=phase><h3>");
        page.text(title);
        page.element("span", &[("class", "aside")], about);
        page.raw("</h3>");
        page.add(body);
        page.raw("</div>\n");
        return;
    }
    page.raw(if place < 2 {
        "<details class=phase open>"
    } else {
        "<details class=phase>"
    });
    page.raw("<summary><h3>");
    page.text(title);
    page.element("span", &[("class", "aside")], about);
    page.raw("</h3></summary>");
    page.add(body);
    page.raw("</details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::number;

    #[test]
    fn the_spread_stands_with_the_median() {
        let figure = Figure::of([Some(100.0), Some(101.0), Some(98.0)]);
        assert!(matches!(shown(figure, number), Shown::Spread(median, far) if median == "100" && far == "\u{b1} 2 %"));
        assert!(matches!(ranged(figure, number), Shown::Spread(_, range) if range == "98.0 to 101"));
        assert!(matches!(shown(Figure::of([Some(0.001)]), number), Shown::Text(text) if text == "0"));
        assert!(matches!(ranged(None, number), Shown::Nothing));
    }
}
