//! The chart of ratios with their intervals: a line a row, all to one scale.
//!
//! Takes ratios with both ends, gives the chart of each row and the axis. Prevents: an interval that leaves the chart without
//! saying so, and a margin that has to be imagined.

use super::markup::Markup;
use super::scale::LogScale;
use crate::format::ratio;

/// One ratio; an end that is not there is beyond all bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) ratio: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

impl Interval {
    pub(crate) fn words(&self) -> String {
        let end = |value: Option<f64>| value.map_or("unbounded".into(), ratio);
        format!("{} to {}", end(self.low), end(self.high))
    }
}

/// Scale of a chart of ratios, with the margin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forest {
    scale: LogScale,
    margin: f64,
}

/// Beyond these a ratio is drawn as an arrow.
const FARTHEST: f64 = 20.0;

impl Forest {
    /// A scale on which all of them and the margin are seen.
    pub(crate) fn over(intervals: &[Interval], margin: f64) -> Forest {
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
        }
    }

    /// The line of one ratio; `class` says how it is painted.
    pub(crate) fn row(&self, one: &Interval, class: &str, words: &str) -> Markup {
        let mut page = Markup::new();
        let label = format!("{words}, ratio {}, interval {}", ratio(one.ratio), one.words());
        page.open("svg", &[("class", "forest"), ("role", "img"), ("aria-label", &label)]);
        self.ground(&mut page, "100%");
        page.open("g", &[("class", class)]);
        let (from, to) = (self.end(one.low, true), self.end(one.high, false));
        line(&mut page, "whisker", &from.0, "50%", &to.0, "50%");
        for (place, is_end) in [from, to] {
            if is_end {
                line(&mut page, "whisker", &place, "30%", &place, "70%");
            } else {
                // It goes on beyond the chart.
                page.element(
                    "text",
                    &[("x", &place), ("y", "50%"), ("class", "beyond")],
                    if place == "0%" { "\u{2039}" } else { "\u{203a}" },
                );
            }
        }
        page.open(
            "circle",
            &[("cx", &self.scale.percent(one.ratio)), ("cy", "50%"), ("r", "4.5")],
        );
        page.raw("</circle></g></svg>");
        page
    }

    /// Where an end is drawn, and whether it is its true place.
    fn end(&self, value: Option<f64>, low: bool) -> (String, bool) {
        match value {
            Some(value) if (0.0..=1.0).contains(&self.scale.place(value)) => (self.scale.percent(value), true),
            Some(value) => (self.scale.percent(value), false),
            None => (if low { "0%" } else { "100%" }.into(), false),
        }
    }

    /// Margin and the line at 1.
    fn ground(&self, page: &mut Markup, height: &'static str) {
        let (from, to) = (
            self.scale.place(1.0 / (1.0 + self.margin)),
            self.scale.place(1.0 + self.margin),
        );
        page.open(
            "rect",
            &[
                ("class", "margin"),
                ("x", &super::scale::percent(from)),
                ("width", &super::scale::percent(to - from)),
                ("height", height),
            ],
        );
        page.raw("</rect>");
        let one = self.scale.percent(1.0);
        line(page, "one", &one, "0", &one, "100%");
    }

    /// The axis, for the head of the column.
    pub(crate) fn axis(&self) -> Markup {
        const MARKS: [f64; 19] = [
            1.0, 0.1, 10.0, 0.5, 2.0, 0.2, 5.0, 0.8, 1.25, 0.05, 20.0, 0.9, 1.1, 0.67, 1.5, 0.95, 1.05, 0.3, 3.0,
        ];
        let mut page = Markup::new();
        page.raw("<svg class=\"axis\" aria-hidden=\"true\">");
        for mark in self.scale.marks(MARKS, 0.12) {
            let place = self.scale.percent(mark);
            line(&mut page, "tick", &place, "80%", &place, "100%");
            let text = if mark == 1.0 {
                "1 (base)".to_string()
            } else {
                ratio(mark)
            };
            page.element("text", &[("x", &place), ("y", "65%")], &text);
        }
        page.raw("</svg>");
        page
    }
}

pub(crate) fn line(page: &mut Markup, class: &str, x1: &str, y1: &str, x2: &str, y2: &str) {
    page.open(
        "line",
        &[("class", class), ("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)],
    );
    page.raw("</line>");
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
        };
        let forest = Forest::over(&[wild], 0.05);
        let row = forest.row(&wild, "equal", "x").finish();
        assert_eq!(row.matches("class=\"beyond\"").count(), 2, "{row}");
        assert!(row.contains("0.000 to unbounded"), "{row}");
        let tame = Interval {
            ratio: 0.8,
            low: Some(0.7),
            high: Some(0.9),
        };
        let row = Forest::over(&[tame], 0.05).row(&tame, "worse", "x").finish();
        assert!(!row.contains("beyond"));
    }
}
