//! The chart of ratios with their intervals: a line a row, all to one scale.
//!
//! Takes ratios with both ends, gives the chart of each row and the axis. Prevents: an interval that leaves the chart
//! without saying so, and a margin that has to be imagined.

use super::scale::{LogScale, axis, line, percent};
use crate::document::Interval;
use crate::format::ratio;
use maud::{Markup, html};

/// Scale of a chart of ratios, with the margin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forest {
    scale: LogScale,
    margin: f64,
    /// Tells the charts of a page apart.
    number: usize,
}

/// Width of a row's drawing; it is stretched to the column.
const WIDTH: f64 = 1000.0;

/// Beyond these a ratio is drawn as an arrow.
const FARTHEST: f64 = 20.0;

impl Forest {
    /// A scale on which all of them and the margin are seen.
    pub(super) fn over(intervals: &[Interval], number: usize) -> Forest {
        let margin = intervals.first().map_or(0.0, |one| one.margin);
        let mut low = 1.0 / (1.0 + 2.0 * margin).max(1.1);
        let mut high = (1.0 + 2.0 * margin).max(1.1);
        for one in intervals {
            for value in [Some(one.ratio), one.low, one.high].into_iter().flatten() {
                low = low.min(value.max(1.0 / FARTHEST));
                high = high.max(value.min(FARTHEST));
            }
        }
        let air = (high / low).powf(0.04);
        Forest {
            scale: LogScale::between(low / air, high * air),
            margin,
            number,
        }
    }

    /// The line of one ratio; `class` says how it is painted. Its numbers stand beside it, so that it is silent for
    /// readers that speak.
    pub(super) fn row(&self, one: &Interval, class: &str) -> Markup {
        let across = |value: f64| self.across(value);
        let (low, high) = (self.end(one.low), self.end(one.high));
        let (from, to) = (low.map_or(0, &across), high.map_or(WIDTH as i64, &across));
        let mut line = format!("M{from},11H{to}");
        // An end that lies beyond the chart is an arrow, not an end.
        line.push_str(&low.map_or("M9,5L0,11L9,17".into(), |_| format!("M{from},6V16")));
        line.push_str(&high.map_or("M991,5L1000,11L991,17".into(), |_| format!("M{to},6V16")));
        self.drawing(html! {
            path class=(class) d=(line) {}
            path class={ "dot " (class) } d={ "M" (across(one.ratio)) ",11h0" } {}
        })
    }

    /// On the ground of the chart: the margin, and the line at 1.
    fn drawing(&self, inside: Markup) -> Markup {
        html! {
            svg class="forest" viewBox="0 0 1000 22" preserveAspectRatio="none" aria-hidden="true" {
                use href={ "#ground" (self.number) } {}
                (inside)
            }
        }
    }

    /// The same with a published ratio, or the range of several, as a diamond; there may be none of ours.
    pub(super) fn beside(&self, theirs: &Interval, ours: Option<&Interval>, class: &str) -> Markup {
        let x = |value: f64| percent(self.scale.place(value));
        html! {
            div class="over" {
                (ours.map_or_else(|| self.drawing(html! {}), |ours| self.row(ours, class)))
                svg class="theirs" aria-hidden="true" {
                    @if let (Some(low), Some(high)) = (theirs.low, theirs.high) {
                        (line("range", [&x(low), "50%"], [&x(high), "50%"]))
                    }
                    svg x=(x(theirs.ratio)) y="50%" class="at" { path d="M0-6L6 0L0 6L-6 0z" {} }
                }
            }
        }
    }

    fn across(&self, value: f64) -> i64 {
        (self.scale.place(value).clamp(0.0, 1.0) * WIDTH).round() as i64
    }

    /// An end that lies inside the chart.
    fn end(&self, value: Option<f64>) -> Option<f64> {
        value.filter(|value| (0.0..=1.0).contains(&self.scale.place(*value)))
    }

    /// The axis, for the head of the column.
    pub(super) fn axis(&self) -> Markup {
        const MARKS: [f64; 19] = [
            1.0, 0.1, 10.0, 0.5, 2.0, 0.2, 5.0, 0.8, 1.25, 0.05, 20.0, 0.9, 1.1, 0.67, 1.5, 0.95, 1.05, 0.3, 3.0,
        ];
        // Margin and the line at 1, once for all rows.
        let (from, to) = (self.across(1.0 / (1.0 + self.margin)), self.across(1.0 + self.margin));
        html! {
            (axis(&self.scale, &MARKS, 0.13, |mark| if mark == 1.0 { "1 (base)".into() } else { ratio(mark) }))
            svg class="defs" aria-hidden="true" {
                g id={ "ground" (self.number) } {
                    path class="margin" d={ "M" (from) ",0H" (to) "V22H" (from) "z" } {}
                    path class="one" d={ "M" (self.across(1.0)) ",0V22" } {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_is_marked() {
        let wild = Interval {
            ratio: 1.0,
            low: Some(0.0001),
            high: None,
            margin: 0.05,
        };
        let forest = Forest::over(&[wild], 0);
        let row = forest.row(&wild, "equal").into_string();
        assert!(row.contains("M9,5L0") && row.contains("L1000,11"), "{row}");
        assert_eq!(wild.words().unwrap(), "0.000 to unbounded");
        let tame = Interval {
            ratio: 0.8,
            low: Some(0.7),
            high: Some(0.9),
            margin: 0.05,
        };
        let row = Forest::over(&[tame], 0).row(&tame, "worse").into_string();
        assert!(!row.contains('L'), "{row}");
    }
}
