//! Lines over an axis, for load curves and the growth of files: several stacks in one chart, from zero upwards.
//!
//! Takes series and an axis each way, puts a figure on the page; its numbers stand in the table that follows. Prevents:
//! an axis that does not begin at zero, and lines that only their colour tells apart (the caption names them with their
//! marks).

use super::scale::{LogScale, line, percent};
use super::{Words, mark, named};
use crate::document::Lines;
use maud::{Markup, html};

/// Units of the drawing, which is stretched.
const SIDE: f64 = 1000.0;

/// The chart; nothing where no line has a point.
pub(super) fn plot(chart: &Lines) -> Markup {
    let heights = chart.series.iter().flat_map(|one| &one.points).map(|point| point.1);
    let most = heights.fold(0.0, f64::max);
    let scale = LogScale::over(chart.marks.iter().copied());
    let (Some(scale), true) = (scale, most > 0.0) else {
        return html! {};
    };
    // Round marks may end before the last point.
    let widths = chart.series.iter().flat_map(|one| &one.points).map(|point| point.0);
    let last = chart.marks.iter().copied().chain(widths).fold(0.0, f64::max);
    let place = |value: f64| {
        if chart.logarithmic {
            scale.place(value)
        } else {
            value / last
        }
    };
    let marks = if chart.logarithmic {
        scale.marks(chart.marks.iter().copied(), 0.08)
    } else {
        chart.marks.clone()
    };
    let unit = if chart.binary { binary_unit(most) } else { 1.0 };
    let (top, step) = round_top(most / unit);
    let (top, step) = (top * unit, step * unit);
    let rules = (1..)
        .map(|nth| f64::from(nth) * step)
        .take_while(|height| *height <= top * 1.001);
    let point = |(x, y): &(f64, f64)| format!("{},{}", across(place(*x)), across(1.0 - y / top));
    let (counts, form) = chart.across;
    html! {
        figure class="plot" {
            figcaption { b { (Words(&chart.title)) } @for one in &chart.series { " " (named(&one.name)) } }
            svg class="curve" role="img" aria-label={ (chart.title) ", by " (counts) "; its numbers stand in the \
                 table" } {
                @for height in rules {
                    @let y = percent(1.0 - height / top);
                    (line("rule", ["0%", &y], ["100%", &y]))
                    text class="tick" x="0" y=(y) dy="-3" { ((chart.form)(height)) }
                }
                (line("ground", ["0%", "100%"], ["100%", "100%"]))
                svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%" {
                    @for one in &chart.series {
                        @let points = one.points.iter().map(point).collect::<Vec<_>>();
                        path class=(mark(one.name.mark)) d={ "M" (points.join("L")) } {}
                        @if chart.dots {
                            @let dots = points.iter().map(|point| format!("M{point}h0")).collect::<String>();
                            path class={ "dot " (mark(one.name.mark)) } d=(dots) {}
                        }
                    }
                }
            }
            svg class="below" aria-hidden="true" {
                @for value in marks {
                    @let x = percent(place(value));
                    (line("rule", [&x, "0"], [&x, "5"]))
                    text class="tick" x=(x) y="17" { (form(value)) }
                }
            }
            p class="across" { (counts) }
        }
    }
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
    use crate::document::{LineOf, Name};

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
        let mut chart = Lines {
            title: "new orders".into(),
            logarithmic: false,
            marks: vec![5.0, 10.0],
            across: ("users", |value| format!("{value}")),
            form: |value| format!("{value}"),
            binary: false,
            dots: true,
            series: vec![LineOf {
                name: Name::from("ext4"),
                points: vec![(0.0, 0.0), (10.0, 8.0)],
            }],
        };
        let page = plot(&chart).into_string();
        assert!(page.contains("M0,1000L1000,") && page.contains("h0"), "{page}");
        chart.series[0].points = vec![(10.0, 4.0), (12.5, 8.0)];
        let page = plot(&chart).into_string();
        assert!(
            page.contains("M800,") && page.contains("L1000,"),
            "the last mark is no end: {page}"
        );
        chart.series.clear();
        assert!(plot(&chart).into_string().is_empty());
    }
}
