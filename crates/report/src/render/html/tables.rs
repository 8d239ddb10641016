//! Tables on the page: heads with units, cells with the spread of their blocks, charts in their rows.
//!
//! Takes a table of the document, gives one table for each of its parts; charts of a column share one scale. End tags
//! that HTML lets one omit are omitted: they are a fifth of a large page. Prevents: a number without its unit, and a
//! median without its spread.

use super::forest::Forest;
use super::narrowing::narrowing;
use super::scale::{LogScale, axis};
use super::{Page, Words, class, drawings, named, pill};
use crate::document::{Cell, Cells, Form, Forms, Interval, Spread, Table};
use crate::figures::{Figure, zeroed};
use crate::format::percent;
use crate::render::{Letters, lettered, rows_of};
use maud::{Markup, html};

/// More rows are folded.
const ROWS_OPEN_MAX: usize = 60;
/// More rows are left to the JSON form, or to the file.
const ROWS_MAX: usize = 1_000;

/// How the drawings of a column are scaled.
enum Scale {
    Ratios(Forest),
    Times(LogScale, Form),
    Ends(LogScale, Form),
    Sizes(f64),
    None,
}

pub(super) fn table(page: &Page, table: &Table) -> Markup {
    let rows: Vec<usize> = rows_of(table, page.form).collect();
    let columns: Vec<&Cells> = table
        .columns
        .iter()
        .filter(|column| column.forms.has(page.form))
        .collect();
    let parts = || columns.chunk_by(|_, next| !next.breaks);
    let left = rows.len().saturating_sub(ROWS_MAX);
    let kept = &rows[..rows.len() - left];
    let all = html! { @for (nth, part) in parts().enumerate() { (part_of(page, table, kept, part, nth == 0)) } };
    html! {
        @if rows.len() > ROWS_OPEN_MAX {
            details { summary { (Words(&table.caption)) " (" (rows.len()) " rows)" } (all) }
        } @else { (all) }
        @if left > 0 { p { (left) " more rows are in the JSON form or in the result file." } }
    }
}

fn part_of(page: &Page, table: &Table, rows: &[usize], columns: &[&Cells], first: bool) -> Markup {
    let scales: Vec<Scale> = columns.iter().map(|column| scale(page, rows, column)).collect();
    let facts = columns.iter().all(|column| column.words);
    html! {
        div class="wide" tabindex="0" role="region" aria-label=(Words(&table.caption)) {
            table class=(if facts { "facts" } else { "figures" }) {
                @if first { caption { (Words(&table.caption)) } }
                thead {
                    tr;
                    th scope="col"; (table.names)
                    @for (column, scale) in columns.iter().zip(&scales) { (head(column, scale)) }
                }
                tbody {
                    @for row in rows {
                        tr;
                        th; (named(&table.rows[*row]))
                        @for (column, scale) in columns.iter().zip(&scales) {
                            (cell(page, &column.cells[*row], column, scale, table.rows[*row].mark))
                        }
                    }
                }
            }
        }
    }
}

fn scale(page: &Page, rows: &[usize], column: &Cells) -> Scale {
    let mut intervals: Vec<Interval> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    let mut most = 0.0f64;
    let (mut times, mut ends) = (None, None);
    for row in rows {
        match &column.cells[*row] {
            Cell::Interval(..) if page.form == Forms::LEAN_PAGE && !column.compared => {}
            Cell::Interval(one, _) => intervals.push(*one),
            Cell::Beside(theirs, ours, _) => intervals.extend([Some(*theirs), *ours].into_iter().flatten()),
            Cell::Distribution(one) => {
                times = Some(one.form);
                values.extend(one.counts.iter().map(|(value, _)| *value as f64));
            }
            Cell::Way(all, form) => {
                ends = Some(*form);
                values.extend(all.iter().flatten());
            }
            Cell::Bar(bar) => {
                let sizes = [Some(bar.size), bar.part, bar.whole, bar.limit];
                most = sizes.into_iter().flatten().fold(most, f64::max);
            }
            _ => {}
        }
    }
    if !intervals.is_empty() {
        page.forests.set(page.forests.get() + 1);
        return Scale::Ratios(Forest::over(&intervals, page.forests.get()));
    }
    match (LogScale::over(values), times, ends) {
        (Some(scale), Some(form), _) => Scale::Times(scale, form),
        // With one and the same value everywhere a scale says nothing.
        (Some(scale), None, Some(form)) if scale.high() / scale.low() < 4.0 => {
            Scale::Ends(LogScale::between(scale.low() / 2.0, scale.high() * 2.0), form)
        }
        (Some(scale), None, Some(form)) => Scale::Ends(scale, form),
        // Some air, so that a line at the highest stands inside.
        _ if most > 0.0 => Scale::Sizes(most * 1.04),
        _ => Scale::None,
    }
}

fn head(column: &Cells, scale: &Scale) -> Markup {
    let short = |text: String| text.replace(".00", "").replace(".0", "");
    let axis = match scale {
        Scale::Ratios(forest) => forest.axis(),
        Scale::Times(scale, form) => axis(scale, &scale.decades(), 0.16, |mark| short(form(mark))),
        Scale::Ends(scale, form) => axis(scale, &scale.decades(), 0.3, |mark| short(form(mark))),
        Scale::Sizes(most) => drawings::axis_of_bars(*most),
        Scale::None => {
            return html! {
                th scope="col" class=[is_of_words(column).then_some("t")];
                @match column.mark {
                    Some(mark) => span class={ "k " (super::mark(Some(mark))) } { (Words(&column.head)) },
                    None => (Words(&column.head)),
                }
                @if !column.unit.is_empty() { span class="unit" { (Words(&column.unit)) } }
            };
        }
    };
    html! { th scope="col" class="chart"; span class="sr" { (Words(&column.head)) } (axis) }
}

const LETTERS: Letters = Letters { most: 12, utf8: true };

fn cell(page: &Page, cell: &Cell, column: &Cells, scale: &Scale, mark: Option<usize>) -> Markup {
    let lean = page.form == Forms::LEAN_PAGE;
    let words = column.words.then_some("t");
    let chart = |drawing: Markup| html! { td class="chart"; (drawing) };
    match (cell, scale) {
        // A lean page draws what is compared alone.
        (Cell::Interval(one, _), _) if lean && !column.compared => html! { td; (one.words().unwrap_or_default()) },
        (Cell::Interval(one, tone), Scale::Ratios(forest)) => html! {
            td class="chart"; (forest.row(one, class(*tone))) @if let Some(words) = one.words() { i { (words) } }
        },
        (Cell::Beside(theirs, ours, tone), Scale::Ratios(forest)) => {
            chart(forest.beside(theirs, ours.as_ref(), class(*tone)))
        }
        (Cell::Distribution(one), Scale::Times(scale, _)) => chart(drawings::shape(one, scale, mark, lean)),
        (Cell::Way(values, _), Scale::Ends(scale, _)) => chart(drawings::way(values, scale, mark)),
        (Cell::Bar(bar), Scale::Sizes(most)) => chart(drawings::bar(bar, *most, mark)),
        (Cell::Narrowing(one), _) => html! { td class="chart"; (narrowing(one)) },
        (Cell::Series(rates), _) => drawings::spark(rates, lean).map_or_else(|| html! { td; "-" }, chart),
        (Cell::Text(text), _) if !text.is_empty() => html! { td class=[words]; (Words(text)) },
        (Cell::Named(name), _) => html! { td class=[words]; (named(name)) },
        (Cell::Number(value, form), _) => html! { td class=[words]; (form(*value)) },
        // A verdict is a word with a sign, which the style puts before it; a status stands in a frame.
        (Cell::Tagged(word, tone), _) if is_verdict(class(*tone)) => {
            html! { td class={ "t verdict " (class(*tone)) }; (Words(word)) }
        }
        (verdict @ Cell::Verdict(.., tone), _) => html! {
            td class={ "t verdict " (class(*tone)) }; (lettered(verdict, LETTERS).unwrap_or_default())
        },
        (Cell::Tagged(word, tone), _) => html! { td class=[words]; (pill(word, *tone)) },
        (Cell::Figure(figure, spread, per, form), _) => {
            let spread = (!lean || column.compared)
                .then(|| spread_words(figure, *spread, *per, *form))
                .flatten();
            html! { td; (figure.written(*per, *form)) @if let Some(spread) = spread { i { (spread) } } }
        }
        (Cell::Range(figure, per, form), _) => html! { td; (range(figure, *per, *form)) },
        (Cell::Share(share), _) => html! { td; (percent(*share)) },
        _ => html! { td class=[words]; "-" },
    }
}

/// Its cells begin at the left, so its head does too.
fn is_of_words(column: &Cells) -> bool {
    let left = |cell: &Cell| match cell {
        Cell::Verdict(..) => true,
        Cell::Tagged(_, tone) => is_verdict(class(*tone)),
        _ => false,
    };
    column.words || column.cells.iter().any(left)
}

fn is_verdict(class: &str) -> bool {
    matches!(class, "better" | "worse" | "equal" | "open")
}

/// How far the blocks lie apart, where that does not read the same as the median.
fn spread_words(figure: &Figure, spread: Spread, per: f64, form: Form) -> Option<String> {
    let [low, high] = [figure.low, figure.high].map(|value| zeroed(form(value / per)));
    if low == high {
        return None;
    }
    match spread {
        Spread::Range | Spread::Unmarked => Some(range(figure, per, form)),
        Spread::Farthest => {
            let far = (figure.high - figure.median).max(figure.median - figure.low);
            (figure.written(per, form) != "0" && far > 0.0)
                .then(|| format!("\u{b1} {}", percent(far / figure.median.abs())))
        }
    }
}

/// "1.20 to 1.40 ms": the unit is said once where it is one.
fn range(figure: &Figure, per: f64, form: Form) -> String {
    let [low, high] = [figure.low, figure.high].map(|value| zeroed(form(value / per)));
    let unit = low
        .rsplit_once(' ')
        .filter(|(_, unit)| high.ends_with(&format!(" {unit}")));
    format!("{} to {high}", unit.map_or(&*low, |(value, _)| value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{nanoseconds, number};

    #[test]
    fn the_spread_stands_with_the_median() {
        let figure = Figure::of([Some(100.0), Some(101.0), Some(98.0)]).unwrap();
        assert_eq!(
            spread_words(&figure, Spread::Farthest, 1.0, number).unwrap(),
            "\u{b1} 2 %"
        );
        assert_eq!(
            spread_words(&figure, Spread::Range, 1.0, number).unwrap(),
            "98.0 to 101"
        );
        assert_eq!(
            spread_words(&figure, Spread::Range, 1.0, nanoseconds).unwrap(),
            "98 to 101 ns"
        );
        let nothing = Figure::of([Some(0.001)]).unwrap();
        assert_eq!(spread_words(&nothing, Spread::Farthest, 1.0, number), None);
    }
}
