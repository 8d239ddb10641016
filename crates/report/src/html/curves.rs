//! Lines over an axis, for load curves and the growth of files: several stacks in one chart, from zero upwards.
//!
//! Takes series and an axis each way, puts a figure on the page; its numbers stand in the table that follows. Prevents: an axis that
//! does not begin at zero, and lines that only their colour tells apart (the caption names them with their marks).

use super::figure_cells::stack_name;
use super::markup::Markup;
use super::scale::{LogScale, percent};

/// One line.
pub(crate) struct Series<'a> {
    /// Class of its colour and dash.
    pub(crate) mark: String,
    /// Its name.
    pub(crate) name: &'a str,
    /// x and y, in ascending x.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Across the chart.
pub(crate) enum Across {
    /// Decades are as wide as each other.
    Logarithmic(LogScale),
    /// From zero to this.
    FromZero(f64),
}

impl Across {
    fn place(&self, value: f64) -> f64 {
        match self {
            Across::Logarithmic(scale) => scale.place(value),
            Across::FromZero(most) => value / most,
        }
    }
}

/// A chart.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: Across,
    /// Marks of the axis across, with their words.
    pub(crate) marks: Vec<(f64, String)>,
    /// What the axis across counts.
    pub(crate) across_words: &'a str,
    /// A height in words.
    pub(crate) form: fn(f64) -> String,
    /// Heights are bytes: rules stand at round numbers of their binary unit.
    pub(crate) binary: bool,
    /// Points are drawn as dots too: steps that were measured, not a course of time.
    pub(crate) dots: bool,
}

/// Units of the drawing, which is stretched.
const SIDE: f64 = 1000.0;

/// Puts the chart; nothing where no series has a point.
pub(crate) fn plot(body: &mut Markup, chart: &Chart<'_>, series: &[Series<'_>]) {
    let most = series
        .iter()
        .flat_map(|one| &one.points)
        .map(|point| point.1)
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let unit = if chart.binary { binary_unit(most) } else { 1.0 };
    let (top, step) = round_top(most / unit);
    let (top, step) = (top * unit, step * unit);
    body.raw("<figure class=plot><figcaption>");
    body.element("b", &[], chart.title);
    for one in series {
        body.raw(" ");
        stack_name(body, &one.mark, one.name);
    }
    body.raw("</figcaption>");
    let label = format!(
        "{}, by {}; its numbers stand in the table",
        chart.title, chart.across_words
    );
    body.open("svg", &[("class", "curve"), ("role", "img"), ("aria-label", &label)]);
    let mut height = step;
    while height <= top * 1.001 {
        let y = percent(1.0 - height / top);
        super::forest::line(body, "rule", "0%", &y, "100%", &y);
        body.element(
            "text",
            &[("class", "tick"), ("x", "0"), ("y", &y), ("dy", "-3")],
            &(chart.form)(height),
        );
        height += step;
    }
    super::forest::line(body, "ground", "0%", "100%", "100%", "100%");
    body.raw("<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=none width=\"100%\" height=\"100%\">");
    for one in series {
        let place = |(x, y): &(f64, f64)| (across(chart.across.place(*x)), across(1.0 - y / top));
        let places: Vec<(i64, i64)> = one.points.iter().map(place).collect();
        let line: Vec<String> = places.iter().map(|(x, y)| format!("{x},{y}")).collect();
        body.empty("path", &[("class", &one.mark), ("d", &format!("M{}", line.join("L")))]);
        if chart.dots {
            let dots: String = places.iter().map(|(x, y)| format!("M{x},{y}h0")).collect();
            body.empty("path", &[("class", &format!("dot {}", one.mark)), ("d", &dots)]);
        }
    }
    body.raw("</svg></svg><svg class=below aria-hidden=true>");
    for (value, words) in &chart.marks {
        let x = percent(chart.across.place(*value));
        super::forest::line(body, "rule", &x, "0", &x, "5");
        body.element("text", &[("class", "tick"), ("x", &x), ("y", "17")], words);
    }
    body.raw("</svg>");
    body.element("p", &[("class", "across")], chart.across_words);
    body.raw("</figure>");
}

fn across(place: f64) -> i64 {
    (place.clamp(0.0, 1.0) * SIDE).round() as i64
}

/// The largest power of 1,024 that is not above it.
fn binary_unit(most: f64) -> f64 {
    1024f64.powf(most.log(1024.0).floor().max(0.0))
}

/// A round height above the highest value, and the distance of the rules: three to six of them.
fn round_top(most: f64) -> (f64, f64) {
    let decade = 10f64.powf((most / 3.0).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * decade);
    let step = steps
        .into_iter()
        .find(|step| most / step <= 5.0)
        .unwrap_or(decade * 10.0);
    ((most * 1.04 / step).ceil() * step, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_round_and_above() {
        for most in [0.003, 1.0, 3.3, 47.0, 99.9, 120_000.0] {
            let (top, step) = round_top(most);
            let rules = top / step;
            assert!(top > most && top < most * 1.8, "{most}: {top}");
            assert!(
                (rules - rules.round()).abs() < 1e-9 && (2.0..=6.01).contains(&rules),
                "{most}: {rules}"
            );
        }
    }

    #[test]
    fn bytes_have_binary_rules() {
        assert_eq!(binary_unit(1023.0), 1.0);
        assert_eq!(binary_unit(3.0 * 1024.0 * 1024.0), 1024.0 * 1024.0);
    }

    #[test]
    fn a_line_begins_at_zero_and_has_its_dots() {
        let chart = Chart {
            title: "new orders",
            across: Across::FromZero(10.0),
            marks: vec![(5.0, "5".into())],
            across_words: "users",
            form: |value| format!("{value}"),
            binary: false,
            dots: true,
        };
        let series = [Series {
            mark: "s1".into(),
            name: "ext4",
            points: vec![(0.0, 0.0), (10.0, 8.0)],
        }];
        let mut body = Markup::new();
        plot(&mut body, &chart, &series);
        let page = body.finish();
        assert!(page.contains("M0,1000L1000,") && page.contains("h0"), "{page}");
        let mut empty = Markup::new();
        plot(&mut empty, &chart, &[]);
        assert!(empty.is_empty());
    }
}
