//! Tables of figures: heads with units, cells with the range of their blocks.
//!
//! Takes rows and what to show of each, puts a table on the page; a column that says nothing of any row is left out. Prevents:
//! a number without its unit, and a median without its spread.

use super::markup::Markup;
use crate::figures::Figure;

/// What a cell shows.
pub(crate) enum Shown {
    Nothing,
    Text(String),
    /// Median, and the range of the blocks where it is one.
    Spread(String, String),
    Chart(Markup),
}

/// A figure in a form; its range is left out where it reads the same as the median.
pub(crate) fn shown(figure: Option<Figure>, form: impl Fn(f64) -> String) -> Shown {
    let Some(figure) = figure else { return Shown::Nothing };
    // Next to nothing is nothing, however far its blocks are apart.
    let form = |value: f64| {
        let text = form(value);
        if text.parse::<f64>().is_ok_and(|value| value.abs() < 0.005) {
            "0".into()
        } else {
            text
        }
    };
    let (median, low, high) = (form(figure.median), form(figure.low), form(figure.high));
    if low == high {
        Shown::Text(median)
    } else {
        Shown::Spread(median, format!("{low} to {high}"))
    }
}

/// One column.
pub(crate) struct Column<'a, R> {
    pub(crate) title: &'a str,
    pub(crate) unit: &'a str,
    /// An axis, for charts.
    pub(crate) axis: Option<Markup>,
    pub(crate) cell: Box<dyn Fn(&R) -> Shown + 'a>,
}

impl<R> Column<'_, R> {
    /// With the axis of the charts in it.
    pub(crate) fn headed(mut self, axis: Markup) -> Self {
        self.axis = Some(axis);
        self
    }
}

pub(crate) fn column<'a, R>(title: &'a str, unit: &'a str, cell: impl Fn(&R) -> Shown + 'a) -> Column<'a, R> {
    Column {
        title,
        unit,
        axis: None,
        cell: Box::new(cell),
    }
}

/// The table; `name` puts the head cell of a row.
pub(crate) fn table<R>(
    page: &mut Markup,
    caption: &str,
    first: &str,
    rows: &[R],
    columns: &[Column<'_, R>],
    name: impl Fn(&mut Markup, &R),
) {
    let cells: Vec<(usize, Vec<Shown>)> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| (index, rows.iter().map(|row| (column.cell)(row)).collect::<Vec<Shown>>()))
        .filter(|(_, cells)| !cells.iter().all(says_nothing))
        .collect();
    page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"");
    label(page, caption);
    page.raw("><table class=\"figures\">");
    page.element("caption", &[], caption);
    page.raw("<thead><tr>");
    page.element("th", &[("scope", "col")], first);
    for (index, _) in &cells {
        let column = &columns[*index];
        match &column.axis {
            Some(axis) => {
                page.raw("<th scope=\"col\" class=\"chart\">");
                page.element("span", &[("class", "sr")], column.title);
                page.add(axis);
            }
            None => {
                page.raw("<th scope=\"col\">");
                page.text(column.title);
                page.element("span", &[("class", "unit")], column.unit);
            }
        }
        page.raw("</th>");
    }
    page.raw("</tr></thead><tbody>");
    for (place, row) in rows.iter().enumerate() {
        page.raw("<tr><th scope=\"row\">");
        name(page, row);
        page.raw("</th>");
        for (_, cells) in &cells {
            cell(page, &cells[place]);
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div>");
}

fn label(page: &mut Markup, caption: &str) {
    page.raw(" aria-label=\"");
    page.text(caption);
    page.raw("\"");
}

fn says_nothing(cell: &Shown) -> bool {
    matches!(cell, Shown::Nothing) || matches!(cell, Shown::Text(text) if text == "0" || text.is_empty())
}

fn cell(page: &mut Markup, shown: &Shown) {
    match shown {
        Shown::Nothing => page.raw("<td class=\"none\">-</td>"),
        Shown::Text(text) => page.element("td", &[], text),
        Shown::Spread(median, range) => {
            page.raw("<td>");
            page.text(median);
            page.element("i", &[], range);
            page.raw("</td>");
        }
        Shown::Chart(chart) => {
            page.raw("<td class=\"chart\">");
            page.add(chart);
            page.raw("</td>");
        }
    }
}

/// Name of a stack with the mark in which it is drawn.
pub(crate) fn stack_name(page: &mut Markup, mark: &str, name: &str) {
    page.open("span", &[("class", "stack")]);
    page.open("svg", &[("class", "key"), ("aria-hidden", "true")]);
    page.open(
        "line",
        &[("class", mark), ("x1", "1"), ("x2", "17"), ("y1", "6"), ("y2", "6")],
    );
    page.raw("</line></svg>");
    page.text(name);
    page.raw("</span>");
}

/// Phases shown at once; the others are folded.
const OPEN_MAX: usize = 8;

/// A part of a section for one phase, folded when there are many.
pub(crate) fn phase_part(page: &mut Markup, place: usize, count: usize, title: &str, note: &str, body: &Markup) {
    if count <= OPEN_MAX {
        page.raw("<div class=\"phase\"><h3>");
        page.text(title);
        page.element("span", &[("class", "note")], note);
        page.raw("</h3>");
        page.add(body);
        page.raw("</div>\n");
        return;
    }
    page.raw(if place < 2 {
        "<details class=\"phase\" open>"
    } else {
        "<details class=\"phase\">"
    });
    page.raw("<summary><h3>");
    page.text(title);
    page.element("span", &[("class", "note")], note);
    page.raw("</h3></summary>");
    page.add(body);
    page.raw("</details>\n");
}
